package inbox

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/precheck"
)

// tick is how often a transcript is looked at.
const tick = 5 * time.Millisecond

// watch is what may tell what became of a message: the connection it was
// written to, the reply socket, and the transcript. The last two can be nil.
type watch struct {
	c           conn
	peer        precheck.Cred // the session's process
	reply       *replySocket
	rows        *transcript
	msgID       string
	trust       func(fd int) error // nil: who connected to reply is that process
	gone        func() bool        // whether nobody listens at the inbox any more
	heldIsFinal bool
	without     Reason // why there is no reply socket

	held   bool
	closed bool  // the session closed the connection
	unread bool  // it has shut down its side, and not read everything
	err    error // the way it closed, nil for a clean end of file
}

// until watches until a final word, until the time is up, or, where that is
// asked for, until the session has closed. It reports the word, if there is one.
func (w *watch) until(t time.Time, stopAtClose bool) (verdict, bool) {
	for {
		if !w.closed {
			w.closed, w.unread, w.err = w.c.ended()
			// A receipt may still come; one that is there comes soon.
			if soon := time.Now().Add(DefaultWait); w.closed && !w.holds() && soon.Before(t) {
				t = soon
			}
		}
		if v, ok := w.word(); ok {
			return v, true
		}
		if w.closed && stopAtClose || w.closed && w.reply == nil {
			return verdict{}, false
		}
		left := w.c.left(t)
		if left <= 0 {
			return verdict{}, false
		}
		w.pause(min(left, slice))
	}
}

// word takes what has come and reports a final word among it.
func (w *watch) word() (v verdict, final bool) {
	if w.reply == nil {
		return v, false
	}
	w.reply.accept(w.trust)
	w.reply.read(func(line []byte) {
		r, ok := readReceipt(line, w.msgID)
		switch {
		case !ok || final:
		case r.name == Held && !w.heldIsFinal:
			w.held = true
		default:
			v, final = r, true
		}
	})
	// A drop is told by a receipt and leaves no row, so the receipt goes first. A
	// held message is released by a receipt: a row is another one's of the same
	// text, and so it may be where the address has been taken over.
	if !final && !w.held && w.rows != nil && !w.reply.lost && w.rows.took() && w.reply.ours() && w.readWhole() {
		return verdict{Queued, "", EvidenceTranscript}, true
	}
	return v, final
}

// readWhole reports whether the session has read all that was written: where it
// hasn't, a row of this text is that of another post, which took no reply address.
func (w *watch) readWhole() bool {
	// In this order: a close throws away what is unread once it has left the
	// reset to be read.
	if !allRead(w.c.fd) {
		return false
	}
	if !w.closed {
		w.closed, w.unread, w.err = w.c.ended()
	}
	return w.err == nil
}

// holds reports whether the session still holds the message. One that closed
// the connection may have ended, and lost it.
func (w *watch) holds() bool { return w.held && !(w.closed && w.gone()) }

// pause waits until there may be something new.
func (w *watch) pause(d time.Duration) {
	var fds []unix.PollFd
	switch {
	case w.unread: // a poll would report the end of file without end
		d = min(d, tick)
	case !w.closed:
		fds = append(fds, unix.PollFd{Fd: int32(w.c.fd), Events: unix.POLLIN})
	}
	if w.reply != nil {
		if w.reply.lost { // a poll may report without end what can't be accepted
			d = min(d, tick)
		} else {
			fds = append(fds, unix.PollFd{Fd: int32(w.reply.fd), Events: unix.POLLIN})
		}
		for _, c := range w.reply.replies {
			fds = append(fds, unix.PollFd{Fd: int32(c.fd), Events: unix.POLLIN})
		}
	}
	if w.rows != nil && !w.rows.off {
		d = min(d, tick)
	}
	if _, err := unix.Poll(fds, pollTime(d)); err != nil && err != unix.EINTR {
		time.Sleep(min(d, tick))
	}
}

// receive prepares what can tell what became of the message, before it is
// written. Where no reply socket can be bound there is no watch on the transcript
// either: only while this process alone has it can a row there be told from
// another sender's of the same text.
func (p *post) receive() *Error {
	w := &p.watch
	w.msgID, w.heldIsFinal = p.out.MsgID, p.o.HeldIsFinal
	if p.replyName == "" {
		return nil
	}
	if p.o.OnBind != nil {
		p.o.OnBind()
	}
	w.gone = func() bool { return abandoned(p.held.Addr()) }
	reply, err := bindReply(p.held, p.replyName)
	if err != nil {
		w.without = ReasonNoReplySocket
		if errors.Is(err, errTaken) {
			w.without = ReasonReplyTaken
		}
		p.from, p.encoded = "", nil
		return p.encode(p.out.SessionID)
	}
	w.reply = reply
	uid := p.o.precheck().OwnUID()
	w.trust = func(fd int) error {
		cred, err := p.peer(fd)
		if err != nil {
			return err
		}
		return precheck.Peer(cred, uid, w.peer.PID)
	}
	if p.t.Projects != "" && p.out.SessionID != "" {
		w.rows = watchTranscript(p.t.Projects, p.t.Cwd, p.out.SessionID, p.content, p.o.UID)
	}
	return nil
}

// close ends the watch and removes the reply socket.
func (w *watch) close() {
	if w.reply != nil {
		w.reply.close()
	}
	if w.rows != nil {
		w.rows.close()
	}
}
