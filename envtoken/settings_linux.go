package envtoken

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hasACL reports whether the file has an access control list. Its mode's group
// bits are the list's mask then: on a copy they would let the whole group in.
func hasACL(f *os.File) (bool, error) {
	n, err := unix.Fgetxattr(int(f.Fd()), "system.posix_acl_access", nil)
	if err == unix.ENODATA || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return n > 0, err
}

// exchange has two files change places; errors.ErrUnsupported where the system
// or the file system can't.
func exchange(a, b string) error { return renameat2(a, b, unix.RENAME_EXCHANGE) }

// renameNew is a rename that replaces nothing: it says fs.ErrExist, or
// errors.ErrUnsupported as exchange does.
func renameNew(old, new string) error { return renameat2(old, new, unix.RENAME_NOREPLACE) }

func renameat2(old, new string, flags uint) error {
	err := unix.Renameat2(unix.AT_FDCWD, old, unix.AT_FDCWD, new, flags)
	if err == unix.EINVAL {
		return errors.ErrUnsupported
	}
	return err // ENOSYS is errors.ErrUnsupported too
}
