//go:build !linux && !darwin && !freebsd

package precheck

import (
	"errors"
	"fmt"
)

// PeerCred is not known for this system.
func PeerCred(int) (Cred, error) {
	return Cred{}, fmt.Errorf("peer credentials: %w", errors.ErrUnsupported)
}
