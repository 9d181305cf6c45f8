package inbox_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ccpost/golden"
	"ccpost/inbox"
	"ccpost/redact"
)

// postAllocs is how often a post may allocate that waits for no word, with the
// envelope and the line made and every check passed: 24 times, 28 under the race
// detector, and once more for each time that the session is waited for again.
// Beyond it, look for what a hook pays for and doesn't need.
const postAllocs = 30

const standinEnv = "CCPOST_TEST_STANDIN"

// TestStandin is the process of farSession.
func TestStandin(t *testing.T) {
	dir := os.Getenv(standinEnv)
	if dir == "" {
		t.Skip("for other tests")
	}
	s, err := golden.Start(golden.Config{SocketDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	env, _ := s.Tokens()
	if err := json.NewEncoder(os.Stdout).Encode([]string{s.Path(), env}); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// farSession is a stand-in session in a process of its own, so that what it
// allocates isn't counted for the client.
func farSession(tb testing.TB) inbox.Target {
	tb.Helper()
	check := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("/tmp", "cc")
	check(err)
	tb.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.Command(os.Args[0], "-test.run=^TestStandin$")
	cmd.Env = append(os.Environ(), standinEnv+"="+filepath.Join(dir, "s"))
	stdin, err := cmd.StdinPipe()
	check(err)
	stdout, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	tb.Cleanup(func() {
		stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			tb.Error(err)
		}
	})
	var said []string
	check(json.NewDecoder(stdout).Decode(&said))
	token, err := redact.Parse(said[1])
	check(err)
	return inbox.Target{Path: said[0], Token: token, PID: cmd.Process.Pid}
}

// poster gives what posts one message to the session, or fails.
func poster(tb testing.TB) func() {
	target := farSession(tb)
	return func() {
		_, err := inbox.Post(context.Background(), target, inbox.Message{Body: "the build is red", From: "ci"}, inbox.Options{Wait: inbox.NoWait})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkPost is a post that waits for no word: two lines to a session in
// another process, and its close.
func BenchmarkPost(b *testing.B) {
	post := poster(b)
	b.ReportAllocs()
	for b.Loop() {
		post()
	}
}

func TestPostAllocations(t *testing.T) {
	post := poster(t)
	if n := testing.AllocsPerRun(50, post); n > postAllocs {
		t.Errorf("a post allocates %v times, and may %d times", n, postAllocs)
	}
}

// BenchmarkMessage is a body of 1 MiB, near the longest that goes, made a line.
func BenchmarkMessage(b *testing.B) {
	body := make([]byte, inbox.MaxLine-1000)
	for i := range body {
		body[i] = "diff --git "[i%11]
	}
	m := inbox.Message{Body: string(body)}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := m.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}
