package inbox

import (
	"errors"

	"ccpost/precheck"
)

// The classes of failure: every error of this package is one of them, for errors.Is.
var (
	ErrPrecheck   = errors.New("the socket is not provably the session's own")
	ErrSocketGone = errors.New("no session is listening there")
	ErrTimeout    = errors.New("the time ran out before the message began")
	ErrWrite      = errors.New("the message was begun, and its end is not known")
	ErrMessage    = errors.New("the message can't be sent as it is")
	ErrDeclined   = errors.New("the session declined")
	ErrConfig     = errors.New("the request or its settings are not right")
)

// Name is the one word for how something ended.
type Name string

// Every end that there is. Table holds what each means.
const (
	Queued           Name = "queued"
	Delivered        Name = "delivered"
	SentNoReceipt    Name = "sent-no-receipt"
	RenameSent       Name = "rename-sent"
	Reachable        Name = "reachable"
	Skipped          Name = "skipped"
	BadRequest       Name = "bad-request"
	NoInput          Name = "no-input"
	NoSessionRecord  Name = "no-session-record"
	NotLive          Name = "not-live"
	NoSocketPath     Name = "no-socket-path"
	SocketMissing    Name = "socket-missing"
	SocketRefused    Name = "socket-refused"
	SessionChanged   Name = "session-changed"
	ChannelOff       Name = "channel-off"
	Internal         Name = "internal"
	ClosedAfterSend  Name = "closed-after-send"
	NotRead          Name = "not-read"
	SocketError      Name = "socket-error"
	Timeout          Name = "timeout"
	Held             Name = "held"
	Denied           Name = "denied"
	Refused          Name = "refused"
	Expired          Name = "expired"
	Dropped          Name = "dropped"
	AuthRejected     Name = "auth-rejected"
	ForeignSocket    Name = "foreign-socket"
	NotASocket       Name = "not-a-socket"
	PermissionDenied Name = "permission-denied"
	NoAuthKey        Name = "no-auth-key"
	BadEnvironment   Name = "bad-environment"
	AmbiguousTarget  Name = "ambiguous-target"
	NotChanged       Name = "not-changed"
	Unsupported      Name = "unsupported"
	Usage            Name = "usage"
)

// Row is what one name means.
type Row struct {
	Name     Name
	Kind     error  // nil where nothing failed
	Exit     int    // never 1 or 2: 2 blocks a hook's event, and a Go crash exits 2
	Resend   string // whether to send the same again: no, yes, never, later, ask, or – where nothing was asked for
	Sentence string // true of every way to get there; lower case, one line
	Hint     string // what to do about it; empty where there is nothing to do
}

