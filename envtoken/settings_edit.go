package envtoken

import (
	"bytes"
	"slices"
)

// newSettings is a settings file that sets nothing else.
const newSettings = "{\n}\n"

// with gives the file with the setting at v, every other byte as it was. A new
// member goes in first, right after the brace, spaced as the one that follows:
// so without, which takes all from the brace to the comma, gives back the very
// bytes, whatever they were.
func (d *settingsDoc) with(v Inbound) []byte {
	value := `"` + string(v) + `"`
	if d.found > 0 {
		return splice(d.data, d.start, d.start+len(d.value.Raw), value)
	}
	at := d.brace + 1
	rest := bytes.TrimLeft(d.data[at:], " \t\r\n")
	space := string(d.data[at : len(d.data)-len(rest)])
	member := `"` + settingsKey + `":` + value
	if space != "" {
		member = `"` + settingsKey + `": ` + value
	}
	if rest[0] != '}' {
		return splice(d.data, at, at, space+member+",")
	}
	// The object is empty, and its space stands before the closing brace.
	if i := bytes.IndexByte([]byte(space), '\n'); i >= 0 {
		member = space[:i+1] + "  " + member
	}
	return splice(d.data, at, at, member)
}

// without gives the file without the setting: all from the brace to the comma
// where it is the first member, else all from the comma before it.
func (d *settingsDoc) without() []byte {
	if d.found == 0 {
		return d.data
	}
	end := d.start + len(d.value.Raw)
	if d.comma >= 0 {
		return splice(d.data, d.comma, end, "")
	}
	if rest := bytes.TrimLeft(d.data[end:], " \t\r\n"); rest[0] == ',' {
		end = len(d.data) - len(rest) + 1
	}
	return splice(d.data, d.brace+1, end, "")
}

// splice gives data with the bytes from i to j replaced.
func splice(data []byte, i, j int, by string) []byte {
	return slices.Concat(data[:i], []byte(by), data[j:])
}
