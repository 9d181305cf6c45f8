package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	_ "ccpost/golden/update"
)

// patience bounds what must happen; silence is how long nothing may.
const (
	patience = 20 * time.Second
	silence  = 150 * time.Millisecond
)

// TestMain also is the sender that runs as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("GOLDEN_SENDER") != "" {
		if err := sender(os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

// sender posts one message; it listens on from itself when reply is "own", and
// prints the receipt that it gets.
func sender(inbox, from, reply string) error {
	var listener *net.UnixListener
	if reply == "own" {
		var err error
		if listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: from, Net: "unix"}); err != nil {
			return err
		}
		defer listener.Close()
	}
	conn, err := net.Dial("unix", inbox)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(userLine("id-1", "text", "uds:"+from, "") + "\n")); err != nil {
		return err
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return err
	}
	if _, err := io.ReadAll(conn); err != nil || listener == nil {
		return err
	}
	listener.SetDeadline(time.Now().Add(patience))
	receipt, err := listener.Accept()
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, receipt)
	return err
}

// asSender runs sender in another process and gives what it printed.
func asSender(t *testing.T, inbox, from, reply string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], inbox, from, reply)
	cmd.Env = []string{"GOLDEN_SENDER=1"}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the sender: %v", err)
	}
	return string(out)
}

// shortDir is a directory whose name leaves room for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start starts a session in a directory of its own, and ends it with the test.
func start(t *testing.T, cfg Config) *Session {
	t.Helper()
	if cfg.SocketDir == "" {
		cfg.SocketDir = filepath.Join(shortDir(t), "s")
	}
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func dial(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn.(*net.UnixConn)
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func halfClose(t *testing.T, conn *net.UnixConn) {
	t.Helper()
	if err := conn.CloseWrite(); err != nil {
		t.Fatalf("half-close: %v", err)
	}
}

// end names what the writer sees next. Anything read is an error: a session
// writes nothing there.
func end(t *testing.T, conn net.Conn, wait time.Duration) string {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(wait))
	n, err := conn.Read(make([]byte, 1))
	switch {
	case n > 0:
		return "data"
	case err == io.EOF:
		return "eof"
	case errors.Is(err, unix.ECONNRESET):
		return "reset"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "silence"
	}
	return err.Error()
}

// post writes text, half-closes and waits for a clean end.
func post(t *testing.T, s *Session, text string) {
	t.Helper()
	conn := dial(t, s.Path())
	write(t, conn, text)
	halfClose(t, conn)
	if got := end(t, conn, patience); got != "eof" {
		t.Fatalf("the writer saw %s, want eof", got)
	}
}

func taken(t *testing.T, s *Session, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Wait(ctx, n); err != nil {
		t.Fatal(err)
	}
}

// until waits for what no event tells.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came to that")
		}
	}
}

// userLine is a message line; from and sessionID may be empty.
func userLine(id, content, from, sessionID string) string {
	line := `{"msgV":1,"msg_id":` + quote(id) + `,"type":"user","message":{"role":"user","content":` + quote(content) + `},"priority":"next"`
	if from != "" {
		line += `,"from":` + quote(from)
	}
	if sessionID != "" {
		line += `,"session_id":` + quote(sessionID)
	}
	return line + "}"
}

func authLine(token string) string { return `{"type":"auth","token":` + quote(token) + `}` }

func quote(s string) string {
	b, err := marshalLine(s)
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(string(b), "\n")
}

// captured gives the lines of a file in capture.
func captured(t testing.TB, name string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("capture", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
}

func keysOf(t *testing.T, line []byte) []string {
	t.Helper()
	keys, _, err := strictObject(line)
	if err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return keys
}

func fieldsOf(t *testing.T, line []byte) map[string]json.RawMessage {
	t.Helper()
	_, fields, err := strictObject(line)
	if err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return fields
}