// Table says what every name means, and is the only place that does.
var Table = []Row{
	{Queued, nil, 0, "no", "the session took the message: it stands in its transcript's queue", ""},
	{Delivered, nil, 0, "no", "the session took the message: it had been held and was released", ""},
	{SentNoReceipt, nil, 0, "no", "every byte was read by the session's process, which closed cleanly; nothing was said against it", ""},
	{RenameSent, nil, 0, "–", "the rename line was read by the session's process", ""},
	{Reachable, nil, 0, "–", "every check passed; nothing was sent", ""},
	{Skipped, nil, 0, "–", "nothing was posted, as asked for", ""},

	{BadRequest, ErrMessage, 65, "yes, mended", "the message can't be sent as it is; nothing was sent", "mend the message and send it again"},
	{NoInput, ErrMessage, 66, "yes", "there was nothing to read on standard input; nothing was sent", "pipe the message in, or give it as an argument"},

	{NoSessionRecord, ErrSocketGone, 69, "yes", "no record names this session; nothing was sent", "run it inside a session, or name one that ccpost list shows with --to"},
	{NotLive, ErrSocketGone, 69, "yes", "a record names this session, but its process is gone, a zombie, another process, or in another container; nothing was sent", "start or resume the session and send again"},
	{NoSocketPath, ErrSocketGone, 69, "yes", "the registry names no inbox socket for what was asked; nothing was sent", "start a session, or send again if it is just starting; with --bare, an older version or messaging off it has no inbox"},
	{SocketMissing, ErrSocketGone, 69, "yes", "the inbox socket is not on disk; nothing was sent", "restart the session: it doesn't make a lost socket again"},
	{SocketRefused, ErrSocketGone, 69, "yes", "nobody answered at the socket, or the peer went away before the message; nothing was written of the message", "see whether the session still runs, and send again"},
	{SessionChanged, ErrSocketGone, 69, "yes", "the session at this address is no longer the one that was meant; nothing was sent", "see with ccpost list which session is there now, and name that one"},
	{ChannelOff, ErrSocketGone, 69, "–", "posting is switched off by the variable CCPOST; nothing was sent", "unset CCPOST to switch it on"},

	{Internal, nil, 70, "yes", "a fault in ccpost, or something the system ran out of, before the message began; nothing of it was sent", "run it again with CCPOST_DEBUG=1 and report what it prints"},

	{ClosedAfterSend, ErrWrite, 74, "never", "the session closed early, reset the connection, or changed while the message was on its way; a resend could arrive twice", "don't resend: look in the session whether the message is there"},
	{NotRead, ErrWrite, 74, "never", "the message was written whole, but not read to the end and closed by the deadline; a resend could arrive twice", "don't resend: the session may still read it"},
	{SocketError, ErrWrite, 74, "never", "the post broke off after the message line had begun; a resend could arrive twice", "don't resend: look in the session whether the message is there"},

	{Timeout, ErrTimeout, 75, "yes", "the time ran out, or the post was called off, before the first byte of the message; nothing of it was written", "send again, with a longer --timeout where the session is busy"},

	{Held, ErrDeclined, 76, "never", "the session holds the message: it waits for its user to approve it", "approve it in the session, post from a hook before it returns, or set crossSessionInbound to accept; a session that bypasses permissions takes detached processes, cron and CI for strangers"},
	{Denied, ErrDeclined, 76, "ask", "the session's user declined the message", "ask its user before you send it again"},
	{Refused, ErrDeclined, 76, "no", "the session refused the message: a setting there refuses messages from other processes", "run ccpost policy in the session's directory: it says which file sets crossSessionInbound"},
	{Expired, ErrDeclined, 76, "ask", "the message was held and is lost: the session shut down, or the time for approval ran out", "ask its user before you send it again"},
	{Dropped, ErrDeclined, 76, "later", "the session dropped the message by one of its limits", "wait before the next one, and join several messages into one"},
	{AuthRejected, ErrDeclined, 76, "no", "the session refused the token, before anything of the message was sent", "restart the session: its key on disk is not the one that it takes"},

	{ForeignSocket, ErrPrecheck, 77, "no", "the socket, its directory or the process behind it is not provably the session's own; nothing was sent", "look who owns the path before you trust it"},
	{NotASocket, ErrPrecheck, 77, "no", "what stands at the path is no inbox socket; nothing was sent", "take the path from the session's environment, or name the session with --to"},
	{PermissionDenied, ErrPrecheck, 77, "no", "this process may not look at the socket or connect to it; nothing was sent", "check the modes of the directories on the way to the socket"},
	{NoAuthKey, ErrPrecheck, 77, "no", "the session publishes no usable key, and nothing is sent blind", "restart the session: it writes its key when it starts"},

	{BadEnvironment, ErrConfig, 78, "no", "the inbox's address or token is not well formed; nothing was sent", "pass the session's own variables on as they are, or name the session with --to"},
	{AmbiguousTarget, ErrConfig, 78, "no", "more than one session matches; nothing was sent", "name one of them by its id or pid"},
	{NotChanged, ErrConfig, 78, "–", "the settings file was left as it was", "make the edit by hand, or look again with ccpost policy show"},
	{Unsupported, ErrConfig, 78, "no", "this system, or this kind of address, is not supported; nothing was sent", "use Linux, macOS, FreeBSD or WSL, and a Unix socket"},

	{Usage, nil, 64, "yes", "the command line is not right; nothing was sent", "see ccpost --help"},
}

