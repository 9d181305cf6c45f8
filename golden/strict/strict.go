// Package strict is a second reading of JSON documents, by encoding/json, for
// the tests that hold the small binary's own reading against it. It is slow and
// it shares nothing with what it is held against.
package strict

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// Member is one member of an object; its value is as encoding/json decodes it
// into an any, but for numbers, which are a json.Number: there is no limit to
// those in JSON.
type Member struct {
	Key   string
	Value any
}

// Object gives the members of an object in their order, equal keys and all. It
// is false for what is not one valid JSON object in UTF-8, nested at most depth
// deep.
func Object(data []byte, depth int) (members []Member, ok bool) {
	if !utf8.Valid(data) || !json.Valid(data) || deeper(data, depth) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		m := Member{}
		if err != nil || d.Decode(&m.Value) != nil {
			return nil, false
		}
		m.Key, _ = key.(string)
		members = append(members, m)
	}
	return members, true
}

func deeper(data []byte, depth int) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for open := 0; ; {
		t, err := d.Token()
		if err == io.EOF {
			return false
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if open++; open > depth {
				return true
			}
		case json.Delim('}'), json.Delim(']'):
			open--
		}
	}
}

// Once gives the members with these keys by their key. It is false where one of
// them stands there twice.
func Once(members []Member, keys ...string) (found map[string]any, ok bool) {
	found = map[string]any{}
	for _, key := range keys {
		for _, m := range members {
			if m.Key != key {
				continue
			}
			if _, twice := found[key]; twice {
				return nil, false
			}
			found[key] = m.Value
		}
	}
	return found, true
}
