package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"ccpost/envtoken"
	"ccpost/inbox"
)

// ui owns every word that a person or a program reads. Nothing else writes to
// standard output or standard error, and whatever it writes has the
// environment's token taken out, should it have got in.
type ui struct {
	out, err io.Writer
	scrub    func(string) string
	about    string // which of several targets it is about
	command  string // the command and a space, once it is known
	json     bool   // one object on standard output, nothing on standard error
	quiet    bool   // nothing about success
	verbose  bool
	debug    bool               // CCPOST_DEBUG=1
	exit     func(code int) int // what a signal makes of an exit code
	enabled  bool               // CCPOST does not switch posting off
}

// report is one outcome for a program: the object of --json.
type report struct {
	Outcome   inbox.Name   `json:"outcome"`
	Class     string       `json:"class"`
	Reason    inbox.Reason `json:"reason"`
	Detail    string       `json:"detail"`
	Hint      string       `json:"hint"`
	Matches   []match      `json:"matches,omitempty"`
	Exit      int          `json:"exit"`
	Sent      bool         `json:"sent"`
	Auth      string       `json:"auth"`
	Evidence  string       `json:"evidence"`
	SessionID string       `json:"session_id"`
	Name      string       `json:"name"`
	PID       int          `json:"pid"`
	Socket    string       `json:"socket"`
	MsgID     string       `json:"msg_id"`
	ElapsedMS int64        `json:"elapsed_ms"`
	Confirmed *bool        `json:"confirmed,omitempty"` // of rename
	*checked               // of check
}

// checked is what check says besides.
type checked struct {
	Checks    []step `json:"checks"`
	Enabled   bool   `json:"enabled"`   // CCPOST doesn't switch posting off
	Available bool   `json:"available"` // nothing stands against a post
}

// match is one session of those that an ambiguous target could be.
type match struct {
	Name      string `json:"name"`
	PID       int    `json:"pid"`
	SessionID string `json:"session_id"`
	Dir       string `json:"dir"`
}

// noOutcome is of what came to nothing before it began.
var noOutcome = inbox.Outcome{Auth: inbox.AuthNone, Evidence: inbox.EvidenceNone}

// printable gives text without control characters, and without those that end a
// line or turn the direction of what follows.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