// Row gives what the name means; a name that isn't in Table reads as Internal.
// It is Table's own row, not a copy: don't change it.
//
//go:noinline
func (n Name) Row() *Row { // inlined, it and Fail would stand in the binary forty times
	internal := 0
	for i := range Table {
		switch Table[i].Name {
		case n:
			return &Table[i]
		case Internal:
			internal = i
		}
	}
	return &Table[internal]
}

// Class is the one word for the row's class, "precheck" for ErrPrecheck for
// instance, and "" where nothing failed or the failure has no class.
func (r *Row) Class() string {
	switch r.Kind {
	case ErrPrecheck:
		return "precheck"
	case ErrSocketGone:
		return "socket_gone"
	case ErrTimeout:
		return "timeout"
	case ErrWrite:
		return "write"
	case ErrMessage:
		return "message"
	case ErrDeclined:
		return "declined"
	case ErrConfig:
		return "config"
	}
	return ""
}

// Exit is the exit code for a process whose post ended so.
func (n Name) Exit() int { return n.Row().Exit }

// Reason says which of the ways to an outcome it was, in one word for programs.
type Reason string

// Reasons of the checks, as precheck gives them.
const (
	ReasonSymlink      = Reason(precheck.Symlink)
	ReasonMode         = Reason(precheck.Mode)
	ReasonForeignUID   = Reason(precheck.ForeignUID)
	ReasonOwnerUnknown = Reason(precheck.OwnerUnknown)
	ReasonDirOwner     = Reason(precheck.DirOwner)
	ReasonDirMode      = Reason(precheck.DirMode)
	ReasonDirSymlink   = Reason(precheck.DirSymlink)
	ReasonRecordPath   = Reason(precheck.RecordPath)
	ReasonPeerUID      = Reason(precheck.PeerUID)
	ReasonPeerPID      = Reason(precheck.PeerPID)
	ReasonNotSocket    = Reason(precheck.NotSocket)
	ReasonNotStream    = Reason(precheck.NotStream)
	ReasonStat         = Reason(precheck.Stat)
	ReasonSandbox      = Reason(precheck.Sandbox)
	ReasonRelative     = Reason(precheck.Relative)
	ReasonPathTooLong  = Reason(precheck.PathTooLong)
	ReasonAbstract     = Reason(precheck.Abstract)
	ReasonNUL          = Reason(precheck.Nul)
	ReasonEmpty        = Reason(precheck.Empty)
	ReasonWindowsPipe  = Reason(precheck.WindowsPipe)
	ReasonResource     = Reason(precheck.Resource)
)

// Reasons of this package and of those that resolve a target.
const (
	ReasonBadToken       Reason = "bad_token"
	ReasonBadPID         Reason = "bad_pid"
	ReasonBadName        Reason = "bad_name"
	ReasonNoRecord       Reason = "no_record" // of a socket that no record names
	ReasonBadRecord      Reason = "bad_record"
	ReasonBadPriority    Reason = "bad_priority"
	ReasonEmptyMessage   Reason = "empty_message"
	ReasonTooLarge       Reason = "too_large"
	ReasonBacklog        Reason = "backlog"
	ReasonSessionChanged Reason = "session_changed"
	ReasonReset          Reason = "reset"
	ReasonClosedEarly    Reason = "closed_early"
	ReasonNoReplySocket  Reason = "no_reply_socket" // no receipt could be asked for
	ReasonReplyTaken     Reason = "reply_taken"     // another post of the same sender waits for its own
	ReasonReceiptLost    Reason = "receipt_lost"    // one may have come, and couldn't be taken
	ReasonTempDir        Reason = "temp_dir"        // no place for a stand-in session
	ReasonPanic          Reason = "panic"
)

// Reasons of dropped, in the session's own words (PROTOCOL.md, What becomes of it).
const (
	reasonDuplicate   Reason = "duplicate"
	reasonRateLimited Reason = "rate-limited"
	reasonQueueFull   Reason = "queue-full"
	reasonHopLoop     Reason = "hop-loop"
	reasonHopRunaway  Reason = "hop-runaway"
)

