// Package inbox is the client of a Claude Code session's inbox socket: it posts
// one message and says what became of it.
//
// A [Target] says where an inbox is, who must answer there and which token opens
// it. Package envtoken makes one, from a session's environment or from its name;
// who knows path and token makes one by hand. [Post] sends a [Message] there,
// [Check] goes as far as Post without connecting, [Probe] connects and writes
// nothing, [Rename] gives the session another name.
//
// Post refuses a bad message before anything is touched, has package precheck
// vouch for the directories, the path and, once connected, the process behind
// it, and only then writes two lines: the token, and the message. Nothing is
// retried after the first byte of the message line.
//
// The [Outcome] says what is known, from evidence, and no more. Its [Name] is one
// of those in [Table], which has a sentence, an exit code and the answer to
// whether to send again for each. An outcome that is no success comes with an
// [*Error]: errors.Is tells its class, [ErrSocketGone] for instance, and
// errors.As its name, its reason and its cause.
//
// The package does not find sessions (package envtoken does), prints nothing,
// starts no process, and keeps no state between calls. It is safe for use by
// several goroutines. Everything it relies on was measured on real sessions:
// golden/PROTOCOL.md has the facts and how each was come by.
package inbox

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"ccpost/precheck"
	"ccpost/redact"
)

// ErrChanged is what [Target].Current returns, made by [Changed], where another
// session is there than the one that was meant.
var ErrChanged = errors.New("it is another session now")

// Changed makes an error that is ErrChanged, for errors.Is, and says what changed.
func Changed(what string) error { return changed(what) }

type changed string

func (c changed) Error() string      { return string(c) }
func (changed) Is(target error) bool { return target == ErrChanged }

// The words of the wire format (PROTOCOL.md, Writing).
const (
	TypeAuth = "auth"
	TypeUser = "user"
	RoleUser = "user"
	Network  = "unix"

	TypeControl  = "control"
	actionRename = "rename"
)

const (
	// MaxSocketPath is the longest path of a Unix socket here, in bytes.
	MaxSocketPath = precheck.MaxSocketPath

	// MaxLine is the longest line that a session takes, in UTF-16 units and
	// without its newline (PROTOCOL.md, Writing).
	MaxLine = 1_048_576

	// DefaultDialTimeout and DefaultWriteTimeout bound connecting and writing,
	// each by itself, within the context's deadline.
	DefaultDialTimeout  = 5 * time.Second
	DefaultWriteTimeout = 5 * time.Second

	// DefaultWait is how long a post waits for a word on what became of the
	// message. A receipt takes 3 to 70 ms, the transcript's row 45 to 91 ms.
	DefaultWait = 250 * time.Millisecond

	// NoWait asks for no such word: no reply socket is bound.
	NoWait time.Duration = -1

	// closeReserve is what a long wait leaves of the budget for that close, at
	// most; of a small budget it is a quarter.
	closeReserve = 500 * time.Millisecond

	// closeTimeout is how long a session may take to close after our
	// half-close. It takes 0 to 50 ms; its own client waits 5 s.
	closeTimeout = 5 * time.Second
)

// Target is one session's inbox and what is known of who should answer there.
// It prints itself without the token.
type Target struct {
	Path  string       // the socket: absolute and clean
	Token redact.Token // opens the connection; without one nothing is sent

	// FromKey says that Token came from a session's key file, not from its
	// environment. Sessions older than 2.1.248 may refuse such a token without
	// a word, so that one is offered alone first.
	FromKey bool

	SessionID string // the session that is meant; empty where it isn't known
	PID       int    // the process that must answer; 0 where it isn't known
	Name      string // the session's name in its record, for reports
	Version   string // the session's version, as in 2.1.332; empty where it isn't known

	// Here says whether PID is of this process's own pid namespace. It is asked
	// only where whoever answers is of none that is seen from here: that is then
	// another process than the one meant. nil says that it isn't known.
	Here func() bool

	// Projects and Cwd are where the session's transcript is looked for: the
	// folder projects of its config dir, and its working directory. Empty
	// Projects: no transcript, and so no queued.
	Projects, Cwd string

	// Current, if set, says which session is at Path now; an id of "" means that
	// no record tells. It is asked just before the message is written, when any
	// error stops the post, and once more at the end, when only ErrChanged counts:
	// a session may have ended since.
	Current func() (sessionID string, err error)
}

// String names the target, not its token.
func (t Target) String() string {
	return fmt.Sprintf("inbox %q session %q pid %d", t.Path, t.SessionID, t.PID)
}

// GoString is String.
func (t Target) GoString() string { return t.String() }

// LogValue is String, as one scalar.
func (t Target) LogValue() slog.Value { return slog.StringValue(t.String()) }

// Message is what to post.
type Message struct {
	Body     string // any text: it is cleaned and escaped before it is sent
	From     string // the sender's name as the session shows it; empty is "ccpost"
	Priority string // next, later or now; empty is next. now aborts the running request
	Raw      bool   // without the envelope, and so without a sender's name
}

// Options are for tests and for callers with limits of their own; the zero
// value is the production setting.
type Options struct {
	Stat func(string) (fs.FileInfo, error)            // in place of the system's lstat
	UID  *int                                         // in place of the effective user id
	Peer func(fd int) (cred precheck.Cred, err error) // in place of the socket's peer credentials

	DialTimeout  time.Duration // 0 is DefaultDialTimeout
	WriteTimeout time.Duration // 0 is DefaultWriteTimeout

	// Wait is how long at most to wait for a word on the message; a post returns
	// as soon as there is one. 0 is DefaultWait, less is NoWait.
	Wait        time.Duration
	HeldIsFinal bool   // don't wait for what becomes of a held message
	OnBind      func() // called before a reply socket is bound, which a signal must not leave behind

	Logger *slog.Logger // gets one debug line on success, one warn line on failure; nil is none
}

func (o Options) precheck() precheck.Options {
	return precheck.Options{Stat: o.Stat, UID: o.UID}
}

// What is known of the token after a post: the values of [Outcome].Auth.
const (
	AuthNone      = "none"      // it was not written
	AuthOffered   = "offered"   // it was written; sessions don't answer that
	AuthRefused   = "refused"   // the session closed on it
	AuthConfirmed = "confirmed" // the session took or told of the message behind it
)

// What an outcome rests on: the values of [Outcome].Evidence.
const (
	EvidenceNone       = "none"
	EvidenceRead       = "read"       // a clean end of file: every byte was read
	EvidenceTranscript = "transcript" // the message's row in the session's transcript
	EvidenceReceipt    = "receipt"    // the session's own word
)

// Outcome is how one post ended.
type Outcome struct {
	Name      Name
	Reason    Reason        // which of the ways to Name it was; may be empty
	Sent      bool          // whether any byte of the message line left
	Auth      string        // what is known of the token: AuthNone and the others
	Evidence  string        // what it rests on: EvidenceNone and the others
	MsgID     string        // the message's id in the frame; empty where none was made
	SessionID string        // the session that the frame was addressed to; may be empty
	Elapsed   time.Duration // from the call to its end
}
