//go:build unix && !linux

package envtoken

import "fmt"

// running reports whether the record's process exists. The start time that
// records bear there has no system call behind it that reads the same, so a
// later process with the same pid is left to the check of the socket's peer.
func (s *Session) running(string) error {
	if gone(s.PID) {
		return fmt.Errorf("pid %d is gone", s.PID)
	}
	return nil
}

func ownPIDDomain() string { return "" }

func ownPIDNamespace() string { return "" }
