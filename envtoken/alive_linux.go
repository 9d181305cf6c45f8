package envtoken

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// alive reports whether the record's process runs: it exists, is no zombie
// (which kill(pid, 0) would not tell), and started when the record says, so
// that it is no later process with the same pid.
func (r *record) alive() error {
	if own := pidDomain(); r.PIDDomain != "" && own != "" && r.PIDDomain != own {
		return fmt.Errorf("process %d is in another container", r.PID)
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(r.PID) + "/stat")
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("process %d is gone", r.PID)
	}
	if err != nil {
		return err
	}
	// The second field is the command in parentheses, and may hold both.
	_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
	fields := strings.Fields(rest) // from the third field on
	if len(fields) < 20 {
		return fmt.Errorf("process %d can't be told from its /proc entry", r.PID)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return fmt.Errorf("process %d is a zombie", r.PID)
	}
	if start := fields[22-3]; r.ProcStart != "" && start != r.ProcStart {
		return fmt.Errorf("process %d started later than its record", r.PID)
	}
	return nil
}

// pidDomain names the container in which this process sees pids, as records
// spell it; "" where the system doesn't tell.
func pidDomain() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		return ""
	}
	return "linux:" + strings.TrimSpace(string(id)) + ":" + ns
}
