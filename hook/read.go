package hook

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// firstRead takes nearly every event in one read and costs a hook nothing;
	// beyond it the buffer doubles.
	firstRead = 16 << 10

	// slice is how long one poll may last, so that a cancelled context is
	// noticed. A goroutine with a pipe of its own would cost more than a hook's
	// whole reading.
	slice = 20 * time.Millisecond

	// AfterValue is how long Drain need wait for more after a whole value. Claude
	// Code closes the pipe right after writing, and a writer who holds it open and
	// says nothing shall not cost a hook its whole budget.
	AfterValue = 50 * time.Millisecond

	// Midway is how long it waits where more must come, or nothing has come yet:
	// on a busy machine a writer of 20 MB can be off its processor for a tenth of
	// a second, and has to be started first.
	Midway = 500 * time.Millisecond
)

// errQuiet is the end of a patience that was shorter than the context.
var errQuiet = errors.New("quiet")

// Read takes an event from in, up to the end of the input or of the first
// complete JSON value, whichever comes first: a writer may keep the pipe open.
// A byte-order mark and white space before it are dropped. What Read returns is
// a value by its brackets only; Parse says whether it is JSON, and an object.
//
// An in with a descriptor (an *os.File, blocking or not, or a connection) is
// polled until the context is done. Any other reader is trusted to return.
//
// Every error is an *Error. On TooLarge and TooDeep the rest has been drained,
// as by Drain; otherwise that is left to the caller, after posting.
func Read(ctx context.Context, in io.Reader) ([]byte, error) {
	src, err := open(in)
	if err != nil {
		return nil, &Error{NoInput, err}
	}
	var s scan
	buf := make([]byte, 0, firstRead)
	for {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(2*cap(buf), MaxBytes+1))
			copy(grown, buf)
			buf = grown
		}
		n, err := src.read(ctx, buf[len(buf):cap(buf)], 0)
		buf = buf[:len(buf)+n]
		s.feed(buf)
		switch {
		case s.state == deep:
			src.drain(ctx, Midway)
			return nil, errTooDeep()
		case s.at > MaxBytes:
			size := int64(len(buf))
			buf = nil
			rest, eof := src.drain(ctx, Midway)
			return nil, tooLarge(size+rest, eof)
		case s.state == whole:
			return buf[s.start:s.at:s.at], nil
		case err == nil:
			continue
		case err == io.EOF:
			err = nil
		}
		if err := s.end(err); err != nil {
			return nil, err
		}
		return buf[s.start:s.at:s.at], nil
	}
}

// Drain reads and discards what is left of in, so that its writer never sees
// EPIPE, until the end, until the context is done, or until nothing has come for
// as long as patience (Midway, once something has). It needs 64 KiB however much
// there is.
func Drain(ctx context.Context, in io.Reader, patience time.Duration) {
	if src, err := open(in); err == nil {
		src.drain(ctx, patience)
	}
}

// input is standard input, by its descriptor where it has one.
type input struct {
	conn   syscall.RawConn
	reader io.Reader
}

func open(in io.Reader) (input, error) {
	switch in := in.(type) {
	case nil:
		return input{}, errors.New("there is none")
	case syscall.Conn:
		// Not Fd(), which makes the descriptor blocking for everyone who shares it.
		conn, err := in.SyscallConn()
		return input{conn: conn}, err
	default:
		return input{reader: in}, nil
	}
}

// read is one read of at least a byte, or an error: io.EOF, the context's,
// errQuiet after patience (0: none but the context's), or the system's.
func (in input) read(ctx context.Context, p []byte, patience time.Duration) (n int, err error) {
	if in.conn == nil {
		for n == 0 && err == nil {
			if err = ctx.Err(); err == nil {
				n, err = in.reader.Read(p)
			}
		}
		return n, err
	}
	if cerr := in.conn.Control(func(fd uintptr) { n, err = readFD(ctx, int(fd), p, patience) }); cerr != nil {
		return 0, cerr
	}
	return n, err
}

func readFD(ctx context.Context, fd int, p []byte, patience time.Duration) (int, error) {
	for {
		if err := poll(ctx, fd, patience); err != nil {
			return 0, err
		}
		n, err := unix.Read(fd, p)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			// EAGAIN: another reader of a shared descriptor was faster.
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// poll waits until a read of fd would not block. Errors and hang-ups count:
// the read names them. So does POLLNVAL, macOS's answer for some devices.
func poll(ctx context.Context, fd int, patience time.Duration) error {
	deadline, bounded := ctx.Deadline()
	var quiet time.Time
	if patience > 0 {
		quiet = time.Now().Add(patience)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		wait := slice
		if bounded {
			left := time.Until(deadline)
			if left <= 0 {
				return context.DeadlineExceeded
			}
			wait = min(wait, left)
		}
		if patience > 0 {
			left := time.Until(quiet)
			if left <= 0 {
				return errQuiet
			}
			wait = min(wait, left)
		}
		// Rounded up: a poll of 0 ms would spin through the last one.
		ms := int((wait + time.Millisecond - 1) / time.Millisecond)
		fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds[:], ms)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err != nil:
			return err
		case n > 0:
			return nil
		}
	}
}

// drain says how much it discarded and whether it came to the end.
func (in input) drain(ctx context.Context, patience time.Duration) (size int64, eof bool) {
	buf := make([]byte, 64<<10) // what a pipe holds
	for {
		n, err := in.read(ctx, buf, patience)
		size += int64(n)
		if err != nil {
			return size, err == io.EOF
		}
		patience = Midway
	}
}
