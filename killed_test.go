package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ccpost/golden"
)

// An end at any moment, by a signal that can't be caught, one that can, and one
// that stops it for a while: the next run works, what a dead one left behind is
// taken over, and files are whole. Which moments are tried is up to chance.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGSTOP}
	each := func(name string, f func(t *testing.T, s syscall.Signal)) {
		for _, s := range signals {
			t.Run(name+"/"+s.String(), func(t *testing.T) {
				t.Parallel()
				f(t, s)
			})
		}
	}

	for _, c := range []struct{ name, stdin, args string }{
		{"send", "", "send --as one --wait 2s"},
		{"send to a key", "", "send --as one --wait 2s --to NAME"},
		{"hook", event, "hook --as one --text"},
		{"run", "", "run --as one --require-post --tail 1 --label"},
	} {
		each(c.name, func(t *testing.T, s syscall.Signal) {
			// Slow enough for a moment in the midst of the wait.
			session := start(t, golden.Config{Name: "NAME", Transcript: true, TranscriptDelay: 20 * time.Millisecond})
			env := environ(t, session.Environ()...)
			replies := filepath.Join(filepath.Dir(session.Path()), strings.Repeat("[0-9a-f]", 16)+".sock")
			post := func(text string) *exec.Cmd {
				args := append(strings.Fields(c.args), text)
				if args[0] == "run" {
					args = append(args, "--", "true")
				}
				return command(env, c.stdin, args...)
			}
			took := lasts(t, post("first"))
			for i := range rounds {
				interrupt(t, post(fmt.Sprintf("round %d;", i)), s, took)
				left, _ := filepath.Glob(replies)
				if len(left) > 0 && s != syscall.SIGKILL {
					t.Errorf("it left %s behind", left)
				}
				// Queued: so it had the reply address.
				got := ccpost(t, env, "", "send", "--as", "one", "--wait", "20s", "--timeout", "30s", "--json", fmt.Sprintf("next %d", i))
				if r, err := reportOf(got.stdout); err != nil || r["outcome"] != "queued" {
					t.Errorf("the next one: %v, with %s before it\n%s", err, left, got)
				}
				if left, _ := filepath.Glob(replies); len(left) > 0 {
					t.Errorf("the next one left %s behind", left)
				}
			}
			for i := range rounds {
				n := 0
				for _, m := range session.Messages() {
					n += strings.Count(m.Body, fmt.Sprintf("round %d;", i))
				}
				if n > 1 {
					t.Errorf("round %d arrived %d times", i, n)
				}
			}
		})
	}

	each("rename", func(t *testing.T, s syscall.Signal) {
		session := start(t, golden.Config{})
		env := environ(t, session.Environ()...)
		took := lasts(t, command(env, "", "rename", "first"))
		for i := range rounds {
			interrupt(t, command(env, "", "rename", fmt.Sprintf("round %d", i)), s, took)
			got := ccpost(t, env, "", "rename", "--json", "--timeout", "30s", fmt.Sprintf("next %d", i))
			if got.code != 0 || !strings.Contains(got.stdout, `"outcome":"rename-sent"`) {
				t.Errorf("the next one: %s", got)
			}
		}
	})

	each("policy", func(t *testing.T, s syscall.Signal) {
		env := environ(t)
		dir := filepath.Join(lookup(env, "HOME"), ".claude")
		file := filepath.Join(dir, "settings.json")
		before := []byte("{\n\t\"b\": [1,  2],\r\n \"a\":{}  }\n" + strings.Repeat(" ", 100_000))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, before, 0o640); err != nil {
			t.Fatal(err)
		}
		chmod(t, file, 0o640)
		took := lasts(t, command(env, "", "policy", "accept"))
		after, err := os.ReadFile(file)
		if err != nil || bytes.Equal(before, after) {
			t.Fatalf("policy accept changed nothing: %v", err)
		}
		whole := func(want ...[]byte) {
			t.Helper()
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if bytes.Equal(got, w) {
					want = nil
				}
			}
			if want != nil {
				t.Errorf("the file is neither as it was nor as it should be: %d bytes, %.100q", len(got), got)
			}
			if info, err := os.Stat(file); err != nil || info.Mode() != 0o640 {
				t.Errorf("the file's mode: %v, %v", info.Mode(), err)
			}
		}
		for range rounds {
			for _, step := range []struct {
				action string
				to     []byte
			}{{"unset", before}, {"accept", after}} {
				interrupt(t, command(env, "", "policy", step.action), s, took)
				whole(before, after)
				if got := ccpost(t, env, "", "policy", step.action); got.code != 0 {
					t.Errorf("the next one: %s", got)
				}
				whole(step.to)
				names, err := filepath.Glob(filepath.Join(dir, ".*"))
				if err != nil || len(names) > 0 && s != syscall.SIGKILL {
					t.Errorf("left beside the file: %s, %v", names, err)
				}
			}
		}
		// What stays of one that was killed in between is a file of a name that
		// nobody looks for, no more than one a time.
		names, err := os.ReadDir(dir)
		if err != nil || len(names) > 1+2*rounds {
			t.Errorf("%d files, %v", len(names), err)
		}
	})
}

func command(env []string, stdin string, args ...string) *exec.Cmd {
	cmd := exec.Command("ccpost", args...)
	cmd.Env, cmd.Stdin = env, strings.NewReader(stdin)
	return cmd
}

// lasts runs it undisturbed, and tells how long that takes.
func lasts(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd.Args, err, out)
	}
	return time.Since(began)
}

// interrupt runs it, and sends it a signal at a moment that may be one of those
// that it lasts. A process that was stopped goes on after a while.
func interrupt(t *testing.T, cmd *exec.Cmd, s syscall.Signal, lasts time.Duration) {
	t.Helper()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	time.Sleep(rand.N(lasts + lasts/4))
	_ = cmd.Process.Signal(s) // it may have ended
	if s == syscall.SIGSTOP {
		time.Sleep(rand.N(50 * time.Millisecond))
		_ = cmd.Process.Signal(syscall.SIGCONT)
	}
	_ = cmd.Wait()
	if !late.Stop() {
		t.Errorf("%s: it didn't end after %s\n%s", cmd.Args, s, &out)
	}
	if code := cmd.ProcessState.ExitCode(); code == 1 || code == 2 || code == -1 && s == syscall.SIGSTOP {
		t.Errorf("%s: %v after %s\n%s", cmd.Args, cmd.ProcessState, s, &out)
	}
}
