package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/precheck"
)

// Post posts one message into the session at t and says what became of it. The
// budget is ctx's deadline; within it connecting and writing are each bounded
// by the options, and the session's closing by 5 s. The error is nil or an
// *Error, and bears the same name and reason as the Outcome.
func Post(ctx context.Context, t Target, m Message, o Options) (Outcome, error) {
	return do(ctx, t, o, SentNoReceipt, m.addressed(), (*post).send)
}

// Check goes as far as Post does without connecting: the message, the path, the
// token, the session. Its success is Reachable.
func Check(ctx context.Context, t Target, m Message, o Options) (Outcome, error) {
	return do(ctx, t, o, Reachable, m.addressed(), (*post).check)
}

// Probe connects to the inbox and checks who answers, and writes nothing. Its
// success is Reachable.
func Probe(ctx context.Context, t Target, o Options) (Outcome, error) {
	return do(ctx, t, o, Reachable, line{}, (*post).probe)
}

// Rename gives the session another name. Its success is RenameSent: sessions
// don't answer, and one that runs without a terminal ignores it.
func Rename(ctx context.Context, t Target, name string, o Options) (Outcome, error) {
	l := line{to: func(sessionID string) ([]byte, *Error) { return renameLine(name, sessionID) }}
	return do(ctx, t, o, RenameSent, l, (*post).send)
}

// line is what is to be sent: to makes it for the session with this id, and is
// nil where nothing is. Only messages have an id of their own.
type line struct {
	msgID string
	to    func(sessionID string) ([]byte, *Error)
}

// addressed is the message under a new id.
func (m Message) addressed() line {
	id := newMsgID()
	return line{id, func(sessionID string) ([]byte, *Error) { return m.line(id, sessionID) }}
}

// post is one call's state. Its methods return nil or what ended it.
type post struct {
	ctx context.Context
	t   Target
	o   Options

	line line

	out     Outcome
	encoded []byte // the line, for the session out.SessionID
	held    *precheck.Held
}

// do takes one step to its end; success is what it is called where nothing stops it.
func do(ctx context.Context, t Target, o Options, success Name, l line, step func(*post) *Error) (out Outcome, err error) {
	start := time.Now()
	p := &post{ctx: ctx, t: t, o: o, line: l}
	p.out = Outcome{Name: success, MsgID: l.msgID, Auth: AuthNone, Evidence: EvidenceNone}
	var failed *Error
	// Only here is it known whether the message had begun when something
	// panicked, and so whether it may be sent again.
	defer func() {
		if r := recover(); r != nil {
			failed = p.broken(ReasonPanic, fmt.Errorf("panic: %v", r))
		}
		if p.held != nil {
			_ = p.held.Close()
		}
		p.out.Elapsed = time.Since(start)
		if failed != nil {
			p.out.Name, p.out.Reason = failed.Outcome, failed.Reason
			err = failed
		}
		out = p.out
		p.log(failed)
	}()
	failed = step(p)
	return
}

// broken is what ended a post by no fault of the session's: before the message
// line began it can be tried again, after that it can't.
func (p *post) broken(r Reason, cause error) *Error {
	if p.out.Sent {
		return Fail(SocketError, r, cause)
	}
	return Fail(Internal, r, cause)
}

// prepare is what comes before the connection. The order is part of the
// contract: what the caller got wrong first, then what stands on disk, and the
// token only for a path that is the session's own.
func (p *post) prepare() *Error {
	if failed := p.encode(p.t.SessionID); failed != nil {
		return failed
	}
	held, err := precheck.Path(p.t.Path, p.o.precheck())
	if err != nil {
		return FailPrecheck(err)
	}
	p.held = held
	if p.t.Token.IsZero() {
		return Fail(NoAuthKey, "", nil)
	}
	return nil
}

// check also makes a socket, which a sandbox may forbid.
func (p *post) check() *Error {
	if failed := p.prepare(); failed != nil {
		return failed
	}
	fd, err := newSocket()
	if err != nil {
		return p.socketFailed(err)
	}
	_ = unix.Close(fd)
	return p.address()
}

