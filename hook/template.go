package hook

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// part is literal text, or the field at path.
type part struct {
	text string // literal text, or the field's default
	path string // empty for literal text
}

// CheckTemplate says whether Event.Expand would take the template, so that a
// bad one is refused before standard input is read.
func CheckTemplate(template string) error {
	_, err := parts(template)
	return err
}

// Expand is a text of the caller's own making. In it, {tool_input.file_path} is
// the field there, by keys and array indexes of letters, digits, _ and -; all
// else that gjson knows in a path is off. {path|default} is the default where
// the field is missing or null. A string stands for itself, any other value as
// it is in the event. {{ and }} are braces, as is a single }. A template names
// its fields, so private ones are allowed here.
//
// Where all of it is blank, the event and the directory's name stand instead.
// The text is valid UTF-8 of at most MaxText bytes. The error is an *Error with
// BadTemplate.
func (e Event) Expand(template string) (string, error) {
	list, err := parts(template)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	rest, empty := 0, true
	for _, p := range list {
		s := p.text
		if p.path != "" {
			s = e.value(p)
		}
		s = strings.ToValidUTF8(s, "\uFFFD")
		empty = empty && isBlank(s)
		// A template may name a field of 20 MB a hundred times: what is beyond
		// the limit is counted, not kept.
		n := boundary(s, MaxText+1-b.Len())
		b.WriteString(s[:n])
		rest += len(s) - n
	}
	if empty {
		return e.head(), nil
	}
	return capped(b.String(), rest, MaxText), nil
}

func (e Event) value(p part) string {
	switch v := e.get(p.path); v.Type {
	case gjson.Null:
		return p.text
	case gjson.String:
		return v.Str
	default:
		return v.Raw
	}
}

func parts(template string) ([]part, error) {
	var list []part
	for at := 0; at < len(template); {
		rest := template[at:]
		switch i := strings.IndexAny(rest, "{}"); {
		case i < 0:
			return append(list, part{text: rest}), nil
		case i > 0:
			list = append(list, part{text: rest[:i]})
			at += i
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			list = append(list, part{text: rest[:1]})
			at += 2
		case rest[0] == '}':
			list = append(list, part{text: "}"})
			at++
		default:
			end := strings.IndexAny(rest[1:], "{}")
			if end < 0 || rest[1+end] == '{' {
				return nil, bad("the { at byte %d is not closed", at)
			}
			path, def, _ := strings.Cut(rest[1:1+end], "|")
			if !plain(path) {
				return nil, bad("no field can have the name in the { at byte %d: keys of letters, digits, _ and -, with dots between", at)
			}
			list = append(list, part{text: def, path: path})
			at += end + 2
		}
	}
	return list, nil
}

func bad(format string, at int) *Error {
	return &Error{BadTemplate, fmt.Errorf(format, at)}
}

// plain holds a path to keys and indexes. gjson takes modifiers, queries, wild
// cards, multipaths and, by two dots, lines of JSON; none of it gets through.
func plain(path string) bool {
	for key := range strings.SplitSeq(path, ".") {
		if key == "" || strings.Trim(key, keyBytes) != "" {
			return false
		}
	}
	return true
}

const keyBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
