package main

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/hook"
)

// passing takes what a command prints to where it would have gone. Reading and
// writing are apart: the end of the command is told though who reads its output
// is slow.
type passing struct {
	from, to *os.File
	tail     *hook.Stream

	chunks   chan []byte   // what was read and not written yet; closed behind the last
	finished chan struct{} // closed at the command's end
	ended    chan struct{} // closed when no more is read
	passed   chan struct{} // closed when no more is written

	backlog []byte // behind what went through chunks, which are closed before it is written
}

func newPassing(from, to *os.File, tail *hook.Stream) *passing {
	return &passing{from: from, to: to, tail: tail,
		chunks: make(chan []byte), finished: make(chan struct{}), ended: make(chan struct{}), passed: make(chan struct{})}
}

// finish is called at the command's end. What it left behind may hold the pipe
// for ever, so the time for the rest is bounded.
func (p *passing) finish() {
	_ = p.from.SetReadDeadline(time.Now().Add(drainTime))
	close(p.finished)
}

// read reads until the end of the output or the deadline for it. Then the pipe is
// closed, so that a command that goes on gets what it would have got without us:
// SIGPIPE or EPIPE.
func (p *passing) read() {
	defer close(p.ended)
	defer close(p.chunks)
	defer p.from.Close()
	for {
		buf := make([]byte, passSize)
		n, err := p.from.Read(buf)
		if n > 0 && !p.keep(buf[:n]) {
			return
		}
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				p.rest()
			}
			return
		}
	}
}

// keep has the tail and the writer take b, and reports whether there is room for more.
func (p *passing) keep(b []byte) bool {
	_, _ = p.tail.Write(b)
	if len(p.backlog) == 0 {
		select {
		case p.chunks <- b:
			return true
		case <-p.passed: // it can't be written any more
			return false
		case <-p.finished:
		}
	}
	p.backlog = append(p.backlog, b...)
	return len(p.backlog) < pipeSize
}

// rest takes what the pipe holds at the deadline: the command's own words may be
// among it.
func (p *passing) rest() {
	raw, err := p.from.SyscallConn()
	if err != nil || p.from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for left := pipeSize; left > 0; {
		buf, n := make([]byte, min(left, passSize)), 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf)
			return true
		})
		if err != nil || n <= 0 || !p.keep(buf[:n]) {
			return
		}
		left -= n
	}
}

// write writes all that was read. That nobody reads any more is the command's
// affair, as it would be without us; any other failure would pass unseen.
func (p *passing) write(a *app) {
	defer close(p.passed)
	for chunk := range p.chunks {
		if err := writeAll(p.to, chunk); err != nil {
			p.lost(a, err)
			return
		}
	}
	if err := writeAll(p.to, p.backlog); err != nil {
		p.lost(a, err)
	}
}

func (p *passing) lost(a *app, err error) {
	if !errors.Is(err, syscall.EPIPE) {
		a.ui.warn("the command's output can't be passed on: " + err.Error())
	}
}

// awaitRoom waits until a write would not block.
func awaitRoom(to *os.File) error {
	raw, err := to.SyscallConn() // Fd could make it blocking for everyone who shares it
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) {
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
	})
}

// writeAll writes to a descriptor that others may have made non-blocking: the
// command's standard input can be the same terminal.
func writeAll(to *os.File, b []byte) error {
	for len(b) > 0 {
		n, err := to.Write(b)
		b = b[n:]
		switch {
		case errors.Is(err, syscall.EAGAIN):
			if err := awaitRoom(to); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	return nil
}
