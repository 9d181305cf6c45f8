// Package hook turns something that happened into the text of one message, or
// into a reason not to send one. What happened is a Claude Code hook event on
// standard input, or a command that has ended: [Command.Text], with the [Tail] of
// what it printed.
//
// An event's way through it is [Read], [Parse], [Event.Guard] and [Event.Chain],
// then [Event.Text] or [Event.Expand], and [Drain] once the message is posted.
// Hooks run at every tool call and their exit code 2 blocks the event, so the
// package holds to this: no input makes it panic, recurse without bound, buffer
// more than [MaxBytes] or wait beyond the deadline that it was given.
//
// It opens no file of its own, starts no process and prints nothing. It doesn't
// know where the message goes: whether the target is the event's own session is
// for the caller to say. It doesn't clean text for the terminal or for the wire
// either; the inbox client does that to every body, whatever its source.
package hook

import (
	"errors"

	"github.com/tidwall/gjson"
)

const (
	// MaxBytes is how large an event may be, in bytes. Write events bear the
	// whole file, so megabytes are nothing unusual.
	MaxBytes = 32 << 20

	// MaxDepth is how many objects and arrays may lie within one another.
	// gjson's validity check recurses, and a stack overflow can't be recovered.
	MaxDepth = 1000
)

// Event is one hook event. Its fields are named as in golden/capture/hook-input,
// which was captured; one that is missing or of another type is empty, and an
// unknown event is as good as a known one, since new ones appear every few
// weeks. All are input: nothing about them was checked.
type Event struct {
	Name             string // hook_event_name
	SessionID        string // session_id
	PromptID         string // prompt_id, absent before the first prompt
	TranscriptPath   string // transcript_path, which may not exist yet
	Cwd              string // cwd
	StopHookActive   bool   // stop_hook_active: a Stop hook made this turn go on
	NotificationType string // notification_type
	AgentID          string // agent_id, inside a subagent only

	raw []byte
}

// Parse reads an event. It keeps raw, which must not change afterwards. Of
// equal keys the first counts. Every error is an *Error.
func Parse(raw []byte) (Event, error) {
	if len(raw) > MaxBytes {
		return Event{}, tooLarge(int64(len(raw)), true)
	}
	var s scan
	s.feed(raw)
	if s.state == deep {
		return Event{}, errTooDeep()
	}
	if err := s.end(nil); err != nil {
		return Event{}, err
	}
	raw = raw[s.start:]
	if !gjson.ValidBytes(raw) {
		return Event{}, &Error{Reason: NotJSON}
	}
	if raw[0] != '{' {
		return Event{}, &Error{Reason: NotObject, Err: errors.New("it is " + kind(raw[0]))}
	}
	e := Event{raw: raw}
	e.Name = e.str("hook_event_name")
	e.SessionID = e.str("session_id")
	e.PromptID = e.str("prompt_id")
	e.TranscriptPath = e.str("transcript_path")
	e.Cwd = e.str("cwd")
	e.StopHookActive = e.get("stop_hook_active").Type == gjson.True
	e.AgentID = e.str("agent_id")
	// A missing field costs a search through the whole event: 5 ms in one of
	// 20 MB. Only one event has this one.
	if e.Name == "Notification" {
		e.NotificationType = e.str("notification_type")
	}
	return e, nil
}

func (e Event) get(path string) gjson.Result { return gjson.GetBytes(e.raw, path) }

// str is the string at path, or empty where there is none.
func (e Event) str(path string) string {
	if v := e.get(path); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

func kind(first byte) string {
	switch first {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
