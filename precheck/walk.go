package precheck

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// facts is what a stat says, as far as it is of interest here.
type facts struct {
	mode     uint32 // file type and the twelve permission bits, as Unix has them
	uid      int
	owned    bool // uid is known
	dev, ino uint64
}

func (f facts) is(kind uint32) bool { return f.mode&unix.S_IFMT == kind }

// perm includes setuid, setgid and the sticky bit.
func (f facts) perm() uint32 { return f.mode & 0o7777 }

func (f facts) same(g facts) bool { return f.dev == g.dev && f.ino == g.ino }

func (f facts) kind() string {
	switch f.mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "a regular file"
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFIFO:
		return "a named pipe"
	}
	return "a device"
}

func factsOf(st *unix.Stat_t) facts {
	return facts{mode: uint32(st.Mode), uid: int(st.Uid), owned: true, dev: uint64(st.Dev), ino: uint64(st.Ino)}
}

func factsOfInfo(fi fs.FileInfo) facts {
	m := fi.Mode()
	f := facts{mode: uint32(m.Perm()) | kindBits(m)}
	for _, b := range []struct {
		mode fs.FileMode
		bit  uint32
	}{{fs.ModeSetuid, unix.S_ISUID}, {fs.ModeSetgid, unix.S_ISGID}, {fs.ModeSticky, unix.S_ISVTX}} {
		if m&b.mode != 0 {
			f.mode |= b.bit
		}
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && st != nil {
		f.uid, f.owned = int(st.Uid), true
		f.dev, f.ino = uint64(st.Dev), uint64(st.Ino)
	}
	return f
}

func kindBits(m fs.FileMode) uint32 {
	switch m.Type() {
	case 0:
		return unix.S_IFREG
	case fs.ModeDir:
		return unix.S_IFDIR
	case fs.ModeSymlink:
		return unix.S_IFLNK
	case fs.ModeSocket:
		return unix.S_IFSOCK
	case fs.ModeNamedPipe:
		return unix.S_IFIFO
	}
	return unix.S_IFCHR
}

// eintr repeats a call that a signal broke off, which network file systems
// allow for calls that are never interrupted elsewhere.
func eintr(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func lstat(path string) (facts, error) {
	var st unix.Stat_t
	if err := eintr(func() error { return unix.Lstat(path, &st) }); err != nil {
		return facts{}, err
	}
	return factsOf(&st), nil
}

func fstat(fd int) (facts, error) {
	var st unix.Stat_t
	if err := eintr(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return facts{}, err
	}
	return factsOf(&st), nil
}

// steps is how a walk moves. A walker stands in one directory; enter moves on
// into a directory, and stays where it is before anything else.
type steps interface {
	root() (facts, error)
	enter(name, path string) (facts, error) // path: the same, spelled from the root
	readlink(name, path string) (string, error)
}

// maxLinks is far more than the one or two that a system comes with (macOS:
// /tmp and /var; Linux: /var/run).
const maxLinks = 8

// walk goes from the root to dir, judges every directory on the way and
// returns where it got to: dir with the system's own links resolved.
func walk(s steps, dir string, uid int) (string, error) {
	at := "/"
	last, err := s.root()
	if err != nil {
		return "", systemError(at, err)
	}
	if err := checkDir(at, last, uid); err != nil {
		return "", err
	}
	for rest, links := dir, 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if name == "" || name == "." {
			continue
		}
		// No link is left in at, so that .. (from a link's target) is its parent.
		path := filepath.Join(at, name)
		f, err := s.enter(name, path)
		if err != nil {
			return "", systemError(path, err)
		}
		switch {
		case f.is(unix.S_IFLNK):
			if links++; links > maxLinks {
				return "", systemError(path, unix.ELOOP)
			}
			if at != "/" && at != "/var" {
				return "", refusal(DirSymlink, path, "")
			}
			if !f.owned || f.uid != 0 {
				return "", refusal(DirSymlink, path, "and it is not root's")
			}
			target, err := s.readlink(name, path)
			if err != nil {
				return "", systemError(path, err)
			}
			if strings.HasPrefix(target, "/") {
				if last, err = s.root(); err != nil {
					return "", systemError("/", err)
				}
				at = "/"
			}
			rest = target + "/" + rest
		case !f.is(unix.S_IFDIR):
			return "", systemError(path, unix.ENOTDIR)
		default:
			if err := checkDir(path, f, uid); err != nil {
				return "", err
			}
			at, last = path, f
		}
	}
	return at, checkOwnDir(at, last, uid)
}

// checkDir judges a directory on the way: whoever may write to it can swap
// what is below, so that is root and we alone, or anybody where the sticky bit
// lets them rename nothing of ours.
func checkDir(path string, f facts, uid int) error {
	switch {
	case !f.owned:
		return refusal(OwnerUnknown, path, "")
	case f.uid != 0 && f.uid != uid:
		want := "0"
		if uid != 0 {
			want += " or " + strconv.Itoa(uid)
		}
		return refusal(DirOwner, path, ownerFact(f.uid, want))
	// The group too: whoever may write into a directory may put another of our
	// own directories in the place of the next one.
	case f.mode&0o022 != 0 && f.mode&unix.S_ISVTX == 0:
		return refusal(DirMode, path, fmt.Sprintf("mode %04o, without the sticky bit", f.perm()))
	}
	return nil
}

// checkOwnDir judges the directory that the socket stands in. Whoever may
// write to it can put a socket there under a name of a process to come, hence
// ours alone, sticky or not.
func checkOwnDir(path string, f facts, uid int) error {
	switch {
	case !f.owned:
		return refusal(OwnerUnknown, path, "")
	case f.uid != uid:
		return refusal(DirOwner, path, ownerFact(f.uid, strconv.Itoa(uid)))
	case f.mode&0o022 != 0:
		return refusal(DirMode, path, fmt.Sprintf("mode %04o, want no write permission for group and others", f.perm()))
	}
	return nil
}

func checkSocket(path string, f facts, uid int) error {
	switch {
	case f.is(unix.S_IFLNK):
		return refusal(Symlink, path, "")
	case !f.is(unix.S_IFSOCK):
		return refusal(NotSocket, path, "it is "+f.kind())
	case !f.owned:
		return refusal(OwnerUnknown, path, "")
	case f.uid != uid:
		return refusal(ForeignUID, path, ownerFact(f.uid, strconv.Itoa(uid)))
	case f.perm() != 0o600:
		return refusal(Mode, path, modeFact(f, 0o600))
	}
	return nil
}

func modeFact(f facts, want uint32) string {
	return fmt.Sprintf("mode %04o, want %04o", f.perm(), want)
}
