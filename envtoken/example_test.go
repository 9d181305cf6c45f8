package envtoken_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ccpost/envtoken"
	"ccpost/golden"
	"ccpost/inbox"
)

// From inside a session: its hooks and commands have the inbox in their
// environment.
func ExampleFinder_Self() {
	session, getenv, stop := standIn()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	finder := envtoken.Finder{Getenv: getenv} // os.Getenv, in a program of your own
	match := finder.Self(ctx)
	if match.Err != nil {
		fmt.Println(match.Err)
		return
	}
	outcome, err := inbox.Post(ctx, match.Target,
		inbox.Message{Body: "half way", From: "import"},
		inbox.Options{Wait: 5 * time.Second}) // at most: it returns once the outcome is known
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome.Name)
	for _, m := range session.Messages() {
		fmt.Printf("@%s: %s\n", m.FromName, m.Body)
	}

	// Output:
	// queued
	// @import: half way
}

// From cron, CI or another terminal: the session is found by its name in the
// registry. A pid, an id, a socket's path or dir:PATH would do as well.
func ExampleFinder_Find() {
	_, getenv, stop := standIn()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	// Without ConfigDirs it is the registry in ~/.claude.
	outside := func(string) string { return "" }
	finder := envtoken.Finder{Getenv: outside, ConfigDirs: []string{getenv(envtoken.EnvConfigDir)}}
	matches, err := finder.Find(ctx, "api", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, match := range matches {
		if match.Err != nil {
			fmt.Println(match.Err)
			continue
		}
		outcome, err := inbox.Post(ctx, match.Target,
			inbox.Message{Body: "the build is red", From: "ci"},
			inbox.Options{Wait: 5 * time.Second})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(match.Session.Name, outcome.Name)
	}

	// Who isn't there is an error with a name of its own.
	_, err = finder.Find(ctx, "web", false)
	fmt.Println(errors.Is(err, inbox.ErrSocketGone))

	// Output:
	// api queued
	// true
}

// standIn starts a stand-in for a session named api, with the environment that
// its hooks and commands would have.
func standIn() (session *golden.Session, getenv func(string) string, stop func()) {
	dir, err := os.MkdirTemp("/tmp", "cc") // short: a socket's path has at most some 100 bytes
	if err != nil {
		panic(err)
	}
	session, err = golden.Start(golden.Config{
		Name:       "api",
		ConfigDir:  filepath.Join(dir, "config"),
		SocketDir:  filepath.Join(dir, "sockets"),
		Transcript: true,
	})
	if err != nil {
		panic(err)
	}
	getenv = func(key string) string {
		for _, variable := range session.Environ() {
			if value, found := strings.CutPrefix(variable, key+"="); found {
				return value
			}
		}
		return ""
	}
	return session, getenv, func() {
		session.Close()
		os.RemoveAll(dir)
	}
}