// prechecked says which outcome a reason of precheck's is.
func prechecked(r precheck.Reason) Name {
	switch r {
	case precheck.Missing:
		return SocketMissing
	case precheck.NotSocket, precheck.NotStream:
		return NotASocket
	case precheck.Stat, precheck.Sandbox:
		return PermissionDenied
	case precheck.Relative, precheck.PathTooLong, precheck.Abstract, precheck.Nul, precheck.Empty:
		return BadEnvironment
	case precheck.WindowsPipe:
		return Unsupported
	case precheck.Resource:
		return Internal
	}
	return ForeignSocket
}

// reasonHints are better advice than the outcome's own, where the reason is known.
// No map, which every start would have to make.
var reasonHints = []struct {
	reason Reason
	hint   string
}{
	{ReasonSandbox, "inside the sandbox, allow it with sandbox.network.allowAllUnixSockets (Linux) or allowUnixSockets (macOS, both spellings of the path: /tmp and /private/tmp)"},
	{ReasonForeignUID, "inside a user namespace the files of other users show uid 65534; post from outside it"},
	{ReasonPathTooLong, "use a shorter path: a Unix socket's has at most 107 bytes on Linux, 103 on macOS and FreeBSD"},
	{ReasonNoRecord, "ccpost list --verbose says which records there are and which don't count; --config-dir names another place"},
	{ReasonTempDir, "set TMPDIR to a short path of a directory that is yours"},
	{ReasonResource, "close files or end processes, and send again"},
	{reasonDuplicate, "the session had the same text from this sender a moment ago; the same again is safe after 30 s"},
	{reasonRateLimited, "a sender may send 30 at once and then one every 2 s; join several messages into one"},
	{reasonQueueFull, "the session has too many messages waiting; send again once it has worked on them"},
	{reasonHopLoop, "messages go round between sessions; find what answers what before sending again"},
	{reasonHopRunaway, "messages go round between sessions; find what answers what before sending again"},
	{ReasonBacklog, "the session doesn't take connections at the moment; send again later"},
}

// Note says what a success with a reason rests on less than it could, in a few
// words; empty where it lacks nothing.
func Note(r Reason) string {
	switch r {
	case ReasonNoReplySocket:
		return "no reply socket could be bound beside the session's, so no receipt could come"
	case ReasonReplyTaken:
		return "another post of this sender waits at the reply socket, so no receipt could come"
	case ReasonReceiptLost:
		return "a receipt may have come, and the system didn't let it be taken"
	}
	return ""
}

// Hint says what to do about an outcome, in one line; empty where there is nothing to do.
func Hint(n Name, r Reason) string {
	for _, h := range reasonHints {
		if h.reason == r {
			return h.hint
		}
	}
	return n.Row().Hint
}

// Error is a failed outcome. errors.Is finds its class and what caused it.
type Error struct {
	Kind    error // one of the classes; nil for internal and usage
	Outcome Name
	Reason  Reason // may be empty
	Err     error  // the cause, with the facts; may be nil
	Near    string // a live session's name that could have been meant; may be empty
}

// Fail makes the error of one outcome; cause may be nil.
//
//go:noinline
func Fail(n Name, r Reason, cause error) *Error {
	return &Error{Kind: n.Row().Kind, Outcome: n, Reason: r, Err: cause}
}

// FailPrecheck makes the error of a failed check: a *precheck.Error says which
// outcome it is, any other cause is foreign-socket with reason owner_unknown.
func FailPrecheck(cause error) *Error {
	var pe *precheck.Error
	if !errors.As(cause, &pe) {
		return Fail(ForeignSocket, ReasonOwnerUnknown, cause)
	}
	reason := Reason(pe.Reason)
	if pe.Reason == precheck.Missing {
		reason = ""
	}
	return Fail(prechecked(pe.Reason), reason, cause)
}

// Error is the outcome, its sentence, and the cause: one line that stands alone.
func (e *Error) Error() string {
	s := string(e.Outcome) + ": " + e.Outcome.Row().Sentence
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// Unwrap gives the class and the cause.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
