package main

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ccpost/golden"
)

// terminal is a new one: the end that a person would sit at, and the other.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	return person, program
}

// onTerminal runs ccpost as a terminal's foreground process.
func onTerminal(t *testing.T, env []string, args ...string) (person *os.File, wait func() (code int, shown string)) {
	t.Helper()
	return onTerminalOf(t, 80, env, args...)
}

// onTerminalOf is onTerminal with so many columns; 0 is one that doesn't say.
func onTerminalOf(t *testing.T, columns uint16, env []string, args ...string) (person *os.File, wait func() (code int, shown string)) {
	t.Helper()
	person, program := terminal(t)
	if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ccpost", args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err := cmd.Start()
	program.Close()
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(person) // ends with EIO
		shown <- string(b)
	}()
	return person, func() (int, string) {
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), <-shown
	}
}

// With --tail 0 a terminal stays one; with a tail it is two pipes, and standard
// input is the terminal still.
func TestRunTerminal(t *testing.T) {
	t.Parallel()
	for tail, want := range map[string]string{"0": "in out err", "20": "in"} {
		_, wait := onTerminal(t, environ(t), "run", "--if-present", "--tail", tail, "--", "sh", "-c",
			`w=; [ -t 0 ] && w=in; [ -t 1 ] && w="$w out"; [ -t 2 ] && w="$w err"; echo "[$w]"`)
		if code, shown := wait(); code != 0 || !strings.Contains(shown, "["+want+"]") {
			t.Errorf("tail %s: exit %d, %q, want [%s]", tail, code, shown, want)
		}
	}
}

// The keys of a terminal reach the command, once, and the message is posted.
func TestRunTerminalKeys(t *testing.T) {
	t.Parallel()
	for key, c := range map[string]struct {
		code int
		want string
	}{"\x03": {130, "killed by SIGINT"}, "\x1c": {131, "killed by SIGQUIT"}} {
		for _, tail := range []string{"0", "20"} {
			session := start(t, golden.Config{})
			say, ran := ready(t)
			person, wait := onTerminal(t, environ(t, session.Environ()...), "run", "--tail", tail, "--", "sh", "-c", "ulimit -c 0; "+say+"; exec sleep 60")
			ran()
			if _, err := person.WriteString(key); err != nil {
				t.Fatal(err)
			}
			if code, shown := wait(); code != c.code || strings.Contains(shown, "ccpost: ") || !strings.Contains(told(t, session), c.want) {
				t.Errorf("%q, tail %s: exit %d, %q, want %d", key, tail, code, shown, c.code)
			}
		}
	}
}
