package inbox

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// errDeadline says that a wait ran out. It is context.DeadlineExceeded by a
// name that says what happened.
var errDeadline error = deadlineError{}

type deadlineError struct{}

func (deadlineError) Error() string        { return "the deadline passed" }
func (deadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

const (
	// slice is the longest single wait: a context that is cancelled is seen
	// within this time.
	slice = 20 * time.Millisecond

	// backlogPause is between two tries at a full backlog, which no poll reports.
	backlogPause = 2 * time.Millisecond
)

// conn is a non-blocking stream socket. It is the program's own and not net's,
// because the small binary does without that package, and because the peer's
// credentials and the half-close lie at hand here.
type conn struct {
	fd  int
	ctx context.Context
}

// left is the time until then, or until the context's deadline; nothing is left
// once the context is done.
func (c conn) left(until time.Time) time.Duration {
	if c.ctx.Err() != nil {
		return 0
	}
	if d, ok := c.ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	return time.Until(until)
}

// wait polls for events until the time is up or the context is done. Errors
// and hang-ups of the socket count as ready: the next read or write names them.
func (c conn) wait(events int16, until time.Time) error {
	for {
		left := c.left(until)
		if left <= 0 {
			return errDeadline
		}
		fds := []unix.PollFd{{Fd: int32(c.fd), Events: events}}
		n, err := unix.Poll(fds, pollTime(min(left, slice)))
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err != nil:
			return err
		case n > 0:
			return nil
		}
	}
}

// connect dials a path. A full backlog (EAGAIN) is tried again until the time is up.
func (c conn) connect(path string, until time.Time) error {
	for {
		err := unix.Connect(c.fd, &unix.SockaddrUnix{Name: path})
		switch err {
		case nil, unix.EISCONN:
			return nil
		case unix.EINTR:
		case unix.EINPROGRESS, unix.EALREADY:
			if err := c.wait(unix.POLLOUT, until); err != nil {
				return err
			}
			soErr, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
			if err != nil {
				return err
			}
			if soErr != 0 {
				return unix.Errno(soErr)
			}
			return nil
		case unix.EAGAIN:
			if c.left(until) <= 0 {
				return errors.Join(errDeadline, err)
			}
			time.Sleep(backlogPause)
		default:
			return err
		}
	}
}

// write writes all of b and gives the number of bytes that the system took.
// Once the time is up not another byte leaves.
func (c conn) write(b []byte, until time.Time) (int, error) {
	n := 0
	for n < len(b) {
		if c.left(until) <= 0 {
			return n, errDeadline
		}
		m, err := unix.Write(c.fd, b[n:])
		if m > 0 {
			n += m
			continue
		}
		switch err {
		case unix.EINTR:
		case unix.EAGAIN:
			if err := c.wait(unix.POLLOUT, until); err != nil {
				return n, err
			}
		default:
			return n, err
		}
	}
	return n, nil
}

// ended takes what has come and reports whether the peer has closed, and how:
// nil is a clean end of file. A session writes nothing on this connection;
// whatever comes is dropped. unread is an end of file from a peer that has not
// read everything, as far as is known: it has shut down its side only, and may
// still read the rest, or close without.
func (c conn) ended() (closed, unread bool, err error) {
	var buf [512]byte
	// A peer that never stops writing must not keep us here.
	for range 16 {
		n, err := unix.Read(c.fd, buf[:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return false, false, nil
		case err != nil:
			return true, false, err
		case n == 0:
			if !allRead(c.fd) {
				return false, true, nil
			}
			// Again: a close with bytes unread throws them away after it has
			// left the reset to be read.
			_, err := unix.Read(c.fd, buf[:])
			for err == unix.EINTR {
				_, err = unix.Read(c.fd, buf[:])
			}
			return true, false, err
		}
	}
	return false, false, nil
}

// awaitEnd waits for the peer to close, which the result tells as ended does.
func (c conn) awaitEnd(until time.Time) (bool, error) {
	for {
		// With the auth line alone, an end of file is a refusal either way.
		if closed, unread, err := c.ended(); closed || unread {
			return true, err
		}
		if err := c.wait(unix.POLLIN, until); err != nil {
			return false, nil
		}
	}
}

// pollTime is a time for poll(2), rounded up so that less than a millisecond
// doesn't spin.
func pollTime(d time.Duration) int { return int((d + time.Millisecond - 1) / time.Millisecond) }
