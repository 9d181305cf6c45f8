package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ccpost/golden"
	"ccpost/inbox"
	"ccpost/redact"
)

// An inbox whose path and token are known: nothing is looked for. Package
// envtoken makes the Target of a session that is known by its environment or by
// its name.
func ExamplePost() {
	session, stop := standIn(golden.Accept)
	defer stop()
	secret, _ := session.Tokens()

	token, err := redact.Parse(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	target := inbox.Target{Path: session.Path(), Token: token, PID: os.Getpid()} // PID must answer
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	outcome, err := inbox.Post(ctx, target, inbox.Message{Body: "the build is red", From: "ci"}, inbox.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// It would be queued, had the target Projects to look for the transcript in.
	fmt.Println(outcome.Name, outcome.Evidence)
	for _, m := range session.Messages() {
		fmt.Printf("@%s: %s\n", m.FromName, m.Body)
	}

	// Output:
	// sent-no-receipt read
	// @ci: the build is red
}

// What failed is one of seven classes, and within it an outcome with a name, an
// exit code and a word on what to do.
func ExampleError() {
	session, stop := standIn(golden.Refuse)
	defer stop()
	secret, _ := session.Tokens()
	token, err := redact.Parse(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	target := inbox.Target{Path: session.Path(), Token: token}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	_, err = inbox.Post(ctx, target, inbox.Message{Body: "hello"}, inbox.Options{Wait: 5 * time.Second})
	switch {
	case errors.Is(err, inbox.ErrDeclined):
		fmt.Println("the session said no")
	case errors.Is(err, inbox.ErrSocketGone):
		fmt.Println("nobody is there: the same message may be sent again")
	case errors.Is(err, inbox.ErrWrite):
		fmt.Println("it may have arrived: don't send it again")
	}
	var failed *inbox.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Outcome, failed.Outcome.Exit(), failed.Outcome.Row().Resend)
		fmt.Println(failed)
		fmt.Println("hint:", inbox.Hint(failed.Outcome, failed.Reason))
	}

	// Output:
	// the session said no
	// refused 76 no
	// refused: the session refused the message: a setting there refuses messages from other processes
	// hint: run ccpost policy in the session's directory: it says which file sets crossSessionInbound
}

// standIn starts a stand-in session.
func standIn(behaviour golden.Behaviour) (session *golden.Session, stop func()) {
	dir, err := os.MkdirTemp("/tmp", "cc") // short: a socket's path has at most some 100 bytes
	if err != nil {
		panic(err)
	}
	session, err = golden.Start(golden.Config{SocketDir: filepath.Join(dir, "sockets"), Behaviour: behaviour})
	if err != nil {
		panic(err)
	}
	return session, func() {
		session.Close()
		os.RemoveAll(dir)
	}
}
