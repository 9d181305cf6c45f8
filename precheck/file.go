package precheck

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FileOptions says what a file or a directory is held to. The zero value asks
// for an owner, the effective user, and for nothing else.
type FileOptions struct {
	UID    *int        // nil: the effective user
	Forbid fs.FileMode // permission bits that must not be set: 0o022 for a record
	Exact  fs.FileMode // if not 0, the permission bits, no more and no less: 0o600 for a key
}

// OpenFile opens a regular file of ours for reading. A link in the last place
// is refused, links on the way are followed (a home may have them); nothing
// else than a regular file is waited for or touched.
func OpenFile(path string, o FileOptions) (*os.File, error) {
	fd, _, err := openFile(path, o)
	if err != nil {
		return nil, err
	}
	// Else os.NewFile would set up the runtime's poller, in vain for a regular
	// file and at some cost to a process that lives for a millisecond.
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, systemError(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// ReadFile reads a regular file of ours that is at most max bytes long
// ([TooLarge] otherwise). A file that grows meanwhile is not read further than
// one byte beyond.
func ReadFile(path string, max int64, o FileOptions) ([]byte, error) {
	fd, size, err := openFile(path, o)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	tooLarge := func() error { return refusal(TooLarge, path, fmt.Sprintf("more than %d bytes", max)) }
	if size > max {
		return nil, tooLarge()
	}
	// One byte more than expected, to see the end; /proc's files say size 0.
	b := make([]byte, 0, min(size, max)+1)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		room := b[len(b):cap(b)]
		if left := max - int64(len(b)); int64(len(room)) > left {
			room = room[:left+1]
		}
		var n int
		err := eintr(func() (err error) {
			n, err = unix.Read(fd, room)
			return err
		})
		if err != nil {
			return nil, systemError(path, err)
		}
		if n <= 0 {
			return b, nil
		}
		if b = b[:len(b)+n]; int64(len(b)) > max {
			return nil, tooLarge()
		}
	}
}

// OpenDir opens a directory that is ours and that nobody else may write to,
// whatever o.Forbid says. Links are followed, in the last place too: many keep
// their configuration elsewhere. What they lead to is judged.
func OpenDir(path string, o FileOptions) (*os.File, error) {
	fd, err := openDir(path, o)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Dir is OpenDir for who only wants to know.
func Dir(path string, o FileOptions) error {
	fd, err := openDir(path, o)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func openDir(path string, o FileOptions) (fd int, err error) {
	if err := o.judge(path); err != nil {
		return -1, err
	}
	if fd, err = open(path, unix.O_DIRECTORY); err != nil {
		return -1, systemError(path, err)
	}
	f, err := fstat(fd)
	if err != nil {
		err = systemError(path, err)
	} else if err = checkOwnDir(path, f, ownUID(o.UID)); err == nil {
		err = o.checkMode(path, f, DirMode)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func openFile(path string, o FileOptions) (fd int, size int64, err error) {
	if err := o.judge(path); err != nil {
		return -1, 0, err
	}
	// O_NONBLOCK: opening a pipe must not wait for its writer. O_NOCTTY: a
	// terminal must not become ours.
	fd, err = open(path, unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		// Systems disagree on what a link or a socket answers (ELOOP, EMLINK,
		// EFTYPE; ENXIO, EOPNOTSUPP), and a stranger's file may not be opened
		// at all. What it is says more than that.
		if f, statErr := lstat(path); statErr == nil {
			if refused := o.check(path, f); refused != nil {
				return -1, 0, refused
			}
		}
		return -1, 0, systemError(path, err)
	}
	var st unix.Stat_t
	if err := eintr(func() error { return unix.Fstat(fd, &st) }); err != nil {
		unix.Close(fd)
		return -1, 0, systemError(path, err)
	}
	if err := o.check(path, factsOf(&st)); err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	return fd, st.Size, nil
}

func (o FileOptions) check(path string, f facts) error {
	uid := ownUID(o.UID)
	switch {
	case f.is(unix.S_IFLNK):
		return refusal(Symlink, path, "")
	case !f.is(unix.S_IFREG):
		return refusal(NotRegular, path, "it is "+f.kind())
	case f.uid != uid:
		return refusal(ForeignUID, path, ownerFact(f.uid, strconv.Itoa(uid)))
	}
	return o.checkMode(path, f, Mode)
}

func (o FileOptions) checkMode(path string, f facts, r Reason) error {
	if o.Exact != 0 && f.perm() != uint32(o.Exact.Perm()) {
		return refusal(r, path, modeFact(f, uint32(o.Exact.Perm())))
	}
	if bad := f.perm() & uint32(o.Forbid.Perm()); bad != 0 {
		return refusal(r, path, fmt.Sprintf("mode %04o, of which %04o must not be set", f.perm(), bad))
	}
	return nil
}

// judge says what can be told without a look at the file.
func (o FileOptions) judge(path string) error {
	if path == "" {
		return refusal(Empty, path, "")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return refusal(Nul, path, "")
	}
	return blind(path, o.UID)
}

func open(path string, flags int) (fd int, err error) {
	err = eintr(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
		return err
	})
	return fd, err
}
