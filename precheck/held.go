package precheck

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Held is a socket that [Path] vouches for. On Linux it holds the socket's
// directory open, so that whatever becomes of the path, [Held.Addr] leads to
// the very directory that was judged. It is not for use by several goroutines
// at once.
type Held struct {
	path string // as it was given
	addr string
	fd   int // the directory; -1: not held, addr is a plain path
	sock facts
	o    Options
}

// Addr is the path to connect to. It means nothing after Close.
func (h *Held) Addr() string { return h.addr }

// DirAddr is the directory of Addr, to bind a socket beside the target. It
// means nothing after Close.
func (h *Held) DirAddr() string { return filepath.Dir(h.addr) }

// Dir is the directory of the socket as the path was spelled.
func (h *Held) Dir() string { return filepath.Dir(h.path) }

// Recheck is for after the connect. Where the address is a plain path the
// socket may have been swapped since it was judged, so everything is judged
// once more, and must be the same socket ([Missing] if it is another one).
// Where the directory is held it has nothing to do.
func (h *Held) Recheck() error {
	if h.fd >= 0 {
		return nil
	}
	now, err := byPath(h.path, h.o)
	if err != nil {
		return err
	}
	if !now.sock.same(h.sock) {
		return refusal(Missing, h.path, "another socket took its place while connecting")
	}
	return nil
}

// Close lets go of the directory. A second Close does nothing.
func (h *Held) Close() error {
	if h.fd < 0 {
		return nil
	}
	fd := h.fd
	h.fd = -1
	return unix.Close(fd)
}

// byPath judges by path alone: where directories can't be held, and where an
// injected Stat answers.
func byPath(path string, o Options) (*Held, error) {
	s := pathSteps{stat: lstat, link: o.readlink}
	if o.Stat != nil {
		s.stat = func(path string) (facts, error) {
			fi, err := o.Stat(path)
			if err != nil {
				return facts{}, err
			}
			return factsOfInfo(fi), nil
		}
	}
	if s.link == nil {
		s.link = os.Readlink
	}
	uid := o.OwnUID()
	dir, err := walk(s, filepath.Dir(path), uid)
	if err != nil {
		return nil, err
	}
	// The path without links is the one that was walked; only macOS's /private
	// can make it too long for an address that fits as it was spelled.
	addr := filepath.Join(dir, filepath.Base(path))
	if len(addr) > MaxSocketPath {
		addr = path
	}
	sock, err := s.stat(addr)
	if err != nil {
		return nil, systemError(path, err)
	}
	if err := checkSocket(path, sock, uid); err != nil {
		return nil, err
	}
	return &Held{path: path, addr: addr, fd: -1, sock: sock, o: o}, nil
}

type pathSteps struct {
	stat func(string) (facts, error)
	link func(string) (string, error)
}

func (s pathSteps) root() (facts, error)                    { return s.stat("/") }
func (s pathSteps) enter(_, path string) (facts, error)     { return s.stat(path) }
func (s pathSteps) readlink(_, path string) (string, error) { return s.link(path) }
