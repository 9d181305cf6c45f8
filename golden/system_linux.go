package golden

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func newSocket() (fd int, err error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}

func acceptSocket(listener int) (fd int, err error) {
	fd, _, err = unix.Accept4(listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	return fd, err
}

// bindPrivate makes the socket file with mode 0600: on Linux the file gets the
// mode that the descriptor has, so that there is no moment of another one.
func bindPrivate(fd int, path string) error {
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return err
	}
	return unix.Bind(fd, &unix.SockaddrUnix{Name: path})
}

// peerPID is the process at the other end; unknown where it has no pid in our
// namespace.
func peerPID(fd int) (pid int, known bool) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || cred.Pid == 0 {
		return 0, false
	}
	return int(cred.Pid), true
}

// procStart is field 22 of /proc/<pid>/stat; empty when it can't be read.
func procStart(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return startTime(string(stat))
}

// startTime counts from the last parenthesis: the program's name before it may
// hold spaces and parentheses. What follows begins with field 3.
func startTime(stat string) string {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return fields[22-3]
}

// pidDomain names the set of pids that pid belongs to; empty when unknown.
func pidDomain(pid int) string {
	machine, err := os.ReadFile("/etc/machine-id")
	id := strings.TrimSpace(string(machine))
	if err != nil || id == "" {
		return ""
	}
	namespace, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid") // pid:[<inode>]
	if err != nil {
		return ""
	}
	return "linux:" + id + ":" + namespace
}
