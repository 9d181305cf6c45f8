package inbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/golden"
	"ccpost/inbox"
	"ccpost/precheck"
	"ccpost/redact"
)

// socketDir makes a folder with a path short enough for a socket.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// session starts a stand-in session and gives a target for it.
func session(t *testing.T, c golden.Config) (*golden.Session, inbox.Target) {
	t.Helper()
	c.SocketDir = filepath.Join(socketDir(t), "s")
	s, err := golden.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	env, _ := s.Tokens()
	return s, inbox.Target{Path: s.Path(), Token: parse(t, env), PID: os.Getpid()}
}

func parse(t *testing.T, s string) redact.Token {
	t.Helper()
	tok, err := redact.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// check holds an outcome and its error against each other and against what is wanted.
func check(t *testing.T, out inbox.Outcome, err error, name inbox.Name, reason inbox.Reason) {
	t.Helper()
	if out.Name != name || out.Reason != reason {
		t.Errorf("%s, reason %q (%v); want %s, %q", out.Name, out.Reason, err, name, reason)
	}
	if name.Exit() == 0 {
		if err != nil {
			t.Errorf("%s comes with %v", name, err)
		}
		return
	}
	var e *inbox.Error
	if !errors.As(err, &e) || e.Outcome != name || e.Reason != reason {
		t.Errorf("the error is %#v", err)
	}
	// 74 to the class of the write, and to nothing that may be sent again.
	if class := name.Exit(); out.Sent && class != 74 && class != 76 {
		t.Errorf("%s says that nothing was sent, but something was", name)
	}
}

func TestPost(t *testing.T) {
	for _, c := range []struct {
		behaviour golden.Behaviour
		name      inbox.Name
		reason    inbox.Reason
		auth      string
		evidence  string
		taken     int
	}{
		{golden.Accept, inbox.SentNoReceipt, "", "offered", "read", 1},
		{golden.Hold, inbox.Held, "", "confirmed", "receipt", 0},
		{golden.Refuse, inbox.Refused, "", "confirmed", "receipt", 0},
		{golden.Drop, inbox.Dropped, "duplicate", "confirmed", "receipt", 0},
		{golden.AuthRequired, inbox.SentNoReceipt, "", "offered", "read", 1},
		{golden.CloseEarly, inbox.ClosedAfterSend, inbox.ReasonClosedEarly, "offered", "none", 0},
		{golden.StopReading, inbox.NotRead, "", "offered", "none", 0},
		{golden.NeverClose, inbox.NotRead, "", "offered", "none", 1},
		{golden.CloseUnread, inbox.ClosedAfterSend, inbox.ReasonReset, "offered", "none", 0},
		{golden.ShutUnread, inbox.NotRead, "", "offered", "none", 0},
	} {
		t.Run(string(c.behaviour), func(t *testing.T) {
			s, target := session(t, golden.Config{Behaviour: c.behaviour})
			out, err := inbox.Post(within(t, time.Second), target, inbox.Message{Body: "hello", From: "ci"}, inbox.Options{})
			check(t, out, err, c.name, c.reason)
			if !out.Sent || out.Evidence != c.evidence || out.Auth != c.auth || out.MsgID == "" || out.Elapsed <= 0 {
				t.Errorf("%+v", out)
			}
			msgs := s.Messages()
			if len(msgs) != c.taken {
				t.Fatalf("taken: %+v, want %d", msgs, c.taken)
			}
			if c.taken == 1 && (msgs[0] != golden.Message{Body: "hello", FromName: "ci", MsgID: out.MsgID, Priority: "next"}) {
				t.Errorf("taken: %+v", msgs[0])
			}
			left, err := os.ReadDir(filepath.Dir(s.Path()))
			if err != nil || len(left) != 1 {
				t.Errorf("in the session's directory are %v (%v), want its socket alone", left, err)
			}
		})
	}
}

// Without a wait no reply socket is bound, no receipt can come, and nothing
// tells a held message from an accepted one.
func TestPostNoWait(t *testing.T) {
	for _, b := range []golden.Behaviour{golden.Accept, golden.Hold, golden.Refuse, golden.Drop} {
		s, target := session(t, golden.Config{Behaviour: b})
		out, err := inbox.Post(within(t, time.Second), target, inbox.Message{Body: "hello"}, inbox.Options{Wait: inbox.NoWait})
		check(t, out, err, inbox.SentNoReceipt, "")
		f, perr := golden.ParseLine(s.Lines()[1])
		if perr != nil || f.From != "" {
			t.Errorf("%s: from %q (%v)", b, f.From, perr)
		}
	}
}

// Each way in which the address is wrong; nothing is connected to.
func TestPostRefusesThePath(t *testing.T) {
	dir := socketDir(t)
	file := filepath.Join(dir, "file.sock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tok := parse(t, "0123456789abcdef0123456789abcdef")
	for _, c := range []struct {
		path   string
		name   inbox.Name
		reason inbox.Reason
	}{
		{"", inbox.BadEnvironment, inbox.ReasonEmpty},
		{"a.sock", inbox.BadEnvironment, inbox.ReasonRelative},
		{"@a", inbox.BadEnvironment, inbox.ReasonAbstract},
		{"/a\x00b", inbox.BadEnvironment, inbox.ReasonNUL},
		{"/" + strings.Repeat("x", inbox.MaxSocketPath), inbox.BadEnvironment, inbox.ReasonPathTooLong},
		{`\\.\pipe\x`, inbox.Unsupported, inbox.ReasonWindowsPipe},
		{filepath.Join(dir, "none.sock"), inbox.SocketMissing, ""},
		{filepath.Join(dir, "none", "none.sock"), inbox.SocketMissing, ""},
		{file, inbox.NotASocket, inbox.ReasonNotSocket},
	} {
		out, err := inbox.Post(within(t, time.Second), inbox.Target{Path: c.path, Token: tok}, inbox.Message{Body: "x"}, inbox.Options{})
		check(t, out, err, c.name, c.reason)
		if out.Auth != inbox.AuthNone {
			t.Errorf("%q: token %s", c.path, out.Auth)
		}
	}
}

func TestPostOrder(t *testing.T) {
	// A bad message is refused before a bad path, a bad path before a missing token.
	out, err := inbox.Post(within(t, time.Second), inbox.Target{Path: "relative"}, inbox.Message{}, inbox.Options{})
	check(t, out, err, inbox.BadRequest, inbox.ReasonEmptyMessage)
	out, err = inbox.Post(within(t, time.Second), inbox.Target{Path: "relative"}, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.BadEnvironment, inbox.ReasonRelative)
	s, target := session(t, golden.Config{})
	target.Token = redact.Token{}
	out, err = inbox.Post(within(t, time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.NoAuthKey, "")
	if n := len(s.Lines()); n != 0 {
		t.Errorf("%d lines arrived", n)
	}
}

// listener is a socket of ours that is no session.
func listener(t *testing.T, kind, backlog int) string {
	t.Helper()
	path := filepath.Join(socketDir(t), "x.sock")
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if backlog >= 0 {
		if err := unix.Listen(fd, backlog); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestPostDial(t *testing.T) {
	tok := parse(t, "0123456789abcdef0123456789abcdef")
	post := func(path string) (inbox.Outcome, error) {
		return inbox.Post(within(t, 300*time.Millisecond), inbox.Target{Path: path, Token: tok}, inbox.Message{Body: "x"}, inbox.Options{})
	}
	out, err := post(listener(t, unix.SOCK_STREAM, -1))
	check(t, out, err, inbox.SocketRefused, "") // bound, nobody listens
	out, err = post(listener(t, unix.SOCK_DGRAM, -1))
	check(t, out, err, inbox.NotASocket, inbox.ReasonNotStream)
	out, err = post(listener(t, unix.SOCK_SEQPACKET, 1))
	check(t, out, err, inbox.NotASocket, inbox.ReasonNotStream)

	full := listener(t, unix.SOCK_STREAM, 0)
	for range 4 {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.SetNonblock(fd, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: full}); err != nil {
			break
		}
	}
	out, err = post(full)
	check(t, out, err, inbox.Timeout, inbox.ReasonBacklog)
}

// recorder answers at a socket of ours and keeps every byte that it is sent.
func recorder(t *testing.T, handle func(net.Conn, *bytes.Buffer)) (path string, got func() []byte) {
	t.Helper()
	path = filepath.Join(socketDir(t), "1.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		handle(c, &buf)
	}()
	return path, func() []byte { l.Close(); <-done; return buf.Bytes() }
}

func readAll(c net.Conn, b *bytes.Buffer) { b.ReadFrom(c) }

// A peer that isn't the session gets not one byte, of the token or of anything.
func TestPostForeignPeer(t *testing.T) {
	uid, other := os.Geteuid(), os.Geteuid()+1
	for _, c := range []struct {
		name   string
		cred   precheck.Cred
		credE  error
		pid    int
		reason inbox.Reason
	}{
		{"another user", precheck.Cred{UID: other, PID: 7}, nil, 7, inbox.ReasonPeerUID},
		{"another process", precheck.Cred{UID: uid, PID: 8}, nil, 7, inbox.ReasonPeerPID},
		{"nobody can tell", precheck.Cred{}, errors.ErrUnsupported, 7, inbox.ReasonOwnerUnknown},
	} {
		path, got := recorder(t, readAll)
		o := inbox.Options{Peer: func(int) (precheck.Cred, error) { return c.cred, c.credE }}
		target := inbox.Target{Path: path, PID: c.pid, Token: parse(t, "0123456789abcdef0123456789abcdef")}
		out, err := inbox.Post(within(t, time.Second), target, inbox.Message{Body: "x"}, o)
		check(t, out, err, inbox.ForeignSocket, c.reason)
		if b := got(); len(b) != 0 || out.Auth != inbox.AuthNone {
			t.Errorf("%s: %d bytes arrived, token %s", c.name, len(b), out.Auth)
		}
	}
	// From outside of all that has a pid here: another, if the one meant has one.
	for _, here := range []bool{true, false} {
		path, got := recorder(t, readAll)
		o := inbox.Options{Peer: func(int) (precheck.Cred, error) { return precheck.Cred{UID: uid}, nil }}
		target := inbox.Target{Path: path, PID: 7, Here: func() bool { return here }, Token: parse(t, "0123456789abcdef0123456789abcdef")}
		out, err := inbox.Post(within(t, time.Second), target, inbox.Message{Body: "x"}, o)
		if here {
			check(t, out, err, inbox.ForeignSocket, inbox.ReasonPeerPID)
		} else {
			check(t, out, err, inbox.SentNoReceipt, "")
		}
		if b := got(); len(b) == 0 != here {
			t.Errorf("here %v: %d bytes arrived", here, len(b))
		}
	}
	// The same with the system's own word: this process is not process 1.
	path, got := recorder(t, readAll)
	target := inbox.Target{Path: path, PID: os.Getpid() + 1, Token: parse(t, "0123456789abcdef0123456789abcdef")}
	out, err := inbox.Post(within(t, time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.ForeignSocket, inbox.ReasonPeerPID)
	if b := got(); len(b) != 0 {
		t.Errorf("%d bytes arrived", len(b))
	}
}

// A pid that isn't known on either side is not compared.
func TestPostUnknownPID(t *testing.T) {
	for _, c := range []struct{ cred, want int }{{0, 7}, {7, 0}, {0, 0}} {
		path, got := recorder(t, readAll)
		o := inbox.Options{Peer: func(int) (precheck.Cred, error) { return precheck.Cred{UID: os.Geteuid(), PID: c.cred}, nil }}
		out, err := inbox.Post(within(t, time.Second), inbox.Target{Path: path, PID: c.want, Token: parse(t, "0123456789abcdef0123456789abcdef")}, inbox.Message{Body: "x"}, o)
		check(t, out, err, inbox.SentNoReceipt, "")
		if b := got(); !bytes.HasPrefix(b, []byte(`{"type":"auth","token":"0123456789abcdef0123456789abcdef"}`+"\n"+`{"msgV":1,"msg_id":"`)) || !bytes.HasSuffix(b, []byte("}\n")) {
			t.Errorf("%s", b)
		}
	}
}

func TestPostSessionChanged(t *testing.T) {
	ids := func(answers ...string) func() (string, error) {
		return func() (string, error) {
			id := answers[0]
			if len(answers) > 1 {
				answers = answers[1:]
			}
			if id == "gone" {
				return "", errors.New("the record is gone")
			}
			if id == "renamed" {
				return "", fmt.Errorf("%w: it has another name", inbox.ErrChanged)
			}
			return id, nil
		}
	}
	for _, c := range []struct {
		name    string
		meant   string
		current func() (string, error)
		want    inbox.Name
		reason  inbox.Reason
		frame   string // the session_id on the wire, "-" for no line at all
	}{
		{"nobody knows", "", nil, inbox.SentNoReceipt, "", ""},
		{"no record tells", "a", ids(""), inbox.SentNoReceipt, "", ""},
		{"the caller alone knows", "a", nil, inbox.SentNoReceipt, "", "a"},
		{"the same", "a", ids("a"), inbox.SentNoReceipt, "", "a"},
		{"only the record knows", "", ids("a"), inbox.SentNoReceipt, "", "a"},
		{"another before the write", "a", ids("b"), inbox.SessionChanged, "", "-"},
		{"gone before the write", "a", ids("gone"), inbox.SessionChanged, "", "-"},
		{"another after the write", "a", ids("a", "b"), inbox.ClosedAfterSend, inbox.ReasonSessionChanged, "a"},
		// It has ended since, having read everything.
		{"gone after the write", "a", ids("a", "gone"), inbox.SentNoReceipt, "", "a"},
		{"another name after the write", "a", ids("a", "renamed"), inbox.ClosedAfterSend, inbox.ReasonSessionChanged, "a"},
		{"another after the write, none meant", "", ids("a", "b"), inbox.ClosedAfterSend, inbox.ReasonSessionChanged, "a"},
	} {
		path, got := recorder(t, readAll)
		target := inbox.Target{Path: path, SessionID: c.meant, Current: c.current, Token: parse(t, "0123456789abcdef0123456789abcdef")}
		out, err := inbox.Post(within(t, time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
		check(t, out, err, c.want, c.reason)
		lines := bytes.Split(bytes.TrimSuffix(got(), []byte("\n")), []byte("\n"))
		if c.frame == "-" {
			if len(lines[0]) != 0 {
				t.Errorf("%s: %s arrived", c.name, lines)
			}
			continue
		}
		f, perr := golden.ParseLine(lines[len(lines)-1])
		if perr != nil || f.SessionID != c.frame || out.SessionID != c.frame {
			t.Errorf("%s: session %q (%v), said %q, want %q", c.name, f.SessionID, perr, out.SessionID, c.frame)
		}
	}
}

// A peer that goes away before the message line, or inside it.
func TestPostBrokenWrite(t *testing.T) {
	big := inbox.Message{Body: strings.Repeat("x", 1_000_000)}
	tok := parse(t, "0123456789abcdef0123456789abcdef")

	path, got := recorder(t, func(c net.Conn, b *bytes.Buffer) { b.ReadFrom(&first{c, 1000}) })
	out, err := inbox.Post(within(t, 5*time.Second), inbox.Target{Path: path, Token: tok}, big, inbox.Options{})
	check(t, out, err, inbox.SocketError, "")
	got()

	// It never reads: the message fills the socket, and the deadline passes inside it.
	_, target := session(t, golden.Config{Behaviour: golden.StopReading})
	out, err = inbox.Post(within(t, 2*time.Second), target, big, inbox.Options{})
	check(t, out, err, inbox.SocketError, "")
	if !errors.Is(err, inbox.ErrWrite) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, inbox.ErrTimeout) {
		t.Errorf("%v", err)
	}
	out, err = inbox.Post(context.Background(), target, big, inbox.Options{WriteTimeout: 500 * time.Millisecond})
	check(t, out, err, inbox.SocketError, "")
}

// first reads up to n bytes, then says that is all.
type first struct {
	net.Conn
	n int
}

func (f *first) Read(b []byte) (int, error) {
	if f.n <= 0 {
		return 0, fmt.Errorf("enough")
	}
	n, err := f.Conn.Read(b[:min(len(b), f.n)])
	f.n -= n
	return n, err
}

// The time is up, or the post is called off, before it begins.
func TestPostNoTime(t *testing.T) {
	s, target := session(t, golden.Config{})
	out, err := inbox.Post(within(t, -time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	if out.Name == inbox.SentNoReceipt || out.Sent {
		t.Errorf("%+v %v", out, err)
	}
	check(t, out, err, inbox.Timeout, "")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("called off"))
	out, err = inbox.Post(ctx, target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.Timeout, "")
	if !strings.Contains(err.Error(), "called off") {
		t.Errorf("%v", err)
	}
	if n := len(s.Messages()); n != 0 {
		t.Errorf("%d messages were taken", n)
	}
}

// The key's token of an older session is offered alone, and a close is a refusal.
func TestPostOffersAuthAlone(t *testing.T) {
	s, target := session(t, golden.Config{Behaviour: golden.AuthRequired})
	wrong := target
	wrong.Token = parse(t, "ffffffffffffffffffffffffffffffff")
	wrong.FromKey, wrong.Version = true, "2.1.247"
	out, err := inbox.Post(within(t, 2*time.Second), wrong, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.AuthRejected, "")
	if out.Auth != inbox.AuthRefused || out.Sent {
		t.Errorf("%+v", out)
	}
	right := target
	right.FromKey, right.Version = true, "2.1.247"
	out, err = inbox.Post(within(t, 4*time.Second), right, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.SentNoReceipt, "")
	if n := len(s.Messages()); n != 1 {
		t.Errorf("%d messages were taken", n)
	}
	// With a newer version, or the environment's token, both lines go at once.
	for _, both := range []inbox.Target{
		{FromKey: true, Version: "2.1.248"}, {FromKey: true}, {FromKey: false, Version: "2.1.247"},
	} {
		both.Path, both.Token = target.Path, wrong.Token
		out, err = inbox.Post(within(t, time.Second), both, inbox.Message{Body: "x"}, inbox.Options{})
		if out.Name == inbox.AuthRejected || !out.Sent {
			t.Errorf("%+v: %s (%v)", both, out.Name, err)
		}
	}
}

// A session that ends behind the auth line has refused nothing.
func TestPostEndsBehindAuth(t *testing.T) {
	path := filepath.Join(socketDir(t), "1.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = bufio.NewReader(c).ReadString('\n')
		l.Close() // as the end of a process does: the oldest descriptor first
	}()
	target := inbox.Target{Path: path, Token: parse(t, "0123456789abcdef0123456789abcdef"), FromKey: true, Version: "2.1.247"}
	out, err := inbox.Post(within(t, 20*time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.SocketRefused, "")
	if out.Auth != inbox.AuthOffered || out.Sent {
		t.Errorf("%+v", out)
	}
}

// What panics before the message is internal, after it began socket-error.
func TestPostPanics(t *testing.T) {
	_, target := session(t, golden.Config{})
	calls := 0
	at := func(n int) func() (string, error) {
		calls = 0
		return func() (string, error) {
			if calls++; calls == n {
				panic("planted")
			}
			return "", nil
		}
	}
	target.Current = at(1)
	out, err := inbox.Post(within(t, time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.Internal, inbox.ReasonPanic)
	target.Current = at(2)
	out, err = inbox.Post(within(t, time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.SocketError, inbox.ReasonPanic)
	if !out.Sent {
		t.Error("sent is false after the message was written")
	}
}

func TestCheck(t *testing.T) {
	s, target := session(t, golden.Config{})
	out, err := inbox.Check(within(t, time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.Reachable, "")
	target.Current = func() (string, error) { return "", errors.New("gone") }
	out, err = inbox.Check(within(t, time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.SessionChanged, "")
	if n := len(s.Lines()); n != 0 {
		t.Errorf("%d lines arrived", n)
	}
}

// One line a call, at debug or warn, scalars only, no token.
func TestPostLogs(t *testing.T) {
	_, target := session(t, golden.Config{})
	env := target.Token.Reveal()
	for _, c := range []struct {
		target inbox.Target
		level  string
	}{{target, "level=DEBUG"}, {inbox.Target{Path: "relative", Token: target.Token}, "level=WARN"}} {
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		_, _ = inbox.Post(within(t, time.Second), c.target, inbox.Message{Body: "x"}, inbox.Options{Logger: log})
		got := b.String()
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, c.level) || strings.Contains(got, env) {
			t.Errorf("%s", got)
		}
	}
}

func TestTargetPrintsNoToken(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	target := inbox.Target{Path: "/tmp/1.sock", Token: parse(t, token), PID: 1, SessionID: "a"}
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "target", target)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb, target)
		fmt.Fprintf(&b, verb, &target)
	}
	if strings.Contains(b.String(), token) {
		t.Errorf("%s", b.String())
	}
	if got, want := target.String(), `inbox "/tmp/1.sock" session "a" pid 1`; got != want || target.GoString() != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An end of file says that everything was read only where it was: a peer can
// shut down its side and read on, or close without.
func TestPostEndOfFileUnread(t *testing.T) {
	for _, c := range []struct {
		name   string
		then   func(c *net.UnixConn, b *bytes.Buffer)
		want   inbox.Name
		reason inbox.Reason
	}{
		{"reads later", func(c *net.UnixConn, b *bytes.Buffer) { time.Sleep(50 * time.Millisecond); b.ReadFrom(c) }, inbox.SentNoReceipt, ""},
		{"closes without", func(c *net.UnixConn, b *bytes.Buffer) { time.Sleep(50 * time.Millisecond) }, inbox.ClosedAfterSend, inbox.ReasonReset},
		{"reads the first line only", func(c *net.UnixConn, b *bytes.Buffer) { b.ReadFrom(&first{c, 54}); time.Sleep(50 * time.Millisecond) }, inbox.ClosedAfterSend, inbox.ReasonReset},
		{"never does", func(c *net.UnixConn, b *bytes.Buffer) { time.Sleep(time.Second) }, inbox.NotRead, ""},
	} {
		for _, wait := range []time.Duration{inbox.NoWait, 20 * time.Millisecond, 200 * time.Millisecond} {
			path, got := recorder(t, func(conn net.Conn, b *bytes.Buffer) {
				u := conn.(*net.UnixConn)
				u.CloseWrite()
				c.then(u, b)
			})
			out, err := inbox.Post(within(t, 500*time.Millisecond), inbox.Target{Path: path, Token: parse(t, token)}, inbox.Message{Body: "x"}, inbox.Options{Wait: wait})
			if c.want == inbox.SentNoReceipt && wait == 200*time.Millisecond {
				// It has closed, having read everything, before our half-close.
				check(t, out, err, inbox.ClosedAfterSend, inbox.ReasonClosedEarly)
			} else {
				check(t, out, err, c.want, c.reason)
			}
			got()
		}
	}
}

// A socket that becomes a link between the look at it and the connect is no
// fault of ccpost's.
func TestLinkTakesItsPlace(t *testing.T) {
	for _, to := range []string{"1.sock", "file/x", strings.Repeat("x", 300), "/" + strings.Repeat("x", 300)} {
		dir := socketDir(t)
		path := filepath.Join(dir, "1.sock")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		stat := func(p string) (fs.FileInfo, error) {
			fi, err := os.Lstat(p)
			if filepath.Base(p) == "1.sock" {
				err = errors.Join(err, os.Remove(path), os.Symlink(to, path))
			}
			return fi, err
		}
		target := inbox.Target{Path: path, Token: parse(t, token), PID: os.Getpid()}
		out, err := inbox.Post(within(t, time.Second), target, inbox.Message{Body: "hello"}, inbox.Options{Wait: -1, Stat: stat})
		check(t, out, err, inbox.ForeignSocket, inbox.ReasonSymlink)
	}
}
