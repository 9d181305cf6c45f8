package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"ccpost/golden"
)

// ready makes the words by which a shell command says that it has come so far,
// and waits for them.
func ready(t *testing.T) (say string, wait func()) {
	t.Helper()
	file := filepath.Join(shortDir(t), "ready")
	return ": >" + file, func() {
		t.Helper()
		await(t, "the command runs", func() bool { _, err := os.Stat(file); return err == nil })
	}
}

// told is the one message that the session was sent.
func told(t *testing.T, s *golden.Session) string {
	t.Helper()
	m := s.Messages()
	if len(m) != 1 {
		t.Fatalf("%d messages came: %q", len(m), wire(s))
	}
	return m[0].Body
}

// TERM and HUP are passed on, as often as they come. INT and QUIT are waited
// out: a terminal sends them to the command as well.
func TestRunSignals(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{"0", "20"} {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(s.String()+"/"+tail, func(t *testing.T) {
				t.Parallel()
				session := start(t, golden.Config{})
				say, wait := ready(t)
				again, waitAgain := ready(t)
				w := begin(t, environ(t, session.Environ()...), "", "run", "--tail", tail, "--", "sh", "-c",
					`trap 'case $n in "") n=1; `+again+`;; *) exit 9; esac' TERM HUP; `+say+`; while :; do sleep 0.05; done`)
				wait()
				w.signal(t, s)
				waitAgain()
				w.signal(t, s)
				if got := w.end(); got.code != 9 || !strings.Contains(told(t, session), ": exit code 9 after ") {
					t.Errorf("want exit 9\n%s", got)
				}
			})
			t.Run(s.String()+" ends it/"+tail, func(t *testing.T) {
				t.Parallel()
				session := start(t, golden.Config{})
				say, wait := ready(t)
				w := begin(t, environ(t, session.Environ()...), "", "run", "--tail", tail, "--", "sh", "-c", say+"; exec cat")
				wait()
				w.signal(t, s)
				want := fmt.Sprintf(": killed by %s after ", unix.SignalName(s))
				if got := w.end(); got.code != 128+int(s) || !strings.Contains(told(t, session), want) {
					t.Errorf("want exit %d\n%s", 128+int(s), got)
				}
			})
		}
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
			t.Run(s.String()+"/"+tail, func(t *testing.T) {
				t.Parallel()
				session := start(t, golden.Config{})
				say, wait := ready(t)
				w := begin(t, environ(t, session.Environ()...), "", "run", "--tail", tail, "--", "sh", "-c", say+"; read x; exit $x")
				wait()
				w.signal(t, s)
				w.signal(t, s)
				if _, err := w.stdin.WriteString("6\n"); err != nil {
					t.Fatal(err)
				}
				if got := w.end(); got.code != 6 || got.stderr != "" || !strings.Contains(told(t, session), ": exit code 6 after ") {
					t.Errorf("want exit 6\n%s", got)
				}
			})
		}
	}
}

// ignored gives the signals that a process ignores, from /proc.
const ignoredBits = "awk '/SigIgn/ {print $2}' /proc/self/status"

