package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/precheck"
)

// Post posts one message into the session at t and says what became of it. The
// budget is ctx's deadline; within it connecting and writing are each bounded
// by the options, so is the wait for a word on the message, and the session's
// closing by 5 s. The error is nil or an *Error, and bears the same name and
// reason as the Outcome.
func Post(ctx context.Context, t Target, m Message, o Options) (Outcome, error) {
	return do(ctx, t, o, SentNoReceipt, func(p *post) *Error { return p.post(m, (*post).send) })
}

// Validate says whether a message could be sent at all, to any session. The
// error is nil or an *Error.
func (m Message) Validate() error {
	content, failed := m.content()
	if failed == nil {
		_, failed = m.line("", content)("", "")
	}
	if failed != nil {
		return failed
	}
	return nil
}

// Check goes as far as Post does without connecting: the message, the path, the
// token, the session. Its success is Reachable.
func Check(ctx context.Context, t Target, m Message, o Options) (Outcome, error) {
	return do(ctx, t, o, Reachable, func(p *post) *Error { return p.post(m, (*post).check) })
}

// Probe connects to the inbox and checks who answers, and writes nothing. Its
// success is Reachable.
func Probe(ctx context.Context, t Target, o Options) (Outcome, error) {
	return do(ctx, t, o, Reachable, (*post).probe)
}

// Rename gives the session another name. Its success is RenameSent: sessions
// don't answer, and one that runs without a terminal ignores it.
func Rename(ctx context.Context, t Target, name string, o Options) (Outcome, error) {
	return do(ctx, t, o, RenameSent, func(p *post) *Error {
		var failed *Error
		if p.line, failed = renameLine(name); failed != nil {
			return failed
		}
		return p.send()
	})
}

// CheckName reports why Rename can't give a session this name.
func CheckName(name string) error {
	if _, failed := renameLine(name); failed != nil {
		return failed
	}
	return nil
}

// post is one call's state. Its methods return nil or what ended it.
type post struct {
	ctx context.Context
	t   Target
	o   Options

	line      line   // nil where nothing is sent
	content   string // what a message's line carries
	replyName string // "" where no receipt is waited for

	out     Outcome
	encoded []byte // the line, for the session out.SessionID and the address from
	from    string
	held    *precheck.Held
	watch   watch
}

