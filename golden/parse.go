package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Frame is one line for an inbox, as ParseLine reads it. A field that the line
// doesn't have is empty.
type Frame struct {
	Type  string // auth, user or control
	Token string // auth

	MsgV      int // user, from here to From
	MsgID     string
	Role      string
	Content   string
	Priority  string
	From      string
	SessionID string // user and control

	Action string // control
	Name   string // control

	Keys []string // the top-level keys in their order
}

// frameKeys are the keys that PROTOCOL.md, "Writing", knows for each type.
func frameKeys(typ string) []string {
	switch typ {
	case "auth":
		return []string{"type", "token"}
	case "user":
		return []string{"msgV", "msg_id", "type", "message", "priority", "from", "session_id"}
	case "control":
		return []string{"type", "action", "name", "session_id"}
	}
	return nil
}

// ParseLine reads one line, without its newline, that a client means to write
// into an inbox. It is stricter than a session: whatever a session would drop,
// ignore, or take without being asked to know, is an error here. So are keys
// that repeat or aren't known, text that isn't UTF-8 or has half a surrogate
// pair, and a line that is too long.
func ParseLine(line []byte) (Frame, error) {
	var f Frame
	switch {
	case tooLong(line):
		return f, fmt.Errorf("the line has %d UTF-16 units, over %d", utf16Len(line), maxLine)
	case bytes.IndexByte(line, '\n') >= 0:
		return f, errors.New("a newline inside the line")
	case !utf8.Valid(line):
		return f, errors.New("not UTF-8")
	case halfSurrogate(line):
		return f, errors.New("half a surrogate pair")
	}
	keys, fields, err := strictObject(line)
	if err != nil {
		return f, err
	}
	f.Keys = keys
	text := func(key string, into *string, rule func(string) bool) {
		raw, ok := fields[key]
		if !ok || err != nil {
			return
		}
		if raw[0] != '"' || json.Unmarshal(raw, into) != nil || !rule(*into) {
			err = fmt.Errorf("%s: not a proper value", key)
		}
	}
	text("type", &f.Type, filled)
	if err == nil && frameKeys(f.Type) == nil {
		err = fmt.Errorf("no line has the type %q", f.Type)
	}
	for _, key := range keys {
		if err == nil && !slices.Contains(frameKeys(f.Type), key) {
			err = fmt.Errorf("a line of type %s has no %q", f.Type, key)
		}
	}
	text("token", &f.Token, filled)
	text("msg_id", &f.MsgID, filled)
	text("priority", &f.Priority, func(s string) bool { return s == "next" || s == "later" || s == "now" })
	text("from", &f.From, func(s string) bool { return strings.HasPrefix(s, "uds:/") })
	text("session_id", &f.SessionID, filled)
	text("action", &f.Action, func(s string) bool { return s == "rename" })
	text("name", &f.Name, filled)
	if raw, ok := fields["msgV"]; ok && err == nil {
		if f.MsgV = 1; string(raw) != "1" {
			err = errors.New("msgV is not 1")
		}
	}
	if raw, ok := fields["message"]; ok && err == nil {
		keys, fields, err = strictObject(raw)
		if err == nil && len(keys) != 2 {
			err = errors.New("message has more or less than role and content")
		}
		text("role", &f.Role, func(s string) bool { return s == "user" })
		text("content", &f.Content, filled)
	}
	missing := f.Type == "auth" && f.Token == "" ||
		f.Type == "user" && (f.Role == "" || f.Content == "") ||
		f.Type == "control" && (f.Action == "" || f.Name == "")
	if err == nil && missing {
		err = fmt.Errorf("a line of type %s that says nothing", f.Type)
	}
	if err != nil {
		return Frame{}, err
	}
	return f, nil
}

func filled(s string) bool { return s != "" }

// strictObject gives an object's keys in their order and its values as they
// stand. Two equal keys, or anything after the object, are an error.
func strictObject(raw []byte) (keys []string, fields map[string]json.RawMessage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if open, err := decoder.Token(); err != nil {
		return nil, nil, err
	} else if open != json.Delim('{') {
		return nil, nil, errors.New("not an object")
	}
	fields = map[string]json.RawMessage{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, nil, errors.New("a key that is no string")
		}
		if _, ok := fields[key]; ok {
			return nil, nil, fmt.Errorf("two keys %q", key)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, err
		}
		keys, fields[key] = append(keys, key), value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, nil, errors.New("something after the object")
	}
	return keys, fields, nil
}

