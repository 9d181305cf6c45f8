package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ccpost/golden"
)

// waiting is a process that was brought to where it waits.
type waiting struct {
	cmd            *exec.Cmd
	stdin          *os.File // the end that the test writes to
	stdout, stderr strings.Builder
}

// begin starts ccpost with a pipe on standard input that is kept open. first
// is written into it; begin returns once the program has read that.
func begin(t *testing.T, env []string, first string, args ...string) *waiting {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w := &waiting{cmd: exec.CommandContext(ctx, "ccpost", args...), stdin: write}
	w.cmd.Env, w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = env, read, &w.stdout, &w.stderr
	if _, err := write.WriteString(first); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); write.Close(); read.Close(); w.cmd.Wait() })
	await(t, "the program reads its standard input", func() bool { return first == "" || drained(t, read) })
	return w
}

func (w *waiting) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// twoLines returns once the auth line and the message line have come.
func twoLines(t *testing.T, arrived <-chan struct{}) {
	t.Helper()
	for range 2 {
		select {
		case <-arrived:
		case <-time.After(patience):
			t.Fatal("the two lines never came")
		}
	}
}

// end waits for the process to end.
func (w *waiting) end() ended {
	_ = w.cmd.Wait()
	return ended{w.cmd.ProcessState.ExitCode(), w.stdout.String(), w.stderr.String()}
}

// Go's runtime ends a program with 2 on SIGQUIT and SIGABRT, which would block
// the event of a hook. Signals that ask a program to end get 128 and their
// number, and the outcome so far is told.
func TestSignals(t *testing.T) {
	t.Parallel()
	quit := []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT}
	all := append([]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}, quit...)
	each := func(name string, signals []syscall.Signal, f func(*testing.T, syscall.Signal)) {
		for _, s := range signals {
			t.Run(name+"/"+s.String(), func(t *testing.T) {
				t.Parallel()
				f(t, s)
			})
		}
	}
	want := func(t *testing.T, got ended, code int, outcome string) {
		t.Helper()
		if got.code != code || !strings.Contains(got.stderr, "ccpost: "+outcome+": ") {
			t.Errorf("want exit %d and %s\n%s", code, outcome, got)
		}
	}

	each("send reads", all, func(t *testing.T, s syscall.Signal) {
		session := start(t, golden.Config{})
		w := begin(t, environ(t, session.Environ()...), "half of it", "send", "-")
		w.signal(t, s)
		want(t, w.end(), 128+int(s), "timeout")
		if sent := wire(session); sent != "" {
			t.Errorf("the session was sent %q", sent)
		}
	})
	each("send waits for the session's close", all, func(t *testing.T, s syscall.Signal) {
		arrived := make(chan struct{}, 2)
		session := start(t, golden.Config{Behaviour: golden.NeverClose, OnLine: func([]byte) { arrived <- struct{}{} }})
		w := begin(t, environ(t, session.Environ()...), "", "send", "hello")
		twoLines(t, arrived)
		w.signal(t, s)
		want(t, w.end(), 128+int(s), "not-read")
	})
	each("send writes", all, func(t *testing.T, s syscall.Signal) {
		// A session that reads nothing: the message is larger than what the
		// system holds between the two.
		path := filepath.Join(shortDir(t), "s", "1.sock")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := l.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		chmod(t, path, 0o600)
		env := environ(t, "CLAUDE_CODE_MESSAGING_SOCKET="+path, "CLAUDE_CODE_MESSAGING_TOKEN="+envToken)
		w := begin(t, env, "", "send", "-")
		if _, err := w.stdin.WriteString(strings.Repeat("x", 1_000_000)); err != nil {
			t.Fatal(err)
		}
		w.stdin.Close()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// The first byte has come, so the message line is on its way: both are
		// one write.
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		w.signal(t, s)
		want(t, w.end(), 128+int(s), "socket-error")
	})
	each("send waits as JSON", quit, func(t *testing.T, s syscall.Signal) {
		w := begin(t, environ(t), "half of it", "send", "--json", "-")
		w.signal(t, s)
		got := w.end()
		if report, err := reportOf(got.stdout); err != nil || report["outcome"] != "timeout" || got.code != 128+int(s) || got.stderr != "" {
			t.Errorf("want exit %d and timeout, %v\n%s", 128+int(s), err, got)
		}
	})

	// A hook lives on, and ends by its own deadline.
	each("hook reads", quit, func(t *testing.T, s syscall.Signal) {
		w := begin(t, environ(t), " ", "hook")
		w.signal(t, s)
		want(t, w.end(), 66, "no-input")
	})
	each("hook reads an event", quit, func(t *testing.T, s syscall.Signal) {
		session := start(t, golden.Config{})
		w := begin(t, environ(t, session.Environ()...), event[:9], "hook", "--timeout", "1m")
		w.signal(t, s)
		if _, err := w.stdin.WriteString(event[9:]); err != nil {
			t.Fatal(err)
		}
		w.stdin.Close()
		if got := w.end(); got.code != 0 || got.stdout+got.stderr != "" || len(session.Messages()) != 1 {
			t.Errorf("it didn't go on\n%s", got)
		}
	})
	each("hook waits for the session's close", quit, func(t *testing.T, s syscall.Signal) {
		arrived := make(chan struct{}, 2)
		session := start(t, golden.Config{Behaviour: golden.NeverClose, OnLine: func([]byte) { arrived <- struct{}{} }})
		w := begin(t, environ(t, session.Environ()...), event, "hook", "--timeout", "500ms")
		twoLines(t, arrived)
		w.signal(t, s)
		want(t, w.end(), 74, "not-read")
	})

	each("listen", all, func(t *testing.T, s syscall.Signal) {
		env := environ(t)
		w := begin(t, env, "", "listen")
		record := filepath.Join(lookup(env, "TMPDIR"), "ccpost*", "config", "sessions", strconv.Itoa(w.cmd.Process.Pid)+".json")
		await(t, "the stand-in session's record is written", func() bool {
			files, _ := filepath.Glob(record)
			return len(files) == 1
		})
		w.signal(t, s)
		if got := w.end(); got.code != 128+int(s) || strings.Contains(got.stderr, "goroutine") {
			t.Errorf("want exit %d\n%s", 128+int(s), got)
		}
		if left, _ := filepath.Glob(filepath.Join(lookup(env, "TMPDIR"), "ccpost*")); left != nil {
			t.Errorf("it left %q behind", left)
		}
	})

	// TERM and HUP are passed on to listen's command, whose end is the end.
	each("listen's command", []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP}, func(t *testing.T, s syscall.Signal) {
		env := environ(t)
		ready := filepath.Join(lookup(env, "HOME"), "ready")
		w := begin(t, env, "", "listen", "--", "sh", "-c", `mkfifo "$HOME/never"; read x <>"$HOME/never" & trap "kill $!; exit 9" TERM HUP; : >"$HOME/ready"; wait $!`)
		await(t, "the command runs", func() bool { _, err := os.Stat(ready); return err == nil })
		w.signal(t, s)
		if got := w.end(); got.code != 9 {
			t.Errorf("want the command's exit code 9\n%s", got)
		}
	})
}

