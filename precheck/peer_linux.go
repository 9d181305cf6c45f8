package precheck

import (
	"os"

	"golang.org/x/sys/unix"
)

// PeerCred says who is at the other end of fd, a connected Unix socket. To the
// side that connected, that is who called listen, whoever has accepted since.
func PeerCred(fd int) (Cred, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Cred{}, os.NewSyscallError("getsockopt SO_PEERCRED", err)
	}
	return Cred{UID: int(c.Uid), PID: int(c.Pid)}, nil
}
