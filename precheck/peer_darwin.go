package precheck

import (
	"os"

	"golang.org/x/sys/unix"
)

// PeerCred says who is at the other end of fd, a connected Unix socket.
func PeerCred(fd int) (Cred, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Cred{}, os.NewSyscallError("getsockopt LOCAL_PEERCRED", err)
	}
	// The user and the process are two questions: one socket answers both.
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return Cred{}, os.NewSyscallError("getsockopt LOCAL_PEERPID", err)
	}
	return Cred{UID: int(c.Uid), PID: pid}, nil
}
