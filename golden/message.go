package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// peer is the process at the other end of a connection, where the system says.
type peer struct {
	pid   int
	known bool
}

// message is a message line on its way through the session.
type message struct {
	Message
	content string // as sent, the envelope included
	from    string
	sender  peer
}

type heldMessage struct {
	message
	told chan struct{} // closed when the `held` receipt is out
}

// take deals with one line; false closes the connection.
func (s *Session) take(line []byte, first bool, sender peer) bool {
	s.note(line)
	frame := looseObject(line)
	if first && s.cfg.Behaviour == AuthRequired && !s.authentic(frame) {
		return false
	}
	// Auth lines change nothing else: a wrong token is not refused.
	switch str(frame["type"]) {
	case "user":
		s.takeUser(frame, sender)
	case "control":
		if str(frame["action"]) == "rename" {
			s.rename(frame)
		}
	}
	return s.cfg.Behaviour != CloseEarly
}

func (s *Session) note(line []byte) {
	s.onLine.Lock()
	defer s.onLine.Unlock()
	s.mu.Lock()
	s.lines = append(s.lines, bytes.Clone(line))
	s.mu.Unlock()
	if s.cfg.OnLine != nil {
		s.cfg.OnLine(bytes.Clone(line))
	}
}

func (s *Session) authentic(frame map[string]json.RawMessage) bool {
	token := str(frame["token"])
	return str(frame["type"]) == "auth" && (token == s.cfg.Token || token == s.cfg.PeerToken)
}

func (s *Session) takeUser(frame map[string]json.RawMessage, sender peer) {
	inner := looseObject(frame["message"])
	content := str(inner["content"])
	if str(inner["role"]) != "user" || content == "" || !s.meant(frame) {
		return
	}
	m := message{
		Message: Message{Body: content, MsgID: str(frame["msg_id"]), Priority: str(frame["priority"])},
		content: content,
		from:    str(frame["from"]),
		sender:  sender,
	}
	if e, err := ParseEnvelope(content); err == nil {
		m.Body, m.FromName = e.Body, e.FromName
	}
	switch s.cfg.Behaviour {
	case Hold:
		s.hold(m)
	case Refuse:
		s.after(s.cfg.ReceiptDelay, func() { s.tell(m, receipt{Status: "expired", StatusDetail: "refused"}) })
	case Drop:
		s.after(s.cfg.ReceiptDelay, func() {
			s.tell(m, receipt{Status: "dropped", DropReason: s.cfg.DropReason, DroppedMsgIDs: []string{}})
		})
	default:
		s.show(m)
	}
}

// meant says whether the frame is for the session as it is now: one that names
// a session_id must name the current one.
func (s *Session) meant(frame map[string]json.RawMessage) bool {
	id := frame["session_id"]
	s.mu.Lock()
	defer s.mu.Unlock()
	return id == nil || string(id) == "null" || str(id) == s.realID
}

// show gives the message to the model: the row first, so that whoever saw
// Wait return finds it where no delay was asked for.
func (s *Session) show(m message) {
	if s.cfg.Transcript && s.cfg.ConfigDir != "" {
		s.mu.Lock()
		id := s.realID
		s.mu.Unlock()
		s.after(s.cfg.TranscriptDelay, func() { s.fail(s.writeRow(id, m.content)) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m.Message)
	s.tellNews()
}

func (s *Session) hold(m message) {
	h := heldMessage{m, make(chan struct{})}
	s.mu.Lock()
	s.held[m.MsgID] = h
	s.mu.Unlock()
	s.after(s.cfg.ReceiptDelay, func() {
		defer close(h.told)
		s.tell(m, receipt{Status: "held"})
	})
}

// Release does what the session's user does to a held message by approving:
// the session tells `delivered` and takes it. An error when none such is held.
func (s *Session) Release(msgID string) error {
	m, err := s.decide(msgID, "delivered")
	if err == nil {
		s.show(m)
	}
	return err
}

// Deny is the user's no to a held message.
func (s *Session) Deny(msgID string) error {
	_, err := s.decide(msgID, "denied")
	return err
}

// Expire is the end of a held message that nobody decided on.
func (s *Session) Expire(msgID string) error {
	_, err := s.decide(msgID, "expired")
	return err
}

func (s *Session) decide(msgID, status string) (message, error) {
	s.mu.Lock()
	h, ok := s.held[msgID]
	delete(s.held, msgID)
	s.mu.Unlock()
	if !ok {
		return message{}, fmt.Errorf("no message %q is held", msgID)
	}
	select {
	case <-h.told: // the sender must not hear of the decision first
	case <-s.done:
		return message{}, fmt.Errorf("the session was closed while message %q was held", msgID)
	}
	s.tell(h.message, receipt{Status: status})
	return h.message, nil
}

// receipt has the fields of capture/receipts.ndjson in their order.
type receipt struct {
	Type          string   `json:"type"`
	Action        string   `json:"action"`
	Status        string   `json:"status"`
	StatusDetail  string   `json:"status_detail,omitzero"`
	Reason        string   `json:"reason"`
	From          string   `json:"from"`
	OrigMsgID     string   `json:"orig_msg_id"`
	DropReason    string   `json:"drop_reason,omitzero"`
	DroppedMsgIDs []string `json:"dropped_msg_ids,omitzero"`
	MsgV          int      `json:"msgV"`
	MsgID         string   `json:"msg_id"`
}

// tell writes one receipt to the reply socket, if the message names a proper
// one that its own sender listens on; else to nobody. Nobody being there is no
// error of the session's.
func (s *Session) tell(m message, r receipt) {
	path, ok := strings.CutPrefix(m.from, "uds:")
	if !ok || m.MsgID == "" || path != filepath.Clean(path) ||
		filepath.Dir(path) != s.cfg.SocketDir || filepath.Ext(path) != ".sock" {
		return
	}
	id, err := newUUID()
	if err != nil {
		s.fail(err)
		return
	}
	r.Type, r.Action, r.Reason = "control", "peer_message_status", "(the vendor's sentence for a person)"
	r.From, r.OrigMsgID, r.MsgV, r.MsgID = "uds:"+s.path, m.MsgID, 1, id
	line, err := marshalLine(r)
	if err != nil {
		s.fail(err)
		return
	}
	fd, err := newSocket()
	if err != nil {
		s.fail(err)
		return
	}
	defer unix.Close(fd)
	if unix.Connect(fd, &unix.SockaddrUnix{Name: path}) != nil {
		return
	}
	// Whoever else listens there must not learn what became of the message.
	if pid, known := peerPID(fd); known && m.sender.known && pid != m.sender.pid {
		return
	}
	_, _ = unix.Write(fd, line)
}

func (s *Session) rename(frame map[string]json.RawMessage) {
	name := str(frame["name"])
	if s.cfg.Headless || name == "" || !s.meant(frame) {
		return
	}
	s.mu.Lock()
	s.record.named(name, "peer")
	err := s.writeRecord()
	s.mu.Unlock()
	s.fail(err)
}

// looseObject reads as the session does: any object, unknown and repeated keys
// too, and nothing (whose every field is absent) from what is no object.
// It is a map because encoding/json would match a struct's keys in any case.
func looseObject(raw []byte) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// str gives a JSON string's value, and "" for anything else.
func str(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// marshalLine is JSON as the vendor writes it, without HTML's escapes, and a
// newline.
func marshalLine(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return out.Bytes(), err
}
