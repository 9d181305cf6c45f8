package golden

import "golang.org/x/sys/unix"

// peerPID is the process at the other end.
func peerPID(fd int) (pid int, known bool) {
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return pid, err == nil && pid != 0
}
