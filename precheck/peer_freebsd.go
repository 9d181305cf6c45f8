package precheck

import (
	"os"

	"golang.org/x/sys/unix"
)

// PeerCred says which user is at the other end of fd, a connected Unix socket.
// The process is not told: x/sys leaves out cr_pid, which older releases don't
// fill in.
func PeerCred(fd int) (Cred, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Cred{}, os.NewSyscallError("getsockopt LOCAL_PEERCRED", err)
	}
	return Cred{UID: int(c.Uid)}, nil
}
