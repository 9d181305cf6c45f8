package precheck

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

var reasons = map[Reason]string{
	Empty: "empty", Nul: "nul", WindowsPipe: "windows_pipe", Abstract: "abstract", Relative: "relative",
	PathTooLong: "path_too_long", RecordPath: "record_path", DirOwner: "dir_owner", DirMode: "dir_mode",
	DirSymlink: "dir_symlink", Symlink: "symlink", NotSocket: "not_socket", ForeignUID: "foreign_uid",
	OwnerUnknown: "owner_unknown", Mode: "mode", NotRegular: "not_regular", TooLarge: "too_large",
	PeerUID: "peer_uid", PeerPID: "peer_pid", NotStream: "not_stream", Sandbox: "sandbox",
	Missing: "missing", Stat: "stat", Resource: "resource",
}

func TestReasons(t *testing.T) {
	seen := map[string]Reason{}
	for r, word := range reasons {
		if string(r) != word {
			t.Errorf("%q, want %q", r, word)
		}
		s := r.sentence()
		if other, twice := seen[s]; twice || strings.HasPrefix(s, "was refused") {
			t.Errorf("%s has no sentence of its own (%q, as %q)", r, s, other)
		}
		seen[s] = r
	}
	if got := Reason("novel").sentence(); got != "was refused (novel)" {
		t.Errorf("unknown reason: %q", got)
	}
}

func TestError(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Reason: Mode, Path: "/a/1.sock", Err: errors.New("mode 0660, want 0600")}, `"/a/1.sock" has the wrong permissions: mode 0660, want 0600`},
		{&Error{Reason: Symlink, Path: "/a"}, `"/a" is a symbolic link`},
		{&Error{Reason: Missing, Path: "/a\n\x1b[2J", Err: syscall.ENOENT}, `"/a\n\x1b[2J" is not there: no such file or directory`},
		{&Error{Reason: NotStream, Err: syscall.EPROTOTYPE}, `the socket is not a stream socket: ` + syscall.EPROTOTYPE.Error()},
		{&Error{Reason: Resource, Path: "/a", Err: errors.New("two\nlines")}, `"/a" could not be examined: "two\nlines"`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	long := &Error{Reason: PathTooLong, Path: "/" + strings.Repeat("a", 1<<20)}
	if n := len(long.Error()); n > 700 {
		t.Errorf("a path of 1 MiB makes a sentence of %d bytes", n)
	}
}

func TestUnwrap(t *testing.T) {
	err := systemError("/a", &fs.PathError{Op: "lstat", Path: "/a\nb", Err: syscall.ENOENT})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	if s := fmt.Sprint(err); strings.Contains(s, "lstat") || strings.Contains(s, "\n") {
		t.Errorf("%q tells the path twice", s)
	}
}
