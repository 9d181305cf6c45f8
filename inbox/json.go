package inbox

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// CheckJSON reports whether data is one valid JSON document in UTF-8, nested at
// most depth deep. The depth is measured first, by a flat scan: the validity
// check behind it recurses, and a stack overflow can't be recovered.
func CheckJSON(data []byte, depth int) error {
	open, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if open++; open > depth {
				return errors.New("nested too deep")
			}
		case c == '}' || c == ']':
			if open--; open < 0 {
				return errors.New("not JSON")
			}
		}
	}
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	if !gjson.ValidBytes(data) {
		return errors.New("not JSON")
	}
	return nil
}

// member is one value of an object.
type member struct{ gjson.Result }

// str is a string, "" for anything else.
func (m member) str() string {
	if m.Type == gjson.String {
		return m.Str
	}
	return ""
}

// lists reports whether it is an array that holds the string s.
func (m member) lists(s string) (found bool) {
	if m.IsArray() {
		m.ForEach(func(_, v gjson.Result) bool {
			found = v.Type == gjson.String && v.Str == s
			return !found
		})
	}
	return found
}

// members gives these members of the one object in data. It is false for
// anything else, and where one of them stands there twice: readers differ in
// which of the two they take.
func members(data []byte, depth int, keys ...string) (map[string]member, bool) {
	if CheckJSON(data, depth) != nil {
		return nil, false
	}
	doc := gjson.ParseBytes(data)
	found, ok := map[string]member{}, doc.IsObject()
	doc.ForEach(func(k, v gjson.Result) bool {
		key := k.String()
		if !slices.Contains(keys, key) {
			return true
		}
		_, twice := found[key]
		found[key] = member{v}
		ok = ok && !twice
		return ok
	})
	return found, ok
}
