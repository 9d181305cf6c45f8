package precheck

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// Reason says in one word why something was refused. The words are stable:
// they are printed, and programs branch on them.
type Reason string

const (
	// The spelling of the path.
	Empty       Reason = "empty"
	Nul         Reason = "nul"
	WindowsPipe Reason = "windows_pipe"
	Abstract    Reason = "abstract"
	Relative    Reason = "relative" // or not clean: //, /./, /../, a closing slash
	PathTooLong Reason = "path_too_long"
	RecordPath  Reason = "record_path" // not <pid>.sock of the record that named it

	// The directories.
	DirOwner   Reason = "dir_owner"
	DirMode    Reason = "dir_mode"
	DirSymlink Reason = "dir_symlink"

	// The socket, or the file.
	Symlink      Reason = "symlink"
	NotSocket    Reason = "not_socket"
	ForeignUID   Reason = "foreign_uid"
	OwnerUnknown Reason = "owner_unknown" // the injected Stat gave no *syscall.Stat_t
	Mode         Reason = "mode"
	NotRegular   Reason = "not_regular"
	TooLarge     Reason = "too_large"

	// The process behind the socket.
	PeerUID Reason = "peer_uid"
	PeerPID Reason = "peer_pid"

	// For whoever connects: this package can't find them out.
	NotStream Reason = "not_stream" // EPROTOTYPE
	Sandbox   Reason = "sandbox"    // EPERM or EACCES on socket or connect

	// What the system answered when it was asked.
	Missing  Reason = "missing"  // ENOENT, ENOTDIR, or replaced meanwhile
	Stat     Reason = "stat"     // EACCES, EPERM
	Resource Reason = "resource" // EMFILE, ENFILE, ENOMEM and the like: nothing is known about the path
)

// sentence is what is said of the path, after its name.
func (r Reason) sentence() string {
	switch r {
	case Empty:
		return "has an empty path"
	case Nul:
		return "has a NUL byte in its path"
	case WindowsPipe:
		return "is a Windows pipe, not a Unix socket"
	case Abstract:
		return "names an abstract socket"
	case Relative:
		return "is not a clean absolute path"
	case PathTooLong:
		return "is too long a path"
	case RecordPath:
		return "is not the path its record may name"
	case DirOwner:
		return "is another user's directory"
	case DirMode:
		return "is a directory that others may write to"
	case DirSymlink:
		return "is a symbolic link where a directory should be"
	case Symlink:
		return "is a symbolic link"
	case NotSocket:
		return "is not a socket"
	case ForeignUID:
		return "is another user's"
	case OwnerUnknown:
		return "has an owner that cannot be told"
	case Mode:
		return "has the wrong permissions"
	case NotRegular:
		return "is not a regular file"
	case TooLarge:
		return "is too large"
	case PeerUID:
		return "is served by another user's process"
	case PeerPID:
		return "is served by another process than the one meant"
	case NotStream:
		return "is not a stream socket"
	case Sandbox:
		return "may not be connected to from here"
	case Missing:
		return "is not there"
	case Stat:
		return "may not be examined"
	case Resource:
		return "could not be examined"
	}
	return "was refused (" + string(r) + ")"
}

// Error is every refusal of this package.
type Error struct {
	Reason Reason
	Path   string // what the reason is about: the socket, a directory on the way, a file; "" for a peer
	Err    error  // the fact, or the system's own error; may be nil
}

// Error is one line that stands alone: the path, quoted, what is wrong with
// it, and the fact that shows it.
func (e *Error) Error() string {
	s := "the socket"
	if e.Path != "" {
		s = strconv.Quote(clip(e.Path))
	}
	s += " " + e.Reason.sentence()
	if e.Err != nil {
		s += ": " + oneLine(e.Err.Error())
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// clip keeps a path that cannot be one out of the way of the sentence: an
// environment variable may hold 128 KiB.
func clip(path string) string {
	const most = 512
	if len(path) > most {
		return path[:most] + "..."
	}
	return path
}

// oneLine keeps an injected error's text from breaking the line.
func oneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

func refusal(r Reason, path, fact string) error {
	e := &Error{Reason: r, Path: path}
	if fact != "" {
		e.Err = errors.New(fact)
	}
	return e
}

// systemError turns what the system answered about path into a refusal.
func systemError(path string, err error) error {
	r := Resource
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		r = Missing
	case errors.Is(err, fs.ErrPermission):
		r = Stat
	case errors.Is(err, syscall.ELOOP):
		r = DirSymlink
	case errors.Is(err, syscall.ENAMETOOLONG):
		r = PathTooLong
	}
	// The path is told already, and a PathError would spell it unquoted.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return &Error{Reason: r, Path: path, Err: err}
}

// overflowUID is what Linux shows for a user that the namespace does not map.
const overflowUID = 65534

func ownerFact(have int, want string) string {
	s := fmt.Sprintf("owned by uid %d, want %s", have, want)
	if have == overflowUID {
		s += "; inside a user namespace other users' files show this uid"
	}
	return s
}
