//go:build unix && !linux

package inbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// newSocket sets by hand what only Linux takes as flags. The lock keeps a child
// started at the same moment from inheriting the descriptor; a write to a
// socket whose peer is gone must give EPIPE here, too, and no signal.
func newSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
