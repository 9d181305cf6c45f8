package envtoken

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasACL reports whether the file has an access control list. Its mode's group
// bits are the list's mask then: on a copy they would let the whole group in.
func hasACL(f *os.File) bool {
	n, err := unix.Fgetxattr(int(f.Fd()), "system.posix_acl_access", nil)
	return err == nil && n > 0
}
