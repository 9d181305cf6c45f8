package inbox_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"unicode"

	_ "ccpost/golden/update"
	"ccpost/inbox"
	"ccpost/precheck"
)

// outcomes is the contract, written down a second time: name, class, exit code,
// resend, and the words that the sentence must hold.
var outcomes = []struct {
	name   inbox.Name
	class  error
	word   string
	exit   int
	resend string
	words  []string
}{
	{"queued", nil, "", 0, "no", []string{"took", "transcript"}},
	{"delivered", nil, "", 0, "no", []string{"took", "released"}},
	{"sent-no-receipt", nil, "", 0, "no", []string{"every byte", "read", "closed cleanly", "nothing was said against it"}},
	{"rename-sent", nil, "", 0, "–", []string{"rename", "read"}},
	{"reachable", nil, "", 0, "–", []string{"every check passed", "nothing was sent"}},
	{"skipped", nil, "", 0, "–", []string{"nothing was posted"}},
	{"bad-request", inbox.ErrMessage, "message", 65, "yes, mended", []string{"message", "nothing was sent"}},
	{"no-input", inbox.ErrMessage, "message", 66, "yes", []string{"standard input", "nothing was sent"}},
	{"no-session-record", inbox.ErrSocketGone, "socket_gone", 69, "yes", []string{"no record", "nothing was sent"}},
	{"not-live", inbox.ErrSocketGone, "socket_gone", 69, "yes", []string{"gone", "zombie", "another process", "another container", "nothing was sent"}},
	{"no-socket-path", inbox.ErrSocketGone, "socket_gone", 69, "yes", []string{"names no inbox socket", "nothing was sent"}},
	{"socket-missing", inbox.ErrSocketGone, "socket_gone", 69, "yes", []string{"not on disk", "nothing was sent"}},
	{"socket-refused", inbox.ErrSocketGone, "socket_gone", 69, "yes", []string{"nobody answered", "went away before the message", "nothing was written"}},
	{"session-changed", inbox.ErrSocketGone, "socket_gone", 69, "yes", []string{"no longer the one that was meant", "nothing was sent"}},
	{"channel-off", inbox.ErrSocketGone, "socket_gone", 69, "–", []string{"CCPOST", "nothing was sent"}},
	{"internal", nil, "", 70, "yes", []string{"before the message began", "nothing of it was sent"}},
	{"closed-after-send", inbox.ErrWrite, "write", 74, "never", []string{"closed early", "reset", "changed", "twice"}},
	{"not-read", inbox.ErrWrite, "write", 74, "never", []string{"written whole", "not read to the end and closed", "twice"}},
	{"socket-error", inbox.ErrWrite, "write", 74, "never", []string{"broke off", "message line", "twice"}},
	{"timeout", inbox.ErrTimeout, "timeout", 75, "yes", []string{"before the first byte of the message", "nothing of it was written"}},
	{"held", inbox.ErrDeclined, "declined", 76, "never", []string{"approve"}},
	{"denied", inbox.ErrDeclined, "declined", 76, "ask", []string{"declined"}},
	{"refused", inbox.ErrDeclined, "declined", 76, "no", []string{"a setting there refuses"}},
	{"expired", inbox.ErrDeclined, "declined", 76, "ask", []string{"shut down", "ran out"}},
	{"dropped", inbox.ErrDeclined, "declined", 76, "later", []string{"dropped", "limits"}},
	{"auth-rejected", inbox.ErrDeclined, "declined", 76, "no", []string{"token", "before anything", "sent"}},
	{"foreign-socket", inbox.ErrPrecheck, "precheck", 77, "no", []string{"not provably", "nothing was sent"}},
	{"not-a-socket", inbox.ErrPrecheck, "precheck", 77, "no", []string{"no inbox socket", "nothing was sent"}},
	{"permission-denied", inbox.ErrPrecheck, "precheck", 77, "no", []string{"may not", "nothing was sent"}},
	{"no-auth-key", inbox.ErrPrecheck, "precheck", 77, "no", []string{"no usable key", "nothing is sent blind"}},
	{"bad-environment", inbox.ErrConfig, "config", 78, "no", []string{"not well formed", "nothing was sent"}},
	{"ambiguous-target", inbox.ErrConfig, "config", 78, "no", []string{"more than one session", "nothing was sent"}},
	{"not-changed", inbox.ErrConfig, "config", 78, "–", []string{"left as it was"}},
	{"unsupported", inbox.ErrConfig, "config", 78, "no", []string{"not supported", "nothing was sent"}},
	{"usage", nil, "", 64, "yes", []string{"command line", "nothing was sent"}},
}

