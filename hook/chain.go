package hook

import (
	"bytes"
	"context"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

const (
	// maxSearch is how far back in a transcript a turn's beginning is looked
	// for, in bytes.
	maxSearch = 1 << 20

	// firstStep and searchStep are how much of it is read at first and, doubling,
	// at a time. Most events come shortly after their turn began.
	firstStep  = 8 << 10
	searchStep = 64 << 10

	// late is how long a turn's rows are waited for, at most: a session writes
	// them some time after the turn began, which short turns can end before.
	late = 250 * time.Millisecond

	// lookAgain is between two looks.
	lookAgain = 10 * time.Millisecond
)

const chained = " comes from a turn that a message from another process started, so two such hooks would answer each other without end; lift this guard with --allow-chain"

// Chain says whether this event must not become a message to any session,
// because its turn was started by one, and why. A message from another session
// (its SendMessage) is none of those: who asked for the work gets its report.
//
// transcript opens the file at TranscriptPath, and is called only where the
// answer is in there. A transcript that can't be read, or in which the turn's
// beginning isn't found, lifts the guard; where it has nothing of the turn yet, it
// is given a quarter of a second, as far as the context allows.
func (e Event) Chain(ctx context.Context, transcript func() (*os.File, error)) (reason string, skip bool) {
	switch {
	case e.rule().between:
		return "", false
	case e.Name == "UserPromptSubmit": // the turn's row isn't written yet
		skip = posted(e.str("prompt"))
	case e.TranscriptPath != "":
		f, err := transcript()
		if err != nil {
			return "", false
		}
		defer f.Close()
		skip = e.postedTurn(ctx, f)
	}
	if skip {
		reason = e.Name + chained
	}
	return reason, skip
}

// posted reports whether a prompt is a message that no session sent.
func posted(prompt string) bool {
	attributes, ok := strings.CutPrefix(prompt, "<cross-session-message")
	if !ok {
		return false
	}
	attributes, _, _ = strings.Cut(attributes, ">")
	_, from, _ := strings.Cut(attributes, ` from="`)
	from, _, _ = strings.Cut(from, `"`)
	return !sessionOwn(from)
}

// sessionOwn reports whether an address is the socket of a session, which is
// named by its pid. Those of posters have 16 hexadecimal digits or no number.
func sessionOwn(address string) bool {
	pid, ok := strings.CutSuffix(path.Base(address), ".sock")
	const most = 10 // digits of the largest pid on any system
	return ok && strings.HasPrefix(address, "uds:/") && pid != "" && len(pid) <= most && strings.Trim(pid, "0123456789") == ""
}

// postedTurn looks whether a poster's message began the event's turn.
func (e Event) postedTurn(ctx context.Context, transcript *os.File) bool {
	for until := time.Now().Add(late); ; time.Sleep(lookAgain) {
		info, err := transcript.Stat()
		if err != nil {
			return false
		}
		posted, written := e.search(transcript, info.Size())
		if written || ctx.Err() != nil || time.Now().After(until) {
			return posted
		}
	}
}

// search goes through a transcript backwards to the row that began the event's
// turn. written says that there is anything of that turn.
func (e Event) search(transcript io.ReaderAt, size int64) (posted, written bool) {
	room := int(min(size, maxSearch))
	buf := make([]byte, room) // filled from its end; most of it is never touched
	offset := size - int64(room)
	for begin, end, step := room, room, firstStep; begin > 0; step = min(2*step, searchStep) {
		n := min(step, begin)
		begin -= n
		if _, err := transcript.ReadAt(buf[begin:begin+n], offset+int64(begin)); err != nil {
			return false, true
		}
		rows := buf[begin:end]
		if begin > 0 || offset > 0 {
			// The first row's beginning isn't read yet: it belongs to the next step.
			cut := bytes.IndexByte(rows, '\n') + 1
			rows, end = rows[cut:], begin+cut
		}
		written = written || e.PromptID == "" || bytes.Contains(rows, []byte(e.PromptID))
		if posted, found := e.beginning(rows); found {
			return posted, written
		}
	}
	return false, written
}

// beginning looks among whole rows for how the turn began. Every row of a turn
// that tells its prompt id tells the same one, and where a poster's message
// began it, one of them says so; those of an earlier turn end the search. For an
// event without a prompt id the last turn's row counts.
func (e Event) beginning(rows []byte) (posted, found bool) {
	const key = `"promptId":"`
	needle := []byte(e.PromptID)
	if e.PromptID == "" {
		needle = []byte(`"user"`)
	}
	rest := rows
	if e.PromptID != "" && !bytes.Contains(rows, []byte(`"peer"`)) {
		rest = nil // as nearly always: no poster's message is among them
	}
	for {
		at := bytes.Index(rest, needle)
		if at < 0 {
			break
		}
		start := bytes.LastIndexByte(rest[:at], '\n') + 1
		row, after, _ := bytes.Cut(rest[start:], []byte("\n"))
		if p, tells := e.began(row); tells {
			posted, found = p, true
			if p && e.PromptID != "" {
				return true, true
			}
		}
		rest = after
	}
	if e.PromptID != "" {
		_, first, ok := bytes.Cut(rows, []byte(key)) // in a text its quotes would be escaped
		return false, ok && !bytes.HasPrefix(first, []byte(e.PromptID+`"`))
	}
	return posted, found
}

// began reads one row: whether a poster's message began its turn, where the row
// tells how a turn began. Rows of tool results, of hooks that made the turn go
// on and of a compaction don't.
func (e Event) began(row []byte) (posted, tells bool) {
	var s scan
	if s.feed(row); s.state != whole || !gjson.ValidBytes(row) {
		return false, false
	}
	doc := gjson.ParseBytes(row)
	if doc.Get("type").Str != "user" || e.PromptID != "" && doc.Get("promptId").Str != e.PromptID ||
		doc.Get("message.content.0.type").Str == "tool_result" {
		return false, false
	}
	if origin := doc.Get("origin"); origin.Get("kind").Str == "peer" {
		return !sessionOwn(origin.Get("from").Str), true
	}
	return false, !doc.Get("isMeta").Bool() && !doc.Get("isCompactSummary").Bool() && !doc.Get("isSidechain").Bool()
}
