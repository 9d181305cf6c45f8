//go:build !linux

package golden

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// newSocket holds the fork lock: darwin cannot make a socket that is closed on
// exec from its first instant.
func newSocket() (fd int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return private(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))
}

func acceptSocket(listener int) (fd int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, _, err = unix.Accept(listener)
	return private(fd, err)
}

func private(fd int, err error) (int, error) {
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// bindPrivate changes the mode after the fact; until then the directory's 0700
// keeps others out. The umask would be the whole process's.
func bindPrivate(fd int, path string) error {
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}

// procStart and pidDomain were only measured on Linux: left out elsewhere.
func procStart(int) string { return "" }
func pidDomain(int) string { return "" }
