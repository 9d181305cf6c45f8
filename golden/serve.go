package golden

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxLine is the longest line that a session takes, newline not counted, in
// UTF-16 units (PROTOCOL.md, "Writing").
const maxLine = 1_048_576

func (s *Session) accept() {
	raw, err := s.listener.SyscallConn()
	if err != nil {
		s.fail(err)
		return
	}
	for {
		var fd int
		var acceptErr error
		err := raw.Read(func(listener uintptr) bool {
			fd, acceptErr = acceptSocket(int(listener))
			return acceptErr != unix.EAGAIN
		})
		switch {
		case err != nil: // Close has closed the listener
			return
		case acceptErr == unix.EINTR, acceptErr == unix.ECONNABORTED:
			continue
		case acceptErr != nil:
			s.fail(os.NewSyscallError("accept", acceptErr))
			return
		}
		sender, known := peerPID(fd)
		conn := os.NewFile(uintptr(fd), "connection to "+s.path)
		if s.cfg.Front != nil {
			conn = s.cfg.Front(conn)
		}
		if !s.adopt(conn) {
			return
		}
		s.spawn(func() {
			defer s.leave(conn)
			s.serve(conn, peer{sender, known})
		})
	}
}

// adopt puts conn among those that Close closes; false after Close.
func (s *Session) adopt(conn *os.File) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.Close()
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *Session) leave(conn *os.File) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	conn.Close()
}

func (s *Session) serve(conn *os.File, sender peer) {
	switch s.cfg.Behaviour {
	case StopReading:
		<-s.done
	case CloseUnread:
		awaitBytes(conn)
	case ShutUnread:
		awaitBytes(conn)
		if raw, err := conn.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
		}
		<-s.done
	case NeverClose:
		s.read(conn, sender)
		<-s.done
	default:
		s.read(conn, sender)
	}
}

// awaitBytes returns when conn has something to read, and leaves it there.
func awaitBytes(conn *os.File) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK)
		return err != unix.EAGAIN && err != unix.EINTR
	})
}

// read takes lines until the writer has half-closed, the first line is late, a
// line is too long, or the Behaviour says to close.
func (s *Session) read(conn *os.File, sender peer) {
	if s.cfg.Behaviour != NeverClose {
		_ = conn.SetReadDeadline(time.Now().Add(s.cfg.firstLine))
	}
	var pending []byte
	first := true
	chunk := make([]byte, 64<<10)
	for {
		n, err := conn.Read(chunk)
		for data := chunk[:n]; len(data) > 0; {
			end := bytes.IndexByte(data, '\n')
			if end < 0 {
				pending = append(pending, data...)
				break
			}
			line := append(pending, data[:end]...)
			pending, data = nil, data[end+1:]
			_ = conn.SetReadDeadline(time.Time{})
			if tooLong(line) || !s.take(line, first, sender) {
				return
			}
			first = false
		}
		if tooLong(pending) {
			return
		}
		if err != nil {
			if errors.Is(err, io.EOF) && len(pending) > 0 {
				s.take(pending, first, sender)
			}
			return
		}
	}
}

func tooLong(line []byte) bool {
	return len(line) > maxLine && utf16Len(line) > maxLine
}

// utf16Len counts as the session does. A character cut off at the end, where
// the rest may still be on its way, isn't counted.
func utf16Len(text []byte) int {
	n := 0
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		n += utf16.RuneLen(r)
		text = text[size:]
	}
	return n
}
