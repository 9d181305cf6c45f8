package inbox

import (
	"errors"
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