// halfSurrogate finds a \u escape of half a pair, which encoding/json would
// turn into U+FFFD without a word.
func halfSurrogate(line []byte) bool {
	unit := func(i int) rune { // of the \uXXXX at i; -1 where there is none
		if i+6 > len(line) || line[i] != '\\' || line[i+1] != 'u' {
			return -1
		}
		v, err := strconv.ParseUint(string(line[i+2:i+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(v)
	}
	for i := 0; i < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		switch u := unit(i); {
		case u >= 0xDC00 && u <= 0xDFFF:
			return true
		case u >= 0xD800 && u <= 0xDBFF:
			if low := unit(i + 6); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
		i++ // what the backslash escapes
	}
	return false
}

// Envelope is content that says who it is from. Every attribute is optional.
type Envelope struct {
	From, FromSession, HopChain, FromName, FromMode string

	Body string // the vendor's escapes undone
}

const (
	tag      = "cross-session-message"
	closeTag = "</" + tag + ">"
)

// ParseEnvelope reads content that is one envelope from its first to its last
// byte (PROTOCOL.md, "Who the message is from"). Attributes out of order, empty
// or with a quote, an angle bracket or a control character in them, and a tag
// inside the body that isn't escaped, in any case and spacing, are errors.
func ParseEnvelope(content string) (Envelope, error) {
	var e Envelope
	rest, ok := strings.CutPrefix(content, "<"+tag)
	if !ok {
		return Envelope{}, errors.New("no envelope")
	}
	for _, attribute := range []struct {
		name  string
		value *string
	}{
		{"from", &e.From}, {"from-session", &e.FromSession}, {"hop-chain", &e.HopChain}, {"from-name", &e.FromName}, {"from-mode", &e.FromMode},
	} {
		after, ok := strings.CutPrefix(rest, " "+attribute.name+`="`)
		if !ok {
			continue
		}
		*attribute.value, rest, ok = strings.Cut(after, `"`)
		if !ok || *attribute.value == "" || strings.ContainsFunc(*attribute.value, breaksAttribute) {
			return Envelope{}, fmt.Errorf("the value of %s", attribute.name)
		}
	}
	if utf8.RuneCountInString(e.FromName) > 64 {
		return Envelope{}, errors.New("a name of more than 64 characters")
	}
	if rest, ok = strings.CutPrefix(rest, ">\n"); !ok {
		return Envelope{}, errors.New("an attribute that is unknown, repeated or out of order, or no end of the opening tag")
	}
	if rest, ok = strings.CutSuffix(rest, "\n"+closeTag); !ok {
		return Envelope{}, errors.New("the closing tag isn't the last line")
	}
	var err error
	e.Body, err = unescape(rest)
	if err != nil {
		return Envelope{}, err
	}
	return e, nil
}

func breaksAttribute(r rune) bool {
	return r < ' ' || r == 0x7f || r == '<' || r == '>' || r == '"' || r == utf8.RuneError
}

// unescape takes the backslash out of `<\cross-session-message` and
// `<\/cross-session-message`, and finds those that have none.
func unescape(body string) (string, error) {
	var out strings.Builder
	for {
		at := strings.IndexByte(body, '<')
		if at < 0 {
			out.WriteString(body)
			return out.String(), nil
		}
		out.WriteString(body[:at+1])
		body = body[at+1:]
		inner, escaped := strings.CutPrefix(body, `\`)
		if !namesTag(inner) {
			continue
		}
		if !escaped {
			return "", errors.New("a tag inside the body")
		}
		body = inner
	}
}

// namesTag says whether what follows an angle bracket reads as our tag, also
// to a reader that minds neither case nor spacing, as a model is.
func namesTag(s string) bool {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	s = strings.TrimLeftFunc(strings.TrimPrefix(s, "/"), unicode.IsSpace)
	return len(s) >= len(tag) && strings.EqualFold(s[:len(tag)], tag)
}
