package inbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/golden"
	"ccpost/inbox"
)

// The receiver goes away after every single byte of both lines, in every way
// there is. Exit 0 means that it read all, and 64 to 70, 75, 77 and 78 that not a
// byte of the message line was there to be read.
func TestPostEveryByte(t *testing.T) {
	tok := parse(t, token)
	auth := len(`{"type":"auth","token":"`) + len(token) + len("\"}\n")
	line, err := inbox.MessageLine(inbox.Message{Body: "x"}, "2591a99c-71bf-4913-9747-f2bf141661a5", "")
	if err != nil {
		t.Fatal(err)
	}
	all := auth + len(line)
	counts := map[string]int{}
	for _, way := range []struct {
		name    string
		version string // an old one is sent the auth line alone
		leave   func(*net.UnixConn)
	}{
		{"closes", "", func(*net.UnixConn) {}},
		{"shuts down its reading, and closes", "", func(c *net.UnixConn) { _ = c.CloseRead() }},
		{"shuts down its writing, and closes", "", func(c *net.UnixConn) { _ = c.CloseWrite() }},
		{"closes, of an older version", "2.1.247", func(*net.UnixConn) {}},
	} {
		last := all
		if way.version != "" {
			last = auth + 1 // from there on it is as without: see the others
		}
		for k := range last + 1 {
			path, got := recorder(t, func(c net.Conn, b *bytes.Buffer) {
				_, _ = io.CopyN(b, c, int64(k))
				way.leave(c.(*net.UnixConn))
			})
			target := inbox.Target{Path: path, Token: tok, FromKey: true, Version: way.version}
			out, err := inbox.Post(within(t, 10*time.Second), target, inbox.Message{Body: "x"}, inbox.Options{Wait: inbox.NoWait})
			came := len(got())
			exit := out.Name.Exit()
			counts[fmt.Sprintf("%s: %s", way.name, out.Name)]++
			switch {
			case came > k:
				t.Fatalf("%d bytes came, of %d", came, k)
			case exit == 0 && came < all:
				t.Errorf("it %s after %d of %d bytes: %s (%v)", way.name, k, all, out.Name, err)
			case exit != 0 && exit != 74 && (came > auth || out.Sent):
				t.Errorf("it %s after %d of %d bytes (auth %d): %s (%v), sent %v", way.name, k, all, auth, out.Name, err, out.Sent)
			case exit == 1 || exit == 2:
				t.Errorf("exit %d", exit)
			}
		}
	}
	t.Log(counts)
}

// A session that reads a few bytes at a time makes every write a short one.
func TestPostShortWrites(t *testing.T) {
	body := strings.Repeat("0123456789", 100_000)
	for name, slow := range map[string]func(io.Reader) io.Reader{
		"a third": func(r io.Reader) io.Reader { return &pieces{r, 4099} },
		"halves":  iotest.HalfReader,
	} {
		path, got := recorder(t, func(c net.Conn, b *bytes.Buffer) {
			_ = c.(*net.UnixConn).SetReadBuffer(1)
			_, _ = b.ReadFrom(slow(c))
		})
		target := inbox.Target{Path: path, Token: parse(t, token)}
		out, err := inbox.Post(within(t, 30*time.Second), target, inbox.Message{Body: body, Raw: true}, inbox.Options{Wait: inbox.NoWait, WriteTimeout: 30 * time.Second})
		check(t, out, err, inbox.SentNoReceipt, "")
		lines := bytes.SplitAfter(got(), []byte("\n"))
		if len(lines) != 3 || len(lines[2]) != 0 {
			t.Fatalf("%s: %d lines came", name, len(lines)-1)
		}
		if f, err := golden.ParseLine(bytes.TrimSuffix(lines[1], []byte("\n"))); err != nil || f.Content != body {
			t.Errorf("%s: another message came, %v", name, err)
		}
	}
}

// pieces reads n bytes at a time.
type pieces struct {
	io.Reader
	n int
}

func (p *pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(p.n, len(b))]) }

// The peer was gone before the first byte, whichever error tells so.
func TestPostGoneBeforeTheFirstByte(t *testing.T) {
	for name, leave := range map[string]func(*net.UnixConn) error{
		"closed":                (*net.UnixConn).Close,
		"shut down its reading": (*net.UnixConn).CloseRead,
	} {
		left := make(chan struct{})
		path, got := recorder(t, func(c net.Conn, b *bytes.Buffer) {
			_ = leave(c.(*net.UnixConn))
			close(left)
			readAll(c, b)
		})
		// Asked just before the write: by then the peer is gone.
		target := inbox.Target{Path: path, Token: parse(t, token), Current: func() (string, error) { <-left; return "", nil }}
		out, err := inbox.Post(within(t, 5*time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
		check(t, out, err, inbox.SocketRefused, "")
		if b := got(); len(b) != 0 || out.Sent || !errors.Is(err, unix.EPIPE) {
			t.Errorf("%s: %d bytes came, sent %v, %v", name, len(b), out.Sent, err)
		}
	}
}

// A clock that is set forward or back between the write and the row: no row of
// another time is taken for this message's, and no wait gets longer or shorter.
func TestClockJumps(t *testing.T) {
	for _, c := range []struct {
		name string
		by   time.Duration
	}{{"an hour back after the write", -time.Hour}, {"an hour forward after the write", time.Hour}, {"a second forward", time.Second}} {
		// As the row of an earlier post of the same text looks, written late, after
		// the clock was set back.
		p := answer(t, func(p *peer) { p.write(p.transcript(), rowAt(time.Now().Add(c.by), hello)) })
		out, err := p.post(100 * time.Millisecond)
		if check(t, out, err, inbox.SentNoReceipt, ""); t.Failed() {
			t.Fatal(c.name)
		}
	}
}