func TestTable(t *testing.T) {
	if len(inbox.Table) != len(outcomes) {
		t.Errorf("the table has %d rows, want %d", len(inbox.Table), len(outcomes))
	}
	seen := map[inbox.Name]bool{}
	for i, want := range outcomes {
		got := want.name.Row()
		if got.Name != want.name {
			t.Errorf("%s is not in the table", want.name)
			continue
		}
		if inbox.Table[i].Name != want.name {
			t.Errorf("row %d is %s, want %s", i, inbox.Table[i].Name, want.name)
		}
		if seen[want.name] {
			t.Errorf("%s stands twice", want.name)
		}
		seen[want.name] = true
		if got.Kind != want.class || got.Class() != want.word || got.Exit != want.exit || want.name.Exit() != want.exit || got.Resend != want.resend {
			t.Errorf("%s: class %v (%s), exit %d, resend %q; want %v (%s), %d, %q",
				want.name, got.Kind, got.Class(), got.Exit, got.Resend, want.class, want.word, want.exit, want.resend)
		}
		for _, w := range want.words {
			if !strings.Contains(got.Sentence, w) {
				t.Errorf("%s: the sentence lacks %q: %s", want.name, w, got.Sentence)
			}
		}
		for _, s := range []string{got.Sentence, got.Hint} {
			if strings.ContainsAny(s, "\n\r") || strings.HasSuffix(s, ".") {
				t.Errorf("%s: not one open line: %q", want.name, s)
			}
			if r := []rune(s); len(r) > 0 && unicode.IsUpper(r[0]) {
				t.Errorf("%s: not lower case: %q", want.name, s)
			}
		}
		if got.Exit == 1 || got.Exit == 2 || got.Exit > 125 {
			t.Errorf("%s exits %d", want.name, got.Exit)
		}
		if got.Exit != 0 && got.Hint == "" {
			t.Errorf("%s says nothing about what to do", want.name)
		}
		// What is never to be sent again says so, and why.
		if got.Exit == 74 && (got.Resend != "never" || !strings.Contains(got.Hint, "don't resend")) {
			t.Errorf("%s: %q", want.name, got.Hint)
		}
	}
	if strings.Contains(inbox.SocketRefused.Row().Sentence, "session is gone") {
		t.Error("socket-refused says more than is known")
	}
}

func TestUnknownNameIsInternal(t *testing.T) {
	if got := inbox.Name("no-such").Row(); got.Name != inbox.Internal {
		t.Errorf("got %s", got.Name)
	}
}

func TestError(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}
	for _, row := range inbox.Table {
		e := inbox.Fail(row.Name, "why", cause)
		for _, class := range []error{inbox.ErrPrecheck, inbox.ErrSocketGone, inbox.ErrTimeout, inbox.ErrWrite, inbox.ErrMessage, inbox.ErrDeclined, inbox.ErrConfig} {
			if got, want := errors.Is(e, class), class == row.Kind; got != want {
				t.Errorf("%s: errors.Is(%v) = %v, want %v", row.Name, class, got, want)
			}
		}
		if !errors.Is(e, fs.ErrPermission) || e.Outcome != row.Name || e.Reason != "why" {
			t.Errorf("%s: %+v", row.Name, e)
		}
		if want := string(row.Name) + ": " + row.Sentence + " (open /x: permission denied)"; e.Error() != want {
			t.Errorf("got  %s\nwant %s", e.Error(), want)
		}
	}
	if got, want := inbox.Fail(inbox.ChannelOff, "", nil).Error(), "channel-off: "+inbox.ChannelOff.Row().Sentence; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Every reason of precheck's is one outcome.