// That nobody reads what it says changes nothing of the exit code.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	session := start(t, golden.Config{})
	inside, outside := environ(t, session.Environ()...), environ(t)
	for _, c := range []struct {
		args []string
		env  []string
		code int
	}{
		{[]string{"send", "-v", "hello"}, inside, 0},
		{[]string{"send", "--json", "hello"}, inside, 0},
		{[]string{"send", "-v", "hello"}, outside, 69},
		{[]string{"hook", "--verbose"}, inside, 0},
		{[]string{"hook", "--verbose"}, outside, 69},
		{[]string{"hook", "--no-such-flag"}, inside, 64},
		{[]string{"demo"}, outside, 0},
		{[]string{"version"}, outside, 0},
		{[]string{"--help"}, outside, 0},
		{[]string{"no-such-command"}, outside, 64},
		{[]string{"listen", "--", "ccpost", "send", "hello"}, outside, 0},
		{[]string{"run", "-v", "--", "sh", "-c", "exit 3"}, inside, 3},
		{[]string{"run", "--", "sh", "-c", "exit 3"}, outside, 3},
		{[]string{"run", "--no-such-flag"}, inside, 64},
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read.Close()
		cmd := exec.Command("ccpost", c.args...)
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env, strings.NewReader(event), write, write
		_ = cmd.Run()
		write.Close()
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%s: %v, want exit code %d", c.args, cmd.ProcessState, c.code)
		}
	}
}