// do takes one step to its end; success is what it is called where nothing stops it.
func do(ctx context.Context, t Target, o Options, success Name, step func(*post) *Error) (out Outcome, err error) {
	start := time.Now()
	p := &post{ctx: ctx, t: t, o: o}
	p.out = Outcome{Name: success, Auth: AuthNone, Evidence: EvidenceNone}
	var failed *Error
	// Only here is it known whether the message had begun when something
	// panicked, and so whether it may be sent again.
	defer func() {
		if r := recover(); r != nil {
			failed = p.broken(ReasonPanic, fmt.Errorf("panic: %v", r))
		}
		p.watch.close()
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

// post takes a step with a message, which is made before anything is touched.
func (p *post) post(m Message, step func(*post) *Error) *Error {
	p.out.MsgID = newMsgID()
	var failed *Error
	if p.content, failed = m.content(); failed != nil {
		return failed
	}
	p.line = m.line(p.out.MsgID, p.content)
	if p.o.Wait >= 0 {
		sender := ""
		if !m.Raw {
			sender = SenderName(m.From)
		}
		p.replyName = replyName(p.o.precheck().OwnUID(), sender, p.t.Path)
		// Told to be there, and taken back where it can't be: so that the line's
		// size doesn't depend on it.
		p.from = "uds:" + filepath.Join(filepath.Dir(p.t.Path), p.replyName)
	}
	return step(p)
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
	p.out.MsgID = "" // no message bears it
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
	if p.line == nil || p.encoded != nil && sessionID == p.out.SessionID {
		return nil
	}
	encoded, failed := p.line(sessionID, p.from)
	p.encoded, p.out.SessionID = encoded, sessionID
	return failed
}

// session asks which session is there now, and holds it against the one that is meant.
func (p *post) session() (string, *Error) {
	if p.t.Current == nil {
		return p.t.SessionID, nil
	}
	id, err := p.t.Current()
	var pe *precheck.Error
	switch {
	// Its record can't be read: that says nothing of the session.
	case errors.As(err, &pe) && (pe.Reason == precheck.Resource || pe.Reason == precheck.Stat):
		return "", FailPrecheck(err)
	case err != nil:
		return "", Fail(SessionChanged, "", err)
	case id != "" && p.t.SessionID != "" && id != p.t.SessionID:
		return "", Fail(SessionChanged, "", Changed(fmt.Sprintf("%s was meant, %s is there", p.t.SessionID, id)))
	}
	return id, nil
}

func (p *post) send() *Error {
	return p.connected(func(c conn) *Error {
		// The session can have changed while the connection was made.
		if failed := p.address(); failed != nil {
			return failed
		}
		if failed := p.receive(); failed != nil {
			return failed
		}
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
	peer, failed := p.connect(c)
	if failed != nil {
		return failed
	}
	p.watch.peer = peer
	return f(c)
}

// connect dials the socket that was checked, and checks who answers.
func (p *post) connect(c conn) (cred precheck.Cred, failed *Error) {
	if err := c.connect(p.held.Addr(), time.Now().Add(or(p.o.DialTimeout, DefaultDialTimeout))); err != nil {
		return cred, p.unsent(err)
	}
	if err := p.held.Recheck(); err != nil {
		return cred, FailPrecheck(err)
	}
	cred, err := p.peer(c.fd)
	if err != nil {
		return cred, Fail(ForeignSocket, ReasonOwnerUnknown, err)
	}
	if err := precheck.Peer(cred, p.o.precheck().OwnUID(), p.t.PID); err != nil {
		return cred, FailPrecheck(err)
	}
	if cred.PID == 0 && p.t.Here != nil && p.t.Here() {
		return cred, Fail(ForeignSocket, ReasonPeerPID, errors.New("who answers is in another container"))
	}
	return cred, nil
}

func (p *post) peer(fd int) (precheck.Cred, error) {
	if p.o.Peer != nil {
		return p.o.Peer(fd)
	}
	return precheck.PeerCred(fd)
}

func (p *post) socketFailed(err error) *Error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return Fail(PermissionDenied, ReasonSandbox, err)
	}
	return Fail(Internal, ReasonResource, err)
}

// unsent is what kept the message from being begun, on the connection or before it.
func (p *post) unsent(err error) *Error {
	switch {
	case errors.Is(err, unix.EAGAIN):
		return Fail(Timeout, ReasonBacklog, errors.New("its backlog stayed full"))
	case errors.Is(err, errDeadline):
		return Fail(Timeout, "", p.cause(err))
	case errors.Is(err, unix.ENOENT):
		return Fail(SocketMissing, "", err)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENAMETOOLONG):
		// Only what a link leads to can be that, and there was none.
		return Fail(ForeignSocket, ReasonSymlink, fmt.Errorf("a link took its place while connecting (%w)", err))
	case errors.Is(err, unix.EPROTOTYPE):
		return Fail(NotASocket, ReasonNotStream, errors.New("it is not a stream socket"))
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE), errors.Is(err, unix.ENOTCONN):
		return Fail(SocketRefused, "", err)
	}
	return p.socketFailed(err)
}

// cause says why the time was up: the context knows when it was called off.
func (p *post) cause(err error) error {
	if c := context.Cause(p.ctx); c != nil && c != context.DeadlineExceeded {
		return c
	}
	return err
}

// write writes the auth line and the message line. Nothing is tried again here.
func (p *post) write(c conn) *Error {
	until := time.Now().Add(or(p.o.WriteTimeout, DefaultWriteTimeout))
	auth := appendAuth(nil, p.t.Token)
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
	if n > 0 {
		p.out.Auth = AuthOffered
	}
	switch {
	case err == nil:
		return nil
	case p.out.Sent:
		return Fail(SocketError, "", p.cause(err))
	}
	return p.unsent(err)
}

