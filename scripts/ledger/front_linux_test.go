package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// tapeSize is more than a poster writes: the longest line, and an auth line.
const tapeSize = 2 << 20

// unread is what the name of a file has behind its tape's: what arrived and was
// not read when the session closed.
const unread = ".unread"

// fault is what goes wrong with one connection.
type fault string

const (
	noFault    fault = ""
	slow       fault = "slow"       // reads a little at a time
	stall      fault = "stall"      // reads nothing for a while
	hang       fault = "hang"       // reads nothing, ever
	reset      fault = "reset"      // closes with bytes unread
	closeEarly fault = "closeEarly" // closes before the half-close
	shut       fault = "shut"       // shuts down its side, and reads on or does not
	neverClose fault = "neverClose" // reads everything and doesn't close
)

var faults = []fault{slow, stall, hang, reset, closeEarly, shut, neverClose}

// front stands between a session and those who post to it.
type front struct {
	o    orders
	done chan struct{} // closed when the session ends
	last chan struct{} // closed once the front's own connection was taken
	open sync.WaitGroup
	n    int

	mu     sync.Mutex
	failed error
}

func newFront(o orders) *front {
	return &front{o: o, done: make(chan struct{}), last: make(chan struct{})}
}

// end returns once all who connected were taken. They are taken in their order,
// so it connects itself: by the socket's second name, should it have lost the
// first.
func (f *front) end() error {
	close(f.done)
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", f.o.second())
		if err == nil {
			defer conn.Close()
			break
		}
		if !errors.Is(err, unix.EAGAIN) || time.Now().After(until) {
			return err
		}
	}
	select {
	case <-f.last:
		return nil
	case <-time.After(patience):
		return errors.New("it took no connection any more")
	}
}

func (f *front) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = errors.Join(f.failed, err)
}

func (f *front) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// take is golden.Config.Front: the session reads what the front lets through.
func (f *front) take(real *os.File) *os.File {
	f.n++
	if pid, err := peerOf(real); err == nil && pid == os.Getpid() {
		close(f.last)
		return real
	}
	rng := f.rng(strconv.Itoa(f.n))
	if rng.Float64() < f.o.Pauses {
		select {
		case <-f.done:
		case <-time.After(time.Duration(50+rng.IntN(600)) * time.Millisecond):
		}
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		panic(err) // which is the session's error
	}
	c := &connection{real: real, session: os.NewFile(uintptr(fds[0]), "front"), rng: rng}
	if err := c.openTape(f.o.tapes(), f.n); err != nil {
		panic(err)
	}
	if rng.Float64() < f.o.Faults {
		c.fault = faults[rng.IntN(len(faults))]
	}
	f.open.Add(1)
	go func() {
		defer f.open.Done()
		if err := c.serve(); err != nil {
			f.fail(err)
		}
	}()
	return os.NewFile(uintptr(fds[1]), "session")
}

// connection is one poster's, and what was read from it.
type connection struct {
	real    *os.File // the poster is at its other end
	session *os.File // the session is
	rng     *rand.Rand
	fault   fault

	file *os.File
	tape []byte
	n    int // of which this many bytes are written

	ended bool // the poster has half-closed
}

func (c *connection) openTape(dir string, n int) error {
	pid, err := peerOf(c.real)
	if err != nil {
		return err
	}
	if c.file, err = os.OpenFile(filepath.Join(dir, fmt.Sprintf("%d-%d", n, pid)), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err := c.file.Truncate(tapeSize); err != nil {
		return err
	}
	c.tape, err = unix.Mmap(int(c.file.Fd()), 0, tapeSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return err
}

// peerOf is the process at the other end.
func peerOf(conn *os.File) (pid int, err error) {
	err = control(conn, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			pid = int(cred.Pid)
		}
		return err
	})
	return pid, err
}

// control calls f with the descriptor of conn, which stays as it is.
func control(conn *os.File, f func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	cerr := raw.Control(func(fd uintptr) { err = f(int(fd)) })
	return errors.Join(err, cerr)
}

// serve ends with the connection closed and its tape whole.
func (c *connection) serve() error {
	over := make(chan struct{}) // the session has closed
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, c.session)
		_ = c.real.SetReadDeadline(time.Unix(1, 0))
	}()
	pause := func(most int) {
		select {
		case <-over:
		case <-time.After(time.Duration(c.rng.IntN(most)+1) * time.Millisecond):
		}
	}
	switch c.fault {
	case noFault:
		c.readOn()
		<-over
	case neverClose:
		c.read(tapeSize)
		<-over
	case slow:
		chunk := []int{64, 700, 64 << 10}[c.rng.IntN(3)]
		for range 20 + c.rng.IntN(200) {
			if _, err := c.once(chunk); err != nil {
				break
			}
			pause(3)
		}
		c.readOn()
		<-over
	case stall:
		pause(500)
		c.readOn()
		<-over
	case hang:
		<-over
	case reset:
		c.readSome()
		c.peek(make([]byte, 1))
	case closeEarly:
		c.readSome()
	case shut:
		c.readSome()
		_ = control(c.real, func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
		switch c.rng.IntN(3) {
		case 0:
			pause(100)
			c.readOn()
		case 1:
			<-over
		}
	}
	return c.close()
}

