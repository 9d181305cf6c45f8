package hook

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText is the length of a text in bytes, at most, the notice of what was cut
// included.
const MaxText = 16 << 10

// rule is what is special about one event.
type rule struct {
	event string
	facts []fact // what the default text says, in this order
	loop  string // why it must not be posted to its own session, see Event.Guard
	only  string // notification_type that loop is limited to

	between bool // it comes between turns, whose messages it can't answer
}

// fact is a field that the default text may show. Only fields that a person
// watching over the session's shoulder is meant to see are here: never a
// prompt, a tool's input or response, a file's content, a transcript, a summary
// or what a user typed.
type fact struct {
	path string
	line bool // its first line only
}

// rules holds every event that is known. Any other is told by its name and
// directory, as are those here without facts.
var rules = []rule{
	{
		event: "Stop",
		facts: []fact{{path: "last_assistant_message"}},
		loop:  "the message would start a turn that ends in Stop again",
	},
	{
		event: "SubagentStop",
		facts: []fact{{path: "last_assistant_message"}},
		loop:  "the message would start a turn that may run the subagent again",
	},
	{
		event: "StopFailure",
		facts: []fact{{path: "error", line: true}},
		loop:  "the message would start a turn that may fail again",
	},
	{
		event: "Notification",
		facts: []fact{{path: "title", line: true}, {path: "message"}},
		loop:  "the message would start a turn that ends in waiting again",
		only:  "idle_prompt",
	},
	{
		event: "PostToolUseFailure",
		facts: []fact{{path: "tool_name", line: true}, {path: "error", line: true}},
	},
	{
		event: "TaskCompleted",
		facts: []fact{{path: "task_subject", line: true}},
	},
	{
		event: "FileChanged",
		facts: []fact{{path: "file_path", line: true}, {path: "event", line: true}},
	},
	{
		event: "TeammateIdle",
		loop:  "the message would start a turn after which the teammate is idle again",
	},
	{
		event: "UserPromptSubmit",
		loop:  "the message would be a prompt and fire UserPromptSubmit again",
	},
	{
		event: "SessionEnd",
		loop:  "the session is ending and would not read the message",

		between: true,
	},
	{
		event:   "SessionStart",
		between: true,
	},
	{event: "PreToolUse"},
	{event: "PostToolUse"},
	{event: "PostToolBatch"},
	{event: "PermissionRequest"},
	{event: "PermissionDenied"},
	{event: "TaskCreated"},
	{event: "SubagentStart"},
	{event: "PreCompact"},
	{event: "PostCompact"},
	{event: "CwdChanged"},
	{event: "DirectoryAdded"},
	{event: "ConfigChange"},
	{event: "WorktreeCreate"},
	{event: "WorktreeRemove"},
	{event: "Elicitation"},
	{event: "ElicitationResult"},
}

func (e Event) rule() rule {
	r, _ := ruleOf(e.Name)
	return r
}

func ruleOf(event string) (r rule, known bool) {
	for _, r := range rules {
		if r.event == event {
			return r, true
		}
	}
	return rule{}, false
}

// Known reports whether an event is among those that are documented or were
// captured. New ones appear every few weeks.
func Known(event string) bool {
	_, known := ruleOf(event)
	return known
}

// Text is the default text: the event and the directory's name, which the
// terminal's preview shows, then the event's facts. Without any it is the event
// and the directory's name alone. It is valid UTF-8 of at most MaxText bytes,
// and never blank.
func (e Event) Text() string {
	var facts []string
	for _, f := range e.rule().facts {
		s := strings.TrimSpace(e.str(f.path))
		if i := strings.IndexAny(s, "\r\n"); f.line && i >= 0 {
			s = strings.TrimSpace(s[:i])
		}
		if !isBlank(s) {
			facts = append(facts, s)
		}
	}
	if facts == nil {
		return e.head()
	}
	return Cap(e.head()+": "+strings.Join(facts, ": "), MaxText)
}

// head is the event and the base name of its directory, on one line.
func (e Event) head() string {
	name := oneLine(e.Name, 64)
	if name == "" {
		name = "hook event"
	}
	if isBlank(e.Cwd) {
		return name
	}
	// 255 bytes is what a file system allows a name; the field may hold more.
	dir := oneLine(path.Base(e.Cwd), 255)
	if dir == "" {
		return name
	}
	return name + " in " + dir
}

// oneLine is at most n characters of s, without control characters or breaks.
func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.TrimSpace(s)
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// isBlank says that nothing of s would be left to read once it is cleaned.
func isBlank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsControl(r) }) < 0
}

// Cap cuts text to at most limit bytes of valid UTF-8, ending in a notice of how
// many bytes were cut where the limit has room for one. Bytes that aren't UTF-8
// become U+FFFD.
func Cap(text string, limit int) string { return capped(text, 0, limit) }

// capped is Cap for a text of which the last rest bytes were left out already.
func capped(text string, rest, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if rest == 0 && len(text) <= limit {
		return text
	}
	// The largest number there could be, so that the real one has room.
	room := limit - len(notice(len(text)+rest))
	if room < 0 {
		return text[:boundary(text, limit)]
	}
	keep := boundary(text, room)
	return text[:keep] + notice(len(text)-keep+rest)
}

func notice(n int) string { return fmt.Sprintf("\n[… %d bytes cut]", n) }

// boundary is the end of the last whole character within the first n bytes.
func boundary(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return max(n, 0)
}