func TestFailPrecheck(t *testing.T) {
	for _, c := range []struct {
		reason precheck.Reason
		want   inbox.Name
		as     inbox.Reason
	}{
		{precheck.Symlink, inbox.ForeignSocket, "symlink"},
		{precheck.Mode, inbox.ForeignSocket, "mode"},
		{precheck.ForeignUID, inbox.ForeignSocket, "foreign_uid"},
		{precheck.OwnerUnknown, inbox.ForeignSocket, "owner_unknown"},
		{precheck.DirOwner, inbox.ForeignSocket, "dir_owner"},
		{precheck.DirMode, inbox.ForeignSocket, "dir_mode"},
		{precheck.DirSymlink, inbox.ForeignSocket, "dir_symlink"},
		{precheck.RecordPath, inbox.ForeignSocket, "record_path"},
		{precheck.PeerUID, inbox.ForeignSocket, "peer_uid"},
		{precheck.PeerPID, inbox.ForeignSocket, "peer_pid"},
		{precheck.NotSocket, inbox.NotASocket, "not_socket"},
		{precheck.NotStream, inbox.NotASocket, "not_stream"},
		{precheck.Stat, inbox.PermissionDenied, "stat"},
		{precheck.Sandbox, inbox.PermissionDenied, "sandbox"},
		{precheck.Relative, inbox.BadEnvironment, "relative"},
		{precheck.PathTooLong, inbox.BadEnvironment, "path_too_long"},
		{precheck.Abstract, inbox.BadEnvironment, "abstract"},
		{precheck.Nul, inbox.BadEnvironment, "nul"},
		{precheck.Empty, inbox.BadEnvironment, "empty"},
		{precheck.Missing, inbox.SocketMissing, ""},
		{precheck.WindowsPipe, inbox.Unsupported, "windows_pipe"},
		{precheck.Resource, inbox.Internal, "resource"},
	} {
		e := inbox.FailPrecheck(&precheck.Error{Reason: c.reason, Path: "/x"})
		if e.Outcome != c.want || e.Reason != c.as || e.Kind != c.want.Row().Kind {
			t.Errorf("%s: %s, reason %q; want %s, %q", c.reason, e.Outcome, e.Reason, c.want, c.as)
		}
	}
	if e := inbox.FailPrecheck(errors.New("unheard of")); e.Outcome != inbox.ForeignSocket {
		t.Errorf("an unknown failure is %s", e.Outcome)
	}
}

func TestHint(t *testing.T) {
	if h := inbox.Hint(inbox.PermissionDenied, inbox.ReasonSandbox); !strings.Contains(h, "allowAllUnixSockets") || !strings.Contains(h, "/private/tmp") {
		t.Errorf("sandbox: %s", h)
	}
	if h := inbox.Hint(inbox.PermissionDenied, inbox.ReasonStat); h != inbox.PermissionDenied.Row().Hint {
		t.Errorf("stat: %s", h)
	}
	if h := inbox.Hint(inbox.ForeignSocket, inbox.ReasonForeignUID); !strings.Contains(h, "65534") {
		t.Errorf("foreign_uid: %s", h)
	}
	// The advice of a reason is another one than the outcome's, and as well-formed.
	for _, r := range []inbox.Reason{"sandbox", "foreign_uid", "path_too_long", "no_record", "temp_dir", "resource",
		"duplicate", "rate-limited", "queue-full", "hop-loop", "hop-runaway", "backlog"} {
		h := inbox.Hint(inbox.Usage, r)
		if h == "" || h == inbox.Usage.Row().Hint || strings.ContainsAny(h, "\n\r") || strings.HasSuffix(h, ".") || unicode.IsUpper([]rune(h)[0]) {
			t.Errorf("%s: %q", r, h)
		}
	}
}
