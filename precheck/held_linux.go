package precheck

import (
	"errors"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// hold judges path with the directory that was last entered held open, so that
// a rename on the way can't lead elsewhere. errors.ErrUnsupported: it can't be
// done for this path, or not on this system.
func hold(path string, o Options) (*Held, error) {
	s := &fdSteps{fd: -1}
	h, err := holdWith(s, path, o)
	if err != nil {
		s.close()
	}
	return h, err
}

func holdWith(s *fdSteps, path string, o Options) (*Held, error) {
	uid := o.OwnUID()
	if _, err := walk(s, filepath.Dir(path), uid); err != nil {
		return nil, err
	}
	fdDir := o.fdDir
	if fdDir == "" {
		fdDir = "/proc/self/fd"
	}
	name := filepath.Base(path)
	addr := fdDir + "/" + strconv.Itoa(s.fd) + "/" + name
	if len(addr) > MaxSocketPath {
		return nil, errors.ErrUnsupported
	}
	// The same string that will be connected: what leads it astray is seen here.
	sock, err := lstat(addr)
	if err != nil {
		// Is it the socket that is missing, or /proc?
		if _, err = fstatat(s.fd, name); err == nil {
			return nil, errors.ErrUnsupported
		}
		return nil, systemError(path, err)
	}
	if err := checkSocket(path, sock, uid); err != nil {
		return nil, err
	}
	return &Held{path: path, addr: addr, fd: s.fd, sock: sock, o: o}, nil
}

// fdSteps walks from one open directory to the next. O_PATH needs no read
// permission, only search permission on the way.
type fdSteps struct{ fd int }

func (s *fdSteps) root() (facts, error)                { return s.open(unix.AT_FDCWD, "/") }
func (s *fdSteps) enter(name, _ string) (facts, error) { return s.open(s.fd, name) }

func (s *fdSteps) open(at int, name string) (facts, error) {
	// O_DIRECTORY also makes an automounter mount what the path leads to.
	var fd int
	err := eintr(func() (err error) {
		fd, err = unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err == unix.ENOTDIR || err == unix.ELOOP {
		// A link, or a file. A directory by now: somebody is swapping things.
		f, err := fstatat(at, name)
		if err == nil && f.is(unix.S_IFDIR) {
			err = unix.ENOTDIR
		}
		return f, err
	}
	if err != nil {
		return facts{}, err
	}
	s.close()
	s.fd = fd
	return fstat(fd)
}

func (s *fdSteps) readlink(name, _ string) (string, error) {
	buf := make([]byte, unix.PathMax)
	var n int
	err := eintr(func() (err error) {
		n, err = unix.Readlinkat(s.fd, name, buf)
		return err
	})
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func (s *fdSteps) close() {
	if s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
}

func fstatat(at int, name string) (facts, error) {
	var st unix.Stat_t
	err := eintr(func() error { return unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return facts{}, err
	}
	return factsOf(&st), nil
}
