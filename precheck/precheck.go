// Package precheck answers one question: is this socket ours? It looks at the
// directories on the way, at the socket itself and, once connected, at the
// process behind it.
//
// The contract: [Path] vouches for a path only if nobody but root and this
// user can have put, or can swap, what stands there. Connect to [Held.Addr],
// call [Held.Recheck], ask [PeerCred] who answered and [Peer] whether that is
// who was meant, and only then write. [OpenFile], [ReadFile] and [OpenDir] hold
// the files beside the socket (records, keys, settings) to the same measure.
// Every refusal is an [*Error] with a [Reason].
//
// It opens, stats and reads; it connects to nothing, changes nothing and
// prints nothing. It does not read access control lists (on Linux a list that
// lets others write shows in the group bits, elsewhere it may not), and it
// trusts root.
package precheck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// MaxSocketPath is the longest path, in bytes, that a socket address holds
// besides its closing NUL: 107 on Linux, 103 on the BSDs and darwin.
const MaxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Options says what [Path] holds a path to. The zero value is the production
// setting.
type Options struct {
	// Stat, if set, is asked about every directory and about the socket, by
	// path, in place of the system. It must not follow links (as os.Lstat does
	// not), and the owner is known only where Sys gives a *syscall.Stat_t.
	// Nothing is held open then, and the address is the plain path.
	Stat func(string) (fs.FileInfo, error)
	// UID is the user to whom everything must belong; nil is the effective one.
	UID *int
	// RecordPID, if not 0, says that the path came from the registry record of
	// this process: its socket must be named <RecordPID>.sock.
	RecordPID int

	readlink func(string) (string, error) // nil: os.Readlink
	fdDir    string                       // "": /proc/self/fd
}

// OwnUID is the user id that counts as our own.
func (o Options) OwnUID() int { return ownUID(o.UID) }

func ownUID(uid *int) int {
	if uid != nil {
		return *uid
	}
	return os.Geteuid()
}

// blind refuses where the system shows every stranger's file as ours: in a user
// namespace that doesn't map this process's own user.
func blind(path string, uid *int) error {
	if uid != nil || os.Geteuid() != overflowUID {
		return nil
	}
	ok, err := mapped(overflowUID)
	switch {
	case ok:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
		return systemError(path, err)
	}
	return refusal(ForeignUID, path, "this process's own user isn't mapped here")
}

// Path vouches for the socket at path, or says in an [*Error] why it cannot.
// The caller closes what it returns.
//
// The spelling is judged first, then every directory from the root on, then
// the socket; the first thing found wrong is the reason given.
func Path(path string, o Options) (*Held, error) {
	if err := spelling(path, o.RecordPID); err != nil {
		return nil, err
	}
	if err := blind(path, o.UID); err != nil {
		return nil, err
	}
	if o.Stat == nil {
		h, err := hold(path, o)
		if !errors.Is(err, errors.ErrUnsupported) {
			return h, err
		}
	}
	return byPath(path, o)
}

// spelling judges what can be told without asking the system.
func spelling(path string, recordPID int) error {
	refuse := func(r Reason, fact string) error { return refusal(r, path, fact) }
	switch {
	case path == "":
		return refuse(Empty, "")
	case strings.IndexByte(path, 0) >= 0:
		return refuse(Nul, "")
	case isWindowsPipe(path):
		return refuse(WindowsPipe, "")
	case path[0] == '@':
		return refuse(Abstract, "it has neither an owner nor a mode to check")
	case path[0] != '/':
		return refuse(Relative, "it does not begin with a slash")
	}
	if clean := filepath.Clean(path); clean != path {
		return refuse(Relative, fmt.Sprintf("cleaned it is %q", clip(clean)))
	}
	if len(path) > MaxSocketPath {
		return refuse(PathTooLong, fmt.Sprintf("%d bytes, at most %d fit a socket address", len(path), MaxSocketPath))
	}
	if recordPID != 0 {
		if want := strconv.Itoa(recordPID) + ".sock"; filepath.Base(path) != want {
			return refuse(RecordPath, fmt.Sprintf("the record's socket is named %s", want))
		}
	}
	return nil
}

func isWindowsPipe(path string) bool {
	const n = len(`\\.\pipe\`)
	return len(path) >= n && (strings.EqualFold(path[:n], `\\.\pipe\`) || strings.EqualFold(path[:n], `\\?\pipe\`))
}