func unprintable(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// fail reports an error that came before anything was posted.
func (u ui) fail(err error) int {
	return u.result(ending{out: noOutcome, err: err})
}

// result reports how one target's part ended and returns its exit code.
func (u ui) result(e ending) int {
	t, out := e.target, e.out
	detail := string(out.Name) + ": " + out.Name.Row().Sentence
	for _, note := range []string{e.why, inbox.Note(out.Reason)} {
		if note != "" {
			detail += " (" + note + ")"
		}
	}
	if e.confirmed != nil && !*e.confirmed {
		detail += " (its record doesn't show the name: a session without a terminal ignores it)"
	}
	failed := asError(e.err)
	if failed != nil {
		out.Name, out.Reason, detail = failed.Outcome, failed.Reason, failed.Error()
	}
	if u.about != "" {
		detail = u.about + ": " + detail
	}
	row := out.Name.Row()
	if failed == nil && u.quiet && !u.json && !u.verbose {
		return u.exit(row.Exit) // nobody is told, as after nearly every hook
	}
	r := report{
		Outcome: out.Name, Class: row.Class(), Reason: out.Reason,
		Detail: printable(detail), Hint: inbox.Hint(out.Name, out.Reason), Exit: u.exit(row.Exit),
		Sent: out.Sent, Auth: out.Auth, Evidence: out.Evidence,
		SessionID: t.SessionID, Name: t.Name, PID: t.PID, Socket: t.Path,
		MsgID: out.MsgID, ElapsedMS: out.Elapsed.Milliseconds(), Confirmed: e.confirmed,
	}
	if e.steps != nil {
		r.checked = &checked{e.steps, u.enabled, failed == nil}
	}
	switch {
	case failed != nil && failed.Near != "":
		r.Hint = fmt.Sprintf("did you mean %q?", failed.Near)
	case out.Name == inbox.Usage:
		r.Hint = "see ccpost " + u.command + "--help"
		if u.command == "send " && strings.Contains(detail, "unexpected argument") {
			r.Hint = "put a message of several words into quotes; " + r.Hint
		}
	}
	var many *envtoken.Ambiguous
	if errors.As(e.err, &many) {
		for _, s := range many.Sessions {
			r.Matches = append(r.Matches, match{s.Name, s.PID, s.ID, s.Cwd})
		}
	}
	if !u.json && !u.quiet {
		for _, line := range stepLines(e.steps) {
			u.say(line)
		}
	}
	switch {
	case u.json:
		u.object(r)
	case failed != nil:
		u.warn(r.Detail)
		if r.Hint != "" && !u.quiet {
			u.line(u.err, "hint: "+r.Hint)
		}
	case !u.quiet:
		u.line(u.out, r.Detail)
	}
	if u.verbose && !u.json {
		u.line(u.err, fmt.Sprintf("ccpost: socket %q, session %q (%s), pid %d, message %s, token %s, evidence %s, %d ms",
			r.Socket, r.SessionID, r.Name, r.PID, r.MsgID, r.Auth, r.Evidence, r.ElapsedMS))
	}
	return r.Exit
}

func stepLines(steps []step) []string {
	var table [][]string
	for _, s := range steps {
		answer := s.Answer
		if answer == "" {
			answer = "-"
		}
		table = append(table, []string{s.Check, answer, s.Detail})
	}
	return columns(table)
}

// skip reports that nothing was posted, by request, and why; "" is silent.
func (u ui) skip(e ending) int {
	if u.json {
		out := noOutcome
		out.Name = inbox.Skipped
		out.Auth = e.out.Auth // the peer may have gone away behind the auth line
		return u.result(ending{target: e.target, out: out, why: e.why})
	}
	if e.why != "" {
		u.warn(string(inbox.Skipped) + ": " + e.why)
	}
	return inbox.Skipped.Exit()
}

// fault reports a panic or an error that is ours.
func (u ui) fault(cause any) int {
	if u.debug {
		for line := range strings.Lines(string(debug.Stack())) {
			u.line(u.err, strings.TrimSuffix(line, "\n"))
		}
	}
	return u.fail(inbox.Fail(inbox.Internal, inbox.ReasonPanic, fmt.Errorf("%v", cause)))
}

// warn writes one line that stands alone.
func (u ui) warn(text string) { u.line(u.err, "ccpost: "+text) }

// say writes one line to standard output.
func (u ui) say(text string) { u.line(u.out, text) }

func (u ui) object(v any) { u.encode(v, "") }

// indented writes an object for a person to paste.
func (u ui) indented(v any) { u.encode(v, "  ") }

func (u ui) encode(v any, indent string) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return
	}
	// JSON leaves some as they are that a terminal would obey.
	var text strings.Builder
	for _, r := range b.String() {
		if r > '~' && unprintable(r) {
			fmt.Fprintf(&text, "\\u%04x", r)
		} else {
			text.WriteRune(r)
		}
	}
	_, _ = io.WriteString(u.out, u.scrub(text.String()))
}

// line writes one line, which what is in it can't break: a path, a session's
// name and a peer's line may hold anything. That a reader has gone away changes
// nothing: the exit code says what became of the message.
func (u ui) line(w io.Writer, text string) {
	_, _ = io.WriteString(w, u.scrub(printable(text))+"\n")
}

// terminalWidth is how many columns a terminal has; 0 where w is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0: // it doesn't say
		return helpColumns
	}
	return int(size.Col)
}

// logger gives the library's own lines to who asked for them.
func (u ui) logger() *slog.Logger {
	if !u.debug {
		return nil
	}
	return slog.New(slog.NewTextHandler(scrubbed{u}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// scrubbed is standard error for a logger.
type scrubbed struct{ ui ui }

func (s scrubbed) Write(b []byte) (int, error) {
	s.ui.line(s.ui.err, strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}