// address makes the message line for the session that is there now, which must
// be the one that is meant.
func (p *post) address() *Error {
	id, failed := p.session()
	if failed != nil {
		return failed
	}
	return p.encode(id)
}

// encode makes the message line for the session with this id.
func (p *post) encode(sessionID string) *Error {
	if p.line.to == nil || p.encoded != nil && sessionID == p.out.SessionID {
		return nil
	}
	encoded, failed := p.line.to(sessionID)
	p.encoded, p.out.SessionID = encoded, sessionID
	return failed
}

// session asks which session is there now, and holds it against the one that is meant.
func (p *post) session() (string, *Error) {
	if p.t.Current == nil {
		return p.t.SessionID, nil
	}
	id, err := p.t.Current()
	if err != nil {
		return "", Fail(SessionChanged, "", err)
	}
	if id != "" && p.t.SessionID != "" && id != p.t.SessionID {
		return "", Fail(SessionChanged, "", fmt.Errorf("%s was meant, %s is there", p.t.SessionID, id))
	}
	return id, nil
}

func (p *post) send() *Error {
	return p.connected(func(c conn) *Error {
		if failed := p.write(c); failed != nil {
			return failed
		}
		return p.finish(c)
	})
}

func (p *post) probe() *Error {
	return p.connected(func(conn) *Error { return p.address() })
}

// connected prepares, connects, and gives the connection to f.
func (p *post) connected(f func(conn) *Error) *Error {
	if failed := p.prepare(); failed != nil {
		return failed
	}
	fd, err := newSocket()
	if err != nil {
		return p.socketFailed(err)
	}
	defer func() { _ = unix.Close(fd) }()
	c := conn{fd, p.ctx}
	if failed := p.connect(c); failed != nil {
		return failed
	}
	return f(c)
}

// connect dials the socket that was checked, and checks who answers.
func (p *post) connect(c conn) *Error {
	if err := c.connect(p.held.Addr(), time.Now().Add(or(p.o.DialTimeout, DefaultDialTimeout))); err != nil {
		return p.dialFailed(err)
	}
	if err := p.held.Recheck(); err != nil {
		return FailPrecheck(err)
	}
	peer := p.o.Peer
	if peer == nil {
		peer = precheck.PeerCred
	}
	cred, err := peer(c.fd)
	if err != nil {
		return Fail(ForeignSocket, ReasonOwnerUnknown, err)
	}
	if err := precheck.Peer(cred, p.o.precheck().OwnUID(), p.t.PID); err != nil {
		return FailPrecheck(err)
	}
	return nil
}

func (p *post) socketFailed(err error) *Error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return Fail(PermissionDenied, ReasonSandbox, err)
	}
	return Fail(Internal, ReasonResource, err)
}

func (p *post) dialFailed(err error) *Error {
	switch {
	case errors.Is(err, unix.EAGAIN):
		return Fail(Timeout, ReasonBacklog, errors.New("its backlog stayed full"))
	case errors.Is(err, errDeadline):
		return Fail(Timeout, "", p.cause(err))
	case errors.Is(err, unix.ENOENT):
		return Fail(SocketMissing, "", err)
	case errors.Is(err, unix.EPROTOTYPE):
		return Fail(NotASocket, ReasonNotStream, errors.New("it is not a stream socket"))
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ECONNRESET):
		return Fail(SocketRefused, "", err)
	}
	return p.socketFailed(err)
}

// cause says why the time was up: the context knows when it was called off.
func (p *post) cause(err error) error {
	if c := context.Cause(p.ctx); c != nil {
		return c
	}
	// Its timer can be later than its deadline.
	if d, ok := p.ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return err
}

