package envtoken

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// running reports whether the record's process runs: it exists, is no zombie
// (which kill(pid, 0) would not tell), and started when the record says, so that
// it is no later process with the same pid. domain is ownPIDDomain.
func (s *Session) running(domain string) error {
	if s.pidDomain != "" && domain != "" && s.pidDomain != domain {
		return fmt.Errorf("pid %d is in another container", s.PID)
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID) + "/stat")
	switch {
	case errors.Is(err, os.ErrNotExist) && (mounted() || gone(s.PID)):
		return fmt.Errorf("pid %d is gone", s.PID)
	case errors.Is(err, unix.ESRCH):
		return fmt.Errorf("pid %d is gone", s.PID) // while it was looked at
	case errors.Is(err, os.ErrNotExist):
		return nil // when it started can't be known without /proc
	case err != nil:
		return err
	}
	// The second field is the command in parentheses, which may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from the third on
	if len(fields) < 20 {
		return fmt.Errorf("pid %d can't be told from its /proc entry", s.PID)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return fmt.Errorf("pid %d is a zombie", s.PID)
	}
	if start := fields[22-3]; s.procStart != "" && string(start) != s.procStart {
		return fmt.Errorf("pid %d is another process, started at another time than the record says", s.PID)
	}
	return nil
}

// mounted reports whether /proc is there to be asked.
func mounted() bool {
	_, err := os.Lstat("/proc/self/stat")
	return err == nil
}

// ownPIDDomain names the container in which this process sees pids, as records
// spell it; "" where the system doesn't tell.
func ownPIDDomain() string {
	ns := ownPIDNamespace()
	if ns == "" {
		return ""
	}
	data, _ := os.ReadFile("/etc/machine-id")
	id := strings.TrimSpace(string(data))
	if id == "" {
		return ""
	}
	return "linux:" + id + ":" + ns
}

// ownPIDNamespace is the last part of ownPIDDomain, pid:[<inode>].
func ownPIDNamespace() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}
