package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ccpost/golden"
	"ccpost/inbox"
)

// entry is one post to one session: what it said, and what the session knows.
type entry struct {
	post   *post
	report report
	*session

	arrivals  []arrival // of this post's process, some of which may be empty of a message
	rows      int       // enqueue rows with its content
	twins     int       // posts of its content, this one included
	decisions []string  // of the user of a holding session
}

// messageIn is what of a connection's bytes belongs to the message line.
func messageIn(data []byte) []byte {
	_, message, _ := bytes.Cut(data, []byte{'\n'})
	return message
}

// whole reports whether data is the auth line and the message line of p, all of
// both and nothing else.
func (p *post) whole(data []byte) bool {
	lines := bytes.Split(data, []byte{'\n'})
	if len(lines) != 3 || len(lines[2]) != 0 {
		return false
	}
	auth, err := golden.ParseLine(lines[0])
	if err != nil || auth.Type != "auth" {
		return false
	}
	frame, err := golden.ParseLine(lines[1])
	if err != nil || frame.Type != "user" {
		return false
	}
	body := frame.Content
	if !p.raw {
		envelope, err := golden.ParseEnvelope(frame.Content)
		if err != nil {
			return false
		}
		body = envelope.Body
	}
	return body == p.body || p.body == "" && strings.Contains(body, p.mark)
}

// check says what is not true of what the post said; "" if all is.
func (e entry) check() string {
	name, r := e.report.Outcome, e.report
	var with []arrival // those with a message's bytes
	anything := false
	for _, a := range e.arrivals {
		anything = true
		if len(messageIn(append(bytes.Clone(a.read), a.left...))) > 0 {
			with = append(with, a)
		}
	}
	if len(with) > 1 || e.rows > e.twins {
		return "the message arrived twice"
	}
	arrived, read, whole := len(with) > 0, false, false
	if arrived {
		read = len(with[0].left) == 0 && e.post.whole(with[0].read)
		whole = e.post.whole(append(bytes.Clone(with[0].read), with[0].left...))
	}
	// What a session that was killed had not read yet is not known.
	lost := !e.exact

	switch exit := name.Exit(); {
	case name == inbox.Skipped:
		if arrived {
			return "bytes of the message arrived"
		}
	case exit == 0 && !read:
		return "the session did not read every byte"
	case 64 <= exit && exit <= 70 || exit == 75 || exit == 77 || exit == 78:
		if arrived {
			return "bytes of the message arrived"
		}
	}
	told := func(b golden.Behaviour) string {
		switch {
		case !read:
			return "the session did not read every byte"
		case e.Behaviour != b:
			return "the session never says so"
		}
		return ""
	}
	decided := func() string {
		for _, d := range e.decisions {
			if d == string(name) {
				return told(golden.Hold)
			}
		}
		return "nobody decided so"
	}
	said := ""
	switch name {
	case inbox.Queued:
		if e.rows == 0 {
			said = "no row says that the session took it"
		}
	case inbox.SentNoReceipt, inbox.Skipped:
	case inbox.Delivered, inbox.Denied, inbox.Expired:
		said = decided()
	case inbox.Held:
		said = told(golden.Hold)
	case inbox.Refused:
		said = told(golden.Refuse)
	case inbox.Dropped:
		if said = told(golden.Drop); said == "" && e.post.json && string(r.Reason) != e.DropReason {
			said = "the session gave another reason"
		}
	case inbox.AuthRejected:
		switch {
		case !e.StaleKey && e.Faults == 0:
			said = "the session refused nothing"
		case arrived:
			said = "bytes of the message arrived"
		case !anything && !lost:
			said = "the session was offered no token"
		}
	case inbox.ClosedAfterSend, inbox.NotRead:
		if !whole && !lost {
			said = "the message was not written whole"
		}
	case inbox.SocketError:
		if (!arrived || whole) && !lost {
			said = "the message was written whole, or not at all"
		}
	case inbox.NoInput, inbox.Timeout, inbox.SocketRefused, inbox.SocketMissing, inbox.SessionChanged, inbox.NotLive, inbox.NoSessionRecord,
		inbox.ForeignSocket, inbox.NotASocket, inbox.NoAuthKey:
	default:
		said = "nothing here comes to that"
	}
	if said != "" || !e.post.json {
		return said
	}
	evidence := map[inbox.Name]string{
		inbox.Queued: inbox.EvidenceTranscript, inbox.SentNoReceipt: inbox.EvidenceRead, inbox.Delivered: inbox.EvidenceReceipt,
		inbox.Held: inbox.EvidenceReceipt, inbox.Denied: inbox.EvidenceReceipt, inbox.Refused: inbox.EvidenceReceipt,
		inbox.Expired: inbox.EvidenceReceipt, inbox.Dropped: inbox.EvidenceReceipt,
	}[name]
	if evidence == "" && name != inbox.ClosedAfterSend {
		evidence = inbox.EvidenceNone
	}
	switch {
	case arrived && !r.Sent, !arrived && r.Sent && !lost:
		return fmt.Sprintf("sent is %v", r.Sent)
	case anything && r.Auth == inbox.AuthNone, !anything && r.Auth != inbox.AuthNone && !lost:
		return "auth is " + r.Auth
	case evidence != "" && r.Evidence != evidence:
		return "evidence is " + r.Evidence
	}
	return ""
}