// write writes the auth line and the message line. Nothing is tried again here.
func (p *post) write(c conn) *Error {
	if failed := p.address(); failed != nil {
		return failed
	}
	until := time.Now().Add(or(p.o.WriteTimeout, DefaultWriteTimeout))
	auth := appendAuth(nil, p.t.Token)
	p.out.Auth = AuthOffered
	if p.t.FromKey && olderThan(p.t.Version, 2, 1, 248) {
		if failed := p.offerAuth(c, auth, until); failed != nil {
			return failed
		}
		auth = nil
	}
	// Whatever breaks inside the write must not pass for unsent.
	p.out.Sent = true
	n, err := c.write(append(auth, p.encoded...), until)
	p.out.Sent = n > len(auth)
	switch {
	case err == nil:
		return nil
	case p.out.Sent:
		return Fail(SocketError, "", p.cause(err))
	case errors.Is(err, errDeadline):
		return Fail(Timeout, "", p.cause(err))
	}
	return Fail(SocketRefused, "", err)
}

// offerAuth writes the auth line alone and gives an older session the time to
// close on it: such a session may refuse the token of a key file without a word.
func (p *post) offerAuth(c conn, auth []byte, until time.Time) *Error {
	if _, err := c.write(auth, until); err != nil {
		if errors.Is(err, errDeadline) {
			return Fail(Timeout, "", p.cause(err))
		}
		return Fail(SocketRefused, "", err)
	}
	pause := time.Second
	if d, ok := p.ctx.Deadline(); ok {
		pause = min(pause, time.Until(d)/4)
	}
	err := c.awaitEOF(time.Now().Add(pause))
	if !errors.Is(err, errDeadline) {
		p.out.Auth = AuthRefused
		return Fail(AuthRejected, "", err)
	}
	if p.ctx.Err() != nil {
		return Fail(Timeout, "", p.cause(err))
	}
	return nil
}

// finish half-closes and waits for the session to close.
func (p *post) finish(c conn) *Error {
	// A session keeps the connection open until the writer half-closes: one
	// that has closed already has refused, or is gone.
	err := c.awaitEOF(time.Now())
	if !errors.Is(err, errDeadline) {
		return closedEarly(err)
	}
	if err := unix.Shutdown(c.fd, unix.SHUT_WR); err != nil {
		return closedEarly(err)
	}
	switch err := c.awaitEOF(time.Now().Add(closeTimeout)); {
	case errors.Is(err, errDeadline):
		return Fail(NotRead, "", p.cause(err))
	case err != nil:
		return closedEarly(err)
	}
	p.out.Evidence = EvidenceRead
	// Addressed to one session, it must still be that one.
	p.t.SessionID = p.out.SessionID
	if _, failed := p.session(); failed != nil {
		return Fail(ClosedAfterSend, ReasonSessionChanged, failed.Err)
	}
	return nil
}

func closedEarly(err error) *Error {
	if err == nil {
		return Fail(ClosedAfterSend, ReasonClosedEarly, errors.New("it closed before the half-close"))
	}
	return Fail(ClosedAfterSend, ReasonReset, err)
}

// log writes the one line of a call: scalars only, so that no handler can walk
// into the target.
func (p *post) log(failed *Error) {
	if p.o.Logger == nil {
		return
	}
	level, attrs := slog.LevelDebug, []slog.Attr{
		slog.String("outcome", string(p.out.Name)),
		slog.String("reason", string(p.out.Reason)),
		slog.String("socket", p.t.Path),
		slog.Int("pid", p.t.PID),
		slog.String("session_id", p.out.SessionID),
		slog.String("msg_id", p.out.MsgID),
		slog.Bool("sent", p.out.Sent),
		slog.Duration("elapsed", p.out.Elapsed),
	}
	if failed != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("error", failed.Error()))
	}
	p.o.Logger.LogAttrs(context.WithoutCancel(p.ctx), level, "post", attrs...)
}

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// olderThan compares a version such as 2.1.247 with major.minor.patch. A
// version that can't be read counts as new: only old ones need care.
func olderThan(version string, want ...int) bool {
	parts := strings.Split(version, ".")
	if len(parts) < len(want) {
		return false
	}
	for i, w := range want {
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return false
		}
		if n != w {
			return n < w
		}
	}
	return false
}
