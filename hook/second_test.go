package hook_test

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// at is the value at a path of keys and indexes as encoding/json reads it, nil
// where there is none. Of equal keys the first counts, as in an event.
func at(doc []byte, path ...string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(doc))
	if len(path) == 0 {
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return nil
		}
		return v
	}
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return nil
	}
	index, err := strconv.ParseUint(path[0], 10, 63)
	for i := uint64(0); d.More(); i++ {
		found := err == nil && i == index
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return nil
			}
			found = key == path[0]
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return nil
		}
		if found {
			return at(v, path[1:]...)
		}
	}
	return nil
}

// text is the string that a value is, empty for any other.
func text(v json.RawMessage) string {
	var s string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