// reconcile holds the session, which has ended, against all who posted to it.
func (s *session) reconcile(posts []*post) (wrong []string) {
	tapes, err := arrivals(s.orders)
	if err != nil {
		return []string{err.Error()}
	}
	rows, err := s.contents()
	if err != nil {
		return []string{err.Error()}
	}
	decided, err := os.ReadFile(s.decisions())
	if err != nil {
		return []string{err.Error()}
	}
	byPID := map[int]*entry{}
	var entries []*entry
	for _, p := range posts {
		e := &entry{post: p, session: s}
		for i, to := range p.sessions {
			if to == s && i < len(p.reports) {
				e.report = p.reports[i]
			}
		}
		byPID[p.pid] = e
		entries = append(entries, e)
	}
	for _, a := range tapes {
		all := append(bytes.Clone(a.read), a.left...)
		e := byPID[a.pid]
		if e == nil {
			wrong = append(wrong, fmt.Sprintf("pid %d posted to %s, which was not asked to: %.300q", a.pid, s, all))
			continue
		}
		if m := messageIn(all); len(m) > 0 && e.report.MsgID != "" && !begins(m, `{"msgV":1,"msg_id":"`+e.report.MsgID+`"`) {
			wrong = append(wrong, fmt.Sprintf("the message has another id: %.300q\n%s", all, e.post))
		}
		e.arrivals = append(e.arrivals, a)
	}
	twins, queued := map[string]int{}, map[string]int{}
	for _, e := range entries {
		twins[e.post.mark]++
		if e.report.Outcome == inbox.Queued {
			queued[e.post.mark]++
		}
	}
	for _, e := range entries {
		e.twins = twins[e.post.mark]
		if e.post.wrong != "" {
			continue // which is said once
		}
		for _, content := range rows {
			if strings.Contains(content, e.post.mark) {
				e.rows++
			}
		}
		for line := range strings.Lines(string(decided)) {
			if decision, id, _ := strings.Cut(strings.TrimSpace(line), " "); id == e.msgID() {
				e.decisions = append(e.decisions, decision)
			}
		}
		bad := e.check()
		if bad == "" && queued[e.post.mark] > e.rows {
			bad = "more posts of this text say that they are queued than were"
		}
		if bad != "" {
			text := fmt.Sprintf("%s: %s\n%s\n%s, %d rows, decisions %s", e.report.Outcome, bad, e.post, s, e.rows, e.decisions)
			for _, a := range e.arrivals {
				text += fmt.Sprintf("\nread %d: %.200q\nleft %d: %.200q", len(a.read), a.read, len(a.left), a.left)
			}
			wrong = append(wrong, text)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.sockets(), strings.Repeat("[0-9a-f]", 16)+".sock")); len(left) > 0 {
		wrong = append(wrong, fmt.Sprintf("left behind at %s: %s", s, left))
	}
	return wrong
}

// msgID is the id of the entry's message, as it arrived.
func (e *entry) msgID() string {
	for _, a := range e.arrivals {
		frame, err := golden.ParseLine(bytes.TrimSuffix(messageIn(a.read), []byte{'\n'}))
		if err == nil {
			return frame.MsgID
		}
	}
	return ""
}

// contents are those of the enqueue rows that the session wrote.
func (s *session) contents() (contents []string, err error) {
	kept, err := filepath.Glob(filepath.Join(s.rows(), "*"))
	if err != nil {
		return nil, err
	}
	// Of one that was killed the transcript stands where it stood.
	left, err := filepath.Glob(filepath.Join(s.ConfigDir, "projects", notInFolder.ReplaceAllString("/ledger/"+s.Name, "-"), "*.jsonl"))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, file := range append(kept, left...) {
		id := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		if seen[id] {
			continue
		}
		seen[id] = true
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(b) {
			var row struct{ Operation, Content string }
			if json.Unmarshal(line, &row) == nil && row.Operation == "enqueue" {
				contents = append(contents, row.Content)
			}
		}
	}
	return contents, nil
}

// remove takes away what is left of a session that has ended.
func (s *session) remove() error {
	var err error
	for _, pattern := range []string{
		filepath.Join(s.ConfigDir, "sessions", fmt.Sprintf("%d.*", s.pid)),
		filepath.Join(s.ConfigDir, "projects", notInFolder.ReplaceAllString("/ledger/"+s.Name, "-")),
		s.Dir,
	} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			err = errors.Join(err, os.RemoveAll(file))
		}
	}
	return err
}

// begins reports whether message begins with want, as far as it goes.
func begins(message []byte, want string) bool {
	n := min(len(message), len(want))
	return string(message[:n]) == want[:n]
}