// once reads at most this many bytes, and lets the session have them.
func (c *connection) once(most int) (int, error) {
	n, err := c.real.Read(c.tape[c.n:min(tapeSize, c.n+most)])
	c.ended = err == io.EOF
	_, _ = c.session.Write(c.tape[c.n : c.n+n]) // it may have closed
	c.n += n
	return n, err
}

// read reads this many bytes, or to the poster's half-close or the session's end.
func (c *connection) read(want int) (eof bool) {
	for want = min(want, tapeSize-c.n); want > 0; {
		n, err := c.once(want)
		if err != nil {
			return err == io.EOF
		}
		want -= n
	}
	return false
}

// readOn reads to the half-close, and passes that on.
func (c *connection) readOn() {
	if c.read(tapeSize) {
		c.halfClose()
	}
}

// readSome is what is read before a fault: nothing, a part or all of the auth
// line, a part or all of the message.
func (c *connection) readSome() {
	switch c.rng.IntN(6) {
	case 0:
	case 1:
		c.read(c.rng.IntN(63))
	case 2:
		c.readLines(1)
	case 3:
		c.readLines(2)
	case 4:
		c.read(64 + c.rng.IntN(200))
	case 5:
		c.read(c.rng.IntN(20 << 10))
	}
}

// readLines reads this many lines, and nothing behind them.
func (c *connection) readLines(n int) {
	next := make([]byte, 64<<10)
	for bytes.Count(c.tape[:c.n], []byte{'\n'}) < n {
		there := next[:c.peek(next)]
		want := len(there)
		if end := bytes.IndexByte(there, '\n'); end >= 0 {
			want = end + 1
		}
		if want == 0 || c.read(want) {
			return
		}
	}
}

func (c *connection) halfClose() {
	_ = control(c.session, func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
}

// peek waits until there is something to read, or nothing more will come, and
// leaves it there.
func (c *connection) peek(b []byte) (n int) {
	raw, err := c.real.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Read(func(fd uintptr) bool {
		var err error
		n, _, err = unix.Recvfrom(int(fd), b, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	return max(n, 0)
}

// close closes, once it has seen what it leaves unread. Nothing more can come
// then: the side that reads is shut first.
func (c *connection) close() error {
	var left []byte
	err := control(c.real, func(fd int) error {
		_ = unix.Shutdown(fd, unix.SHUT_RD) // the poster may be gone
		n, err := unix.IoctlGetInt(fd, unix.SIOCINQ)
		if err != nil || n == 0 {
			return err
		}
		left = make([]byte, n)
		n, _, err = unix.Recvfrom(fd, left, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err == nil && n < len(left) {
			err = fmt.Errorf("saw %d of %d bytes that are left", n, len(left))
		}
		return err
	})
	if len(left) > 0 {
		err = errors.Join(err, os.WriteFile(c.file.Name()+unread, left, 0o600))
	}
	err = errors.Join(err, unix.Munmap(c.tape), c.file.Truncate(int64(c.n)), c.file.Close())
	if len(left) == 0 && c.n == 0 {
		err = errors.Join(err, os.Remove(c.file.Name()))
	}
	_ = c.real.Close()
	if !c.ended {
		// A session takes an unfinished line at the poster's half-close alone.
		_, _ = io.WriteString(c.session, "!")
	}
	_ = c.session.Close()
	return err
}

// arrival is one connection as its session saw it.
type arrival struct {
	pid  int    // the poster's
	read []byte // by the session's process
	left []byte // arrived, and was not read
}

// arrivals reads the tapes of a session that has ended.
func arrivals(o orders) (out []arrival, err error) {
	files, err := os.ReadDir(o.tapes())
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var n int
		var a arrival
		path := filepath.Join(o.tapes(), file.Name())
		if _, err := fmt.Sscanf(file.Name(), "%d-%d", &n, &a.pid); err != nil {
			return nil, err
		}
		if filepath.Ext(path) == unread {
			continue
		}
		if a.read, err = os.ReadFile(path); err != nil {
			return nil, err
		}
		// A tape of a session that was killed is longer than what is on it.
		if end := bytes.IndexByte(a.read, 0); end >= 0 {
			a.read = a.read[:end]
		}
		if a.left, err = os.ReadFile(path + unread); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if len(a.read)+len(a.left) > 0 {
			out = append(out, a)
		}
	}
	return out, nil
}
