package inbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"

	"ccpost/redact"
)

// frame is the message line. The order of its fields is the order on the wire.
type frame struct {
	MsgV      int         `json:"msgV"`
	MsgID     string      `json:"msg_id"`
	Type      string      `json:"type"`
	Message   userMessage `json:"message"`
	Priority  string      `json:"priority"`
	From      string      `json:"from,omitempty"`
	SessionID string      `json:"session_id,omitempty"`
}

type userMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// appendAuth appends the auth line. It is the only place where the program
// takes the characters out of a token (redact's TestOneWriter); redact.Parse
// has made sure that they need no escaping.
func appendAuth(dst []byte, t redact.Token) []byte {
	dst = append(dst, `{"type":"`+TypeAuth+`","token":"`...)
	dst = append(dst, t.Reveal()...)
	return append(dst, "\"}\n"...)
}

// rename is the control line that gives a session another name.
type rename struct {
	Type      string `json:"type"`
	Action    string `json:"action"`
	Name      string `json:"name"`
	SessionID string `json:"session_id,omitempty"`
}

// line encodes what is to be sent to the session with this id. from is the
// address for receipts, "" for none.
type line func(sessionID, from string) ([]byte, *Error)

// content gives what the frame carries: the body cleaned and escaped, in its
// envelope. It refuses what a session would drop without a word.
func (m Message) content() (string, *Error) {
	switch m.Priority {
	case "", "next", "later", "now":
	default:
		return "", Fail(BadRequest, ReasonBadPriority, fmt.Errorf("priority is next, later or now, not %q", m.Priority))
	}
	content := escapeTags(Clean(m.Body))
	if strings.TrimSpace(content) == "" {
		return "", Fail(BadRequest, ReasonEmptyMessage, errors.New("it is empty"))
	}
	if !m.Raw {
		content = envelope(m.From, content)
	}
	return content, nil
}

// line makes the message line.
func (m Message) line(msgID, content string) line {
	priority := m.Priority
	if priority == "" {
		priority = "next"
	}
	return func(sessionID, from string) ([]byte, *Error) {
		return encode(frame{
			MsgV: 1, MsgID: msgID, Type: TypeUser,
			Message:  userMessage{RoleUser, content},
			Priority: priority, From: from, SessionID: sessionID,
		})
	}
}

// maxSessionName is the longest name that rename gives, in characters.
const maxSessionName = 120

// renameLine makes the line for a new name, its white space folded.
func renameLine(name string) (line, *Error) {
	folded := strings.Join(strings.Fields(name), " ")
	var problem string
	switch n := utf8.RuneCountInString(folded); {
	case !utf8.ValidString(folded):
		problem = "it is not UTF-8"
	case strings.ContainsFunc(folded, unicode.IsControl):
		problem = "it has control characters"
	case n == 0:
		problem = "it is empty"
	case n > maxSessionName:
		problem = fmt.Sprintf("it has %d characters, and a name at most %d", n, maxSessionName)
	default:
		return func(sessionID, _ string) ([]byte, *Error) {
			return encode(rename{TypeControl, actionRename, folded, sessionID})
		}, nil
	}
	return nil, Fail(BadRequest, ReasonBadName, errors.New(problem))
}

// encode makes one line of a frame, no longer than a session takes.
func encode(frame any) ([]byte, *Error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	// HTML escaping would double the size of a diff. The encoder escapes
	// U+2028 and U+2029 all the same.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(frame); err != nil {
		return nil, Fail(BadRequest, "", err)
	}
	if n := utf16Len(b.Bytes()) - 1; n > MaxLine {
		return nil, Fail(BadRequest, ReasonTooLarge,
			fmt.Errorf("as one line it has %d characters, and a session takes at most %d", n, MaxLine))
	}
	return b.Bytes(), nil
}

// utf16Len counts UTF-16 units, in which the session measures its lines.
func utf16Len(b []byte) int {
	n := 0
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if n++; r > 0xffff {
			n++
		}
		b = b[size:]
	}
	return n
}

// newMsgID makes a random (version 4) UUID. The runtime's generator behind
// math/rand/v2 is ChaCha8: an id has to be unlike others, not secret.
func newMsgID() string {
	hi, lo := rand.Uint64(), rand.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}