// What we handle is not ignored in the command; what was ignored before us is.
func TestRunIgnored(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc")
	}
	for trap, want := range map[string]string{
		"":         "",
		"HUP":      "0000000000000001",
		"INT QUIT": "0000000000000006", // as a shell does for its background
	} {
		for _, tail := range []string{"0", "20"} {
			script := `[ -z "$1" ] || trap "" $1; ` + ignoredBits + `; exec ccpost run --tail ` + tail + ` -- ` + `sh -c "` + strings.ReplaceAll(ignoredBits, "$", `\$`) + `"`
			got := execute(t, "sh", environ(t, "CCPOST=0"), nil, "-c", script, "sh", trap)
			direct, through, _ := strings.Cut(strings.TrimSpace(got.stdout), "\n")
			if direct != through || want != "" && through != want {
				t.Errorf("trap %q, tail %s: without ccpost %s, with it %s, want %q\n%s", trap, tail, direct, through, want, got)
			}
		}
	}
	// A hangup ends neither, then.
	session := start(t, golden.Config{})
	say, wait := ready(t)
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec ccpost run -- sh -c '`+say+`; read x; exit $x'`)
	cmd.Env = environ(t, session.Environ()...)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	wait()
	_ = cmd.Process.Signal(syscall.SIGHUP)
	_, _ = io.WriteString(stdin, "7\n")
	stdin.Close()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 7 || !strings.Contains(told(t, session), "exit code 7") {
		t.Errorf("exit %d, want 7", got)
	}
}

// What the command leaves behind may hold its output for ever. What had come by
// then is there.
func TestRunBackground(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{"silent": "exec sleep 60", "noisy": "while :; do echo noise; sleep 0.01; done"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := start(t, golden.Config{})
			pids := filepath.Join(shortDir(t), "pid")
			script := `(` + left + `) & echo $! >` + pids + `; echo last; exit 5`
			began := time.Now()
			got := execute(t, "ccpost", environ(t, session.Environ()...), nil, "run", "--tail", "1000", "--", "sh", "-c", script)
			took := time.Since(began)
			b, _ := os.ReadFile(pids)
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			// A noisy one can have ended by SIGPIPE.
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && name == "silent" {
				t.Errorf("it is gone: %v", err)
			}
			if got.code != 5 || took > 20*time.Second || !strings.Contains(told(t, session), "\nlast\n") || !strings.HasPrefix(got.stdout, "last\n") && name == "silent" {
				t.Errorf("want exit 5 and the last words, after %v\n%s", took, got)
			}
		})
	}
}

// Whoever reads slowly gets all that the command has said, though it has ended:
// more than one pipe holds, and less than two do.
func TestRunSlowReader(t *testing.T) {
	t.Parallel()
	session := start(t, golden.Config{})
	cmd := exec.Command("ccpost", "run", "--", "sh", "-c", "head -c 120000 /dev/zero; : >ended; echo; echo last")
	cmd.Dir = shortDir(t)
	cmd.Env = environ(t, session.Environ()...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the command has ended", func() bool { _, err := os.Stat(filepath.Join(cmd.Dir, "ended")); return err == nil })
	// The session doesn't wait for the reader.
	await(t, "the session is told", func() bool { return len(session.Messages()) == 1 })
	if got := told(t, session); !strings.Contains(got, "\nlast\n") {
		t.Errorf("it was told %.300q", got)
	}
	b, _ := io.ReadAll(out)
	if want := 120000 + len("\nlast\n"); cmd.Wait() != nil || len(b) != want {
		t.Errorf("%d bytes came, want %d", len(b), want)
	}
}

// Somebody who shares our output may make it non-blocking.
func TestRunNonblocking(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	say, wait := ready(t)
	cmd := exec.Command("ccpost", "run", "--if-present", "--", "sh", "-c", say+"; read x; head -c 300000 /dev/zero")
	cmd.Env, cmd.Stdout = environ(t), write
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	wait()
	raw, err := write.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { _ = syscall.SetNonblock(int(fd), true) })
	}
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	time.Sleep(100 * time.Millisecond) // the pipe fills
	b, _ := io.ReadAll(read)
	if err := cmd.Wait(); err != nil || len(b) != 300000 {
		t.Errorf("%d bytes came, %v", len(b), err)
	}
}

// That our reader has gone reaches the command as if it wrote there itself.
func TestRunReaderGone(t *testing.T) {
	t.Parallel()
	session := start(t, golden.Config{})
	for _, tail := range []string{"0", "20"} {
		got := execute(t, "bash", environ(t, session.Environ()...), nil, "-c",
			`ccpost run --label "tail $1" --tail $1 -- yes | head -n 1; echo "${PIPESTATUS[0]}"`, "bash", tail)
		if got.stdout != "y\n141\n" || got.stderr != "" {
			t.Errorf("tail %s: want y and 141\n%s", tail, got)
		}
	}
	for _, m := range session.Messages() {
		if !strings.Contains(m.Body, ": killed by SIGPIPE after ") {
			t.Errorf("it was told %q", m.Body)
		}
	}
	if n := len(session.Messages()); n != 2 {
		t.Errorf("%d messages came", n)
	}
	// One that closes its standard output itself, and ours that is closed.
	got := execute(t, "sh", environ(t), nil, "-c", `ccpost run --if-present -- sh -c 'exec >&-; sleep 0.1; echo still here >&2; exit 4'`)
	if got.code != 4 || got.stderr != "still here\n" {
		t.Errorf("want exit 4\n%s", got)
	}
	if got := execute(t, "sh", environ(t), nil, "-c", `ccpost run --if-present -- sh -c 'echo lost; exit 4' >&- 2>&-`); got.code != 4 {
		t.Errorf("want exit 4\n%s", got)
	}
}

// However much is printed, and however long a line is, it holds little of it.
func TestRunMemory(t *testing.T) {
	t.Parallel()
	for name, print := range map[string]string{
		"lines": "yes 'a line of output' | head -c 300000000", "one line": "head -c 300000000 /dev/zero",
		"long lines": "yes $(head -c 100000 /dev/zero | tr '\\0' x) | head -c 300000000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := start(t, golden.Config{})
			say, wait := ready(t)
			cmd := exec.Command("ccpost", "run", "--tail", "1000", "--max-bytes", "262144", "--", "sh", "-c", print+"; "+say+"; read x")
			cmd.Env = environ(t, session.Environ()...)
			stdin, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			wait()
			peak := peakMemory(t, cmd.Process.Pid)
			stdin.Close()
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 { // read's
				t.Errorf("%v", err)
			}
			if peak > 64<<10 {
				t.Errorf("it has taken %d KiB", peak)
			}
			if body := told(t, session); len(body) > 262144 || !utf8.ValidString(body) || strings.Contains(body, "\x00") {
				t.Errorf("%d bytes were posted", len(body))
			}
		})
	}
}

// peakMemory is the most that a process ever had in memory, in KiB.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc")
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(v, "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Skip("the system doesn't tell")
	return 0
}

// The message goes to the session that was there when the command began.
func TestRunSessionChanged(t *testing.T) {
	t.Parallel()
	t.Run("another session in the process", func(t *testing.T) {
		t.Parallel()
		session := start(t, golden.Config{})
		say, wait := ready(t)
		w := begin(t, environ(t, session.Environ()...), "", "run", "--require-post", "--", "sh", "-c", say+"; read x")
		wait()
		session.Clear()
		if _, err := w.stdin.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		if got := w.end(); got.code != 69 || !strings.HasPrefix(got.stderr, "ccpost: session-changed: ") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("want exit 69 and session-changed\n%s", got)
		}
		if sent := wire(session); sent != "" {
			t.Errorf("the session was sent %q", sent)
		}
	})
	for _, c := range []struct{ to, want string }{{"", "session-changed"}, {"--if-present", ""}} {
		t.Run("another process of that name "+c.to, func(t *testing.T) {
			t.Parallel()
			dir := shortDir(t)
			launched := func(lines string) (*exec.Cmd, io.Closer) {
				cmd := exec.Command("standin", "-sockets", dir+"/s", "-config", dir+"/c", "-name", "api", "-token", envToken, "-key", keyToken, "-lines", dir+"/"+lines)
				stdin, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				launch(t, cmd)
				t.Cleanup(func() { stdin.Close(); cmd.Wait() })
				return cmd, stdin
			}
			first, stdin := launched("first")
			say, wait := ready(t)
			args := []string{"run", "--to", "api", "--config-dir", dir + "/c"}
			if c.to != "" {
				args = append(args, c.to)
			}
			w := begin(t, environ(t), "", append(args, "--", "sh", "-c", say+"; read x; exit 3")...)
			wait()
			stdin.Close()
			_ = first.Wait()
			launched("second")
			if _, err := w.stdin.WriteString("\n"); err != nil {
				t.Fatal(err)
			}
			got := w.end()
			if got.code != 3 || c.want == "" && got.stderr != "" || c.want != "" && !strings.HasPrefix(got.stderr, "ccpost: "+c.want+": ") {
				t.Errorf("want exit 3 and %q\n%s", c.want, got)
			}
			for _, lines := range []string{"first", "second"} {
				if b, err := os.ReadFile(filepath.Join(dir, lines)); err != nil || len(b) > 0 {
					t.Errorf("the %s was sent %q, %v", lines, b, err)
				}
			}
		})
	}
}

// A signal during the post calls it off, and leaves the code as it is.
func TestRunCalledOff(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 2)
	session := start(t, golden.Config{Behaviour: golden.NeverClose, OnLine: func([]byte) { arrived <- struct{}{} }})
	w := begin(t, environ(t, session.Environ()...), "", "run", "--timeout", "1m", "--", "sh", "-c", "exit 3")
	twoLines(t, arrived)
	time.Sleep(2 * settling)
	w.signal(t, syscall.SIGTERM)
	if got := w.end(); got.code != 3 || !strings.HasPrefix(got.stderr, "ccpost: not-read: ") {
		t.Errorf("want exit 3 and not-read\n%s", got)
	}
}
