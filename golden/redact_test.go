package golden

import (
	"bytes"
	"strings"
	"testing"
)

const (
	envToken   = "aaaaaaaaaaaaaaaa0000000000000000"
	keyToken   = "bbbbbbbbbbbbbbbb0000000000000000"
	otherToken = "cccccccccccccccc0000000000000000"
)

func TestRedact(t *testing.T) {
	s := &Session{cfg: Config{Token: envToken, PeerToken: keyToken}}
	escaped := strings.ReplaceAll(envToken, "a", `\u0061`)
	for line, want := range map[string]string{
		`{"type":"auth","token":"` + envToken + `"}`:                `{"type":"auth","token":"[redacted]"}`,
		`{"type":"auth","token":"` + keyToken + `"}`:                `{"type":"auth","token":"[redacted]"}`,
		`{"type":"auth","token":"` + otherToken + `"}`:              `{"type":"auth","token":"[redacted]"}`,
		`{ "token" : "` + otherToken + `" , "type" : "auth" }`:      `{ "token" : "[redacted]" , "type" : "auth" }`,
		`{"type":"auth","tok\u0065n":"` + otherToken + `"}`:         `{"type":"auth","tok\u0065n":"[redacted]"}`,
		`{"type":"auth","Token":"` + otherToken + `","token":"x"}`:  `{"type":"auth","Token":"[redacted]","token":"[redacted]"}`,
		`{"type":"auth","token":["` + otherToken + `"],"x":1}`:      `{"type":"auth","token":"[redacted]","x":1}`,
		`[{"a":{"token":"` + otherToken + `"}},{"token":7}]`:        `[{"a":{"token":"[redacted]"}},{"token":"[redacted]"}]`,
		`{"type":"auth","token":"` + escaped + `"}`:                 `{"type":"auth","token":"[redacted]"}`,
		`{"type":"auth","token":"` + otherToken:                     `{"type":"auth","[redacted]`,
		`TOKEN=` + otherToken:                                       `[redacted]`,
		`{"type":"user","message":{"content":"x` + envToken + `"}}`: `{"type":"user","message":{"content":"x[redacted]"}}`,
		`{"` + keyToken + `":1}`:                                    `{"[redacted]":1}`,
		`{"type":"user","message":{"content":"` + escaped + `"}}`:   `[redacted]`,
		`hello ` + envToken + envToken + `!`:                        `hello [redacted][redacted]!`,
		`{"x":"token","y":"token"}`:                                 `{"x":"token","y":"token"}`,
		`{"a":["token",1],"b":{},"token":true}`:                     `{"a":["token",1],"b":{},"token":"[redacted]"}`,
		`{"type":"user","message":{"content":"a token"}}`:           `{"type":"user","message":{"content":"a token"}}`,
		`hello`: `hello`,
		``:      ``,
	} {
		before := strings.Clone(line)
		in := []byte(line)
		if got := string(s.Redact(in)); got != want {
			t.Errorf("%s\nis shown as %s\nwant        %s", line, got, want)
		}
		if string(in) != before {
			t.Errorf("%s was changed in place", line)
		}
	}
	deep := append(bytes.Repeat([]byte("["), 1_000_000), envToken...)
	if bytes.Contains(s.Redact(deep), []byte(envToken)) {
		t.Error("a token behind a million brackets is shown")
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"type":"auth","token":"`, `"}`)
	f.Add(`{"token":[1,{"token":"`, `"}],"token":2}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		s := &Session{cfg: Config{Token: envToken, PeerToken: keyToken}}
		got := s.Redact([]byte(before + envToken + after + keyToken))
		if bytes.Contains(got, []byte(envToken)) || bytes.Contains(got, []byte(keyToken)) {
			t.Errorf("shown: %s", got)
		}
	})
}
