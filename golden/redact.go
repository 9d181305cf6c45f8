package golden

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

const redacted = "[redacted]"

// Redact gives a line as it may be shown: the value of every "token" in it
// and the session's own tokens, wherever they stand, are [redacted]. Nothing
// after the word token is shown of a line that isn't JSON, and nothing at all
// of one that spells one of the session's tokens in escapes.
func (s *Session) Redact(line []byte) []byte {
	tokens := []string{s.cfg.Token, s.cfg.PeerToken}
	shown, err := redactValues(line)
	if err != nil {
		shown = upToToken(line)
	}
	for _, token := range tokens {
		shown = bytes.ReplaceAll(shown, []byte(token), []byte(redacted))
	}
	if spells(shown, tokens) {
		return []byte(redacted)
	}
	return shown
}

func upToToken(line []byte) []byte {
	const word = "token"
	for at := 0; at+len(word) <= len(line); at++ {
		if strings.EqualFold(string(line[at:at+len(word)]), word) {
			return append(bytes.Clone(line[:at]), redacted...)
		}
	}
	return line
}

// redactValues replaces the value of each "token" at any depth; every other
// byte stays. The error is the line's not being JSON.
func redactValues(line []byte) ([]byte, error) {
	var out []byte
	copied := 0
	decoder := json.NewDecoder(bytes.NewReader(line))
	err := eachString(decoder, func(text string, key bool) (bool, error) {
		if !key || !strings.EqualFold(text, "token") {
			return false, nil
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return false, err
		}
		end := int(decoder.InputOffset())
		out = append(append(out, line[copied:end-len(value)]...), `"`+redacted+`"`...)
		copied = end
		return true, nil
	})
	return append(out, line[copied:]...), err
}

// spells says whether a string in the line has one of the tokens in it once
// its escapes are undone.
func spells(line []byte, tokens []string) bool {
	found := false
	_ = eachString(json.NewDecoder(bytes.NewReader(line)), func(text string, _ bool) (bool, error) {
		for _, token := range tokens {
			found = found || strings.Contains(text, token)
		}
		return false, nil
	})
	return found
}

// eachString calls f for each string up to the input's end, in order. Given a
// key, f may take the key's value from the decoder itself, and says so.
func eachString(decoder *json.Decoder, f func(text string, key bool) (tookValue bool, err error)) error {
	type container struct{ object, value bool } // value: that, not a key, comes next
	var open []container
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		key := false
		if n := len(open); n > 0 && open[n-1].object {
			key = !open[n-1].value
			open[n-1].value = key
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				open = append(open, container{object: t == '{'})
			} else {
				open = open[:len(open)-1]
			}
		case string:
			took, err := f(t, key)
			if err != nil {
				return err
			}
			if took {
				open[len(open)-1].value = false
			}
		}
	}
}
