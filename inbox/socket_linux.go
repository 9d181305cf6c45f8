package inbox

import "golang.org/x/sys/unix"

func newSocket() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}

// allRead reports whether the peer has read all that was written to fd; false
// too where the system doesn't say.
func allRead(fd int) bool {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	return err == nil && n == 0
}

func acceptSocket(fd int) (int, error) {
	conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	return conn, err
}
