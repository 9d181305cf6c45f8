package precheck

import (
	"fmt"
	"strconv"
)

// Cred is who is at the other end of a connection.
type Cred struct {
	UID int
	PID int // 0: this system doesn't say, or the process is outside our pid namespace
}

// Peer holds the other end of a connection against the user and the process
// that are meant. A process id of 0, on either side, is not known and not
// compared.
func Peer(c Cred, uid, wantPID int) error {
	switch {
	case c.UID != uid:
		fact := fmt.Sprintf("uid %d, want %d", c.UID, uid)
		if c.UID == overflowUID {
			fact += "; inside a user namespace other users' processes show this uid"
		}
		return refusal(PeerUID, "", fact)
	case c.PID != 0 && wantPID != 0 && c.PID != wantPID:
		return refusal(PeerPID, "", "pid "+strconv.Itoa(c.PID)+", want "+strconv.Itoa(wantPID))
	}
	return nil
}
