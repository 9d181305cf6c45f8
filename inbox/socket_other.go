//go:build unix && !linux

package inbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// newSocket and acceptSocket set by hand what only Linux takes as flags. The
// lock is for a child started at the same moment, which would inherit the
// descriptor.

func newSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	return private(fd)
}

func acceptSocket(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	conn, _, err := unix.Accept(fd)
	if err != nil {
		return -1, err
	}
	return private(conn)
}

// allRead is not asked here: what was written lies with the peer at once.
func allRead(int) bool { return true }

func private(fd int) (int, error) {
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
