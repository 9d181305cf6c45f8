package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"ccpost/golden"
)

// patience bounds what must happen. It is no assertion on time.
const patience = 30 * time.Second

// The tokens of the tests' sessions. No run of a few characters of them stands
// in anything else that is printed. They have no slash and no equals sign, at
// which a path or a flag would be cut before it is quoted.
const (
	envToken = "Qx7~vGz4.Wj9+Kp2Yb6+Nm3_Ht8-Rd5Lc1"
	keyToken = "Uf3+Zk8~Xo5.Bq1Js7.Vw4_Ge9-Pi2Ta6D"
)

// TestMain is also the two programs that scripts and tests run: ccpost itself,
// whole and in a process of its own, and a stand-in session.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ccpost": main, "standin": standin})
}

// announced is what standin prints once it can be posted to.
type announced struct {
	Path    string
	PID     int
	Environ []string
}

// standin is a stand-in session in a process of its own. It announces itself,
// appends each line that it is sent to a file before it answers, and ends with
// its standard input, or on SIGTERM.
func standin() {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "standin:", err)
			os.Exit(3)
		}
	}
	var c golden.Config
	f := flag.NewFlagSet("standin", flag.ExitOnError)
	f.StringVar(&c.ConfigDir, "config", "", "configuration directory")
	f.StringVar(&c.SocketDir, "sockets", "", "socket directory")
	f.StringVar(&c.Name, "name", "", "name in the record")
	f.StringVar(&c.Version, "version", "", "version in the record")
	f.StringVar((*string)(&c.Behaviour), "behave", "", "behaviour")
	f.StringVar(&c.Token, "token", "", "the environment's token")
	f.StringVar(&c.PeerToken, "key", "", "the key file's token")
	f.BoolVar(&c.NoSocketPath, "no-socket-path", false, "name no socket in the record")
	lines := f.String("lines", "", "file for what arrives")
	check(f.Parse(os.Args[1:]))
	out, err := os.OpenFile(*lines, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	check(err)
	c.OnLine = func(line []byte) {
		_, err := out.Write(append(line, '\n'))
		check(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	s, err := golden.Start(c)
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(announced{s.Path(), os.Getpid(), s.Environ()}))
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	<-ctx.Done()
	check(s.Close())
}

// shortDir is a directory whose name leaves room for a socket's.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start starts a stand-in session in this process, with the tests' tokens and a
// registry, and ends it with the test.
func start(t testing.TB, c golden.Config) *golden.Session {
	t.Helper()
	dir := shortDir(t)
	if c.SocketDir == "" {
		c.SocketDir = filepath.Join(dir, "s")
	}
	if c.ConfigDir == "" {
		c.ConfigDir = filepath.Join(dir, "c")
	}
	if c.Token == "" {
		c.Token, c.PeerToken = envToken, keyToken
	}
	s, err := golden.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("the stand-in session: %v", err)
		}
	})
	return s
}

// wire is all that a session was sent, as one text.
func wire(s *golden.Session) string {
	var b strings.Builder
	for _, line := range s.Lines() {
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// environ is what a process starts with outside of any session, and vars.
func environ(t testing.TB, vars ...string) []string {
	t.Helper()
	home := shortDir(t)
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}, vars...)
}

// with gives env with some variables set anew, or left out where there is no
// equals sign.
func with(env []string, vars ...string) []string {
	out := slices.Clone(env)
	for _, v := range vars {
		key, _, set := strings.Cut(v, "=")
		out = slices.DeleteFunc(out, func(e string) bool { return strings.HasPrefix(e, key+"=") })
		if set {
			out = append(out, v)
		}
	}
	return out
}

// ended is how a process ended: its exit code, -1 where a signal ended it.
type ended struct {
	code           int
	stdout, stderr string
}

func (e ended) String() string {
	return fmt.Sprintf("exit %d\nstdout: %s\nstderr: %s", e.code, e.stdout, e.stderr)
}

// ccpost runs the program in a process of its own.
func ccpost(t testing.TB, env []string, stdin string, args ...string) ended {
	t.Helper()
	return execute(t, "ccpost", env, strings.NewReader(stdin), args...)
}

func execute(t testing.TB, program string, env []string, stdin io.Reader, args ...string) ended {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("%s: %v", program, err)
	}
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// launch starts a standin, and returns once it can be posted to.
func launch(t testing.TB, cmd *exec.Cmd) (a announced) {
	t.Helper()
	cmd.Env, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH")}, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = json.NewDecoder(stdout).Decode(&a)
	}
	if err != nil {
		t.Fatalf("standin: %v", err)
	}
	return a
}

// named starts a session for each name, in a process of its own, all of one
// registry.
func named(t testing.TB, names ...string) (configDir string) {
	t.Helper()
	dir := shortDir(t)
	configDir = filepath.Join(dir, "c")
	for _, name := range names {
		cmd := exec.Command("standin", "-sockets", filepath.Join(dir, "s"), "-config", configDir, "-name", name,
			"-token", envToken, "-key", keyToken, "-lines", os.DevNull)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		launch(t, cmd)
		t.Cleanup(func() {
			stdin.Close() // which ends it
			if err := cmd.Wait(); err != nil {
				t.Errorf("the stand-in session: %v", err)
			}
		})
	}
	return configDir
}

// recorder takes every connection at a socket that passes for a session's, and
// keeps every byte.
type recorder struct {
	path     string
	listener *net.UnixListener
	accepted chan struct{} // one for each connection

	mu    sync.Mutex
	bytes []byte
	open  sync.WaitGroup
}

func record(t testing.TB, path string) *recorder {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{path: path, listener: l, accepted: make(chan struct{}, 16)}
	r.open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.accepted <- struct{}{}
			r.open.Go(func() {
				defer conn.Close()
				b, _ := io.ReadAll(conn)
				r.mu.Lock()
				defer r.mu.Unlock()
				r.bytes = append(r.bytes, b...)
			})
		}
	})
	t.Cleanup(func() { r.got() })
	return r
}

// got ends the recording and gives what came. Every writer must be gone.
func (r *recorder) got() string {
	r.listener.Close()
	r.open.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.bytes)
}

// register writes the record and the key of a session that listens at path.
func register(t testing.TB, configDir string, pid int, path, sessionID string) {
	t.Helper()
	dir := filepath.Join(configDir, "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name string, mode os.FileMode, v any) {
		b, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(strconv.Itoa(pid)+".json", 0o644, map[string]any{"pid": pid, "sessionId": sessionID, "messagingSocketPath": path, "version": "2.1.332"})
	write(fmt.Sprintf("%d.%x.key", pid, sha256.Sum256([]byte(path))), 0o600, map[string]any{"peerToken": keyToken})
}

// leak finds a run of characters of a secret in text.
func leak(text string, secrets ...string) (string, bool) {
	const run = 6
	for _, s := range secrets {
		for i := 0; i+run <= len(s); i++ {
			if strings.Contains(text, s[i:i+run]) {
				return s[i : i+run], true
			}
		}
	}
	return "", false
}

// await returns once cond holds; it fails the test when it never does.
func await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// drained reports whether all that was written into the pipe has been read.
func drained(t testing.TB, read *os.File) bool {
	t.Helper()
	conn, err := read.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if cerr := conn.Control(func(fd uintptr) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	}); cerr != nil {
		t.Fatal(cerr)
	}
	return n == 0 && err == nil
}