// offerAuth writes the auth line alone and gives an older session the time to
// close on it: such a session may refuse the token of a key file without a word.
func (p *post) offerAuth(c conn, auth []byte, until time.Time) *Error {
	n, err := c.write(auth, until)
	if n > 0 {
		p.out.Auth = AuthOffered
	}
	if err != nil {
		return p.unsent(err)
	}
	pause := time.Second
	if d, ok := p.ctx.Deadline(); ok {
		pause = min(pause, time.Until(d)/4)
	}
	if closed, err := c.awaitEnd(time.Now().Add(pause)); closed {
		if abandoned(p.held.Addr()) { // it has ended, which is no word on the token
			return Fail(SocketRefused, "", errors.New("it ended before the message"))
		}
		p.out.Auth = AuthRefused
		return Fail(AuthRejected, "", err)
	}
	if p.ctx.Err() != nil {
		return Fail(Timeout, "", p.cause(errDeadline))
	}
	return p.address() // the session can have changed in that pause
}

// finish learns what became of the message: first from what the session says or
// writes down, then, after the half-close, from how it closes.
func (p *post) finish(c conn) *Error {
	w := &p.watch
	w.c = c
	v, ok := w.until(p.wordBy(), false)
	if !ok && w.holds() {
		v, ok = verdict{Held, "", EvidenceReceipt}, true
	}
	if ok {
		return p.said(v)
	}
	// A session keeps the connection open until the writer half-closes: one
	// that has closed already has refused, or is gone.
	if w.closed {
		return closedEarly(w.err)
	}
	if err := unix.Shutdown(c.fd, unix.SHUT_WR); err != nil {
		return closedEarly(err)
	}
	v, ok = w.until(time.Now().Add(closeTimeout), true)
	switch {
	case ok:
		return p.said(v)
	case w.held:
		return p.said(verdict{Held, "", EvidenceReceipt})
	case !w.closed:
		return Fail(NotRead, "", p.cause(errDeadline))
	case w.err != nil:
		return closedEarly(w.err)
	}
	p.out.Evidence, p.out.Reason = EvidenceRead, w.without
	if w.reply != nil && w.reply.lost {
		p.out.Reason = ReasonReceiptLost
	}
	if p.out.MsgID == "" {
		return nil // a rename may itself have changed what Current goes by
	}
	// Addressed to one session, it must still be that one.
	p.t.SessionID = p.out.SessionID
	if _, failed := p.session(); failed != nil && errors.Is(failed, ErrChanged) {
		return Fail(ClosedAfterSend, ReasonSessionChanged, failed.Err)
	}
	return nil
}

// wordBy is when the wait for a word is over.
func (p *post) wordBy() time.Time {
	now := time.Now()
	if p.replyName == "" {
		return now
	}
	by := now.Add(or(p.o.Wait, DefaultWait))
	if end, ok := p.ctx.Deadline(); ok {
		end = end.Add(-min(closeReserve, end.Sub(now)/4))
		if end.Before(by) {
			return end
		}
	}
	return by
}

// said is the end by a word of the session's.
func (p *post) said(v verdict) *Error {
	p.out.Auth, p.out.Evidence = AuthConfirmed, v.evidence
	if v.name.Exit() != 0 {
		var limit error
		if v.name == Dropped && v.reason != "" {
			limit = errors.New(string(v.reason))
		}
		return Fail(v.name, v.reason, limit)
	}
	p.out.Name = v.name
	return nil
}

func closedEarly(err error) *Error {
	if err == nil {
		return Fail(ClosedAfterSend, ReasonClosedEarly, errors.New("it closed before the half-close"))
	}
	if !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ENOTCONN) {
		return Fail(SocketError, "", err) // no doing of the session's
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
