package inbox

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"

	"ccpost/redact"
)

// appendAuth appends the auth line. It is the only place where the program
// takes the characters out of a token (redact's TestOneWriter); redact.Parse
// has made sure that they need no escaping.
func appendAuth(dst []byte, t redact.Token) []byte {
	dst = append(dst, `{"type":"`+TypeAuth+`","token":"`...)
	dst = append(dst, t.Reveal()...)
	return append(dst, "\"}\n"...)
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
		// Room for a body with a few escapes, and what stands around it.
		b := make([]byte, 0, len(content)+len(content)/8+512)
		b = append(b, `{"msgV":1,"msg_id":`...)
		b = appendString(b, msgID)
		b = append(b, `,"type":"`+TypeUser+`","message":{"role":"`+RoleUser+`","content":`...)
		b = appendString(b, content)
		b = append(b, `},"priority":`...)
		b = appendString(b, priority)
		if from != "" {
			b = append(b, `,"from":`...)
			b = appendString(b, from)
		}
		return endLine(b, sessionID)
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
			b := []byte(`{"type":"` + TypeControl + `","action":"` + actionRename + `","name":`)
			return endLine(appendString(b, folded), sessionID)
		}, nil
	}
	return nil, Fail(BadRequest, ReasonBadName, errors.New(problem))
}

// endLine ends a line with its session, where it is for one, and refuses one
// that is longer than a session takes.
func endLine(b []byte, sessionID string) ([]byte, *Error) {
	if sessionID != "" {
		b = append(b, `,"session_id":`...)
		b = appendString(b, sessionID)
	}
	b = append(b, '}')
	if n := utf16Len(b); n > MaxLine {
		return nil, Fail(BadRequest, ReasonTooLarge,
			fmt.Errorf("as one line it has %d characters, and a session takes at most %d", n, MaxLine))
	}
	return append(b, '\n'), nil
}

// appendString appends s as JSON. It is what encoding/json makes of it without
// HTML escaping, which would double the size of a diff, and with U+2028 and
// U+2029 escaped: a test holds it to that. Not encoding/json, because its
// reflection costs a hook more than the whole way to the socket.
func appendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0 // what of s is in dst
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[done:i]...)
			if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
				dst = append(dst, '\\', `"\bfnrt`[at])
			} else {
				dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
			}
			i++
			done = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[done:i]...), `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[done:i]...), '\\', 'u', '2', '0', '2', digits[r&0xf])
		default:
			i += size
			continue
		}
		i += size
		done = i
	}
	return append(append(dst, s[done:]...), '"')
}

// utf16Len counts UTF-16 units, in which the session measures its lines.
func utf16Len(b []byte) int {
	n := 0
	for i := 0; i < len(b); n++ {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if i += size; r > 0xffff {
			n++
		}
	}
	return n
}

// newMsgID makes a random (version 4) UUID. The runtime's generator behind
// math/rand/v2 is ChaCha8: an id has to be unlike others, not secret.
func newMsgID() string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], rand.Uint64()&^0xf000|0x4000)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()&^(3<<62)|2<<62)
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
