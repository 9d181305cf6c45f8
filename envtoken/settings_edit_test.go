package envtoken

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	_ "ccpost/golden/update"
)

const bom = "\ufeff"

// withSetting is the edit of Set on bytes alone.
func withSetting(t *testing.T, data string, v Inbound) string {
	t.Helper()
	d, err := parseSettings([]byte(data))
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	if v == Unset {
		return string(d.without())
	}
	return string(d.with(v))
}

func TestSettingsEdit(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{}`, `{"crossSessionInbound":"accept"}`},
		{"{}\n", "{\"crossSessionInbound\":\"accept\"}\n"},
		{`{ }`, `{"crossSessionInbound": "accept" }`},
		{"{\n}\n", "{\n  \"crossSessionInbound\": \"accept\"\n}\n"},
		{"{\r\n}\r\n", "{\r\n  \"crossSessionInbound\": \"accept\"\r\n}\r\n"},
		{"{ \n\n\t}", "{ \n  \"crossSessionInbound\": \"accept\" \n\n\t}"},
		{`{"model":"opus"}`, `{"crossSessionInbound":"accept","model":"opus"}`},
		{"{\n  \"model\": \"opus\"\n}\n", "{\n  \"crossSessionInbound\": \"accept\",\n  \"model\": \"opus\"\n}\n"},
		{"{\r\n\t\"b\": 1,\r\n\t\"a\": 2\r\n}", "{\r\n\t\"crossSessionInbound\": \"accept\",\r\n\t\"b\": 1,\r\n\t\"a\": 2\r\n}"},
		{bom + "{\"a\":1}", bom + "{\"crossSessionInbound\":\"accept\",\"a\":1}"},
		{" \n{ \"a\":1}\n\n", " \n{ \"crossSessionInbound\": \"accept\", \"a\":1}\n\n"},
		// Only the key itself is the key.
		{`{"a":{"crossSessionInbound":"hold"}}`, `{"crossSessionInbound":"accept","a":{"crossSessionInbound":"hold"}}`},
		{`{"crosssessioninbound":"hold"}`, `{"crossSessionInbound":"accept","crosssessioninbound":"hold"}`},
		{`{"a":"{,}\"crossSessionInbound\":1"}`, `{"crossSessionInbound":"accept","a":"{,}\"crossSessionInbound\":1"}`},
	} {
		got := withSetting(t, c.in, Accept)
		if got != c.want {
			t.Errorf("%q became\n%q, want\n%q", c.in, got, c.want)
		}
		if back := withSetting(t, withSetting(t, got, Refuse), Unset); back != c.in {
			t.Errorf("%q came back as %q", c.in, back)
		}
	}
}

func TestSettingsEditOfExisting(t *testing.T) {
	for _, c := range []struct{ in, hold, unset string }{
		{`{"crossSessionInbound":"accept"}`, `{"crossSessionInbound":"hold"}`, `{}`},
		{`{"crossSessionInbound" : "accept" , "a":1}`, `{"crossSessionInbound" : "hold" , "a":1}`, `{ "a":1}`},
		{`{"a":1 , "crossSessionInbound":"x"}`, `{"a":1 , "crossSessionInbound":"hold"}`, `{"a":1 }`},
		{"{\n  \"a\": [1, 2],\n  \"crossSessionInbound\": null,\n  \"b\": {}\n}\n", "{\n  \"a\": [1, 2],\n  \"crossSessionInbound\": \"hold\",\n  \"b\": {}\n}\n", "{\n  \"a\": [1, 2],\n  \"b\": {}\n}\n"},
		{bom + `{"a":1,"crossSessionInbound":{"x":["}"]}}`, bom + `{"a":1,"crossSessionInbound":"hold"}`, bom + `{"a":1}`},
		{`{"a":true,"crossSession\u0049nbound":-1.5e3,"z":"é"}`, `{"a":true,"crossSession\u0049nbound":"hold","z":"é"}`, `{"a":true,"z":"é"}`},
		{`{"a":","}`, `{"crossSessionInbound":"hold","a":","}`, `{"a":","}`},
	} {
		if got := withSetting(t, c.in, Hold); got != c.hold {
			t.Errorf("%q held became\n%q, want\n%q", c.in, got, c.hold)
		}
		if got := withSetting(t, c.in, Unset); got != c.unset {
			t.Errorf("%q unset became\n%q, want\n%q", c.in, got, c.unset)
		}
	}
}

// checkEdit holds an edit to what it promises for any settings file.
func checkEdit(t *testing.T, data string) {
	d, err := parseSettings([]byte(data))
	if err != nil || d.found > 1 {
		return
	}
	for _, v := range []Inbound{Accept, Hold, Refuse} {
		set := string(d.with(v))
		after, err := parseSettings([]byte(set))
		if err != nil || after.found != 1 || after.value.Str != string(v) {
			t.Fatalf("%q set to %s became %q: %v", data, v, set, err)
		}
		old, now := otherReader(t, data), otherReader(t, set)
		delete(old, settingsKey)
		delete(now, settingsKey)
		if !reflect.DeepEqual(old, now) {
			t.Fatalf("%q set to %s became %q", data, v, set)
		}
		unset := string(after.without())
		if d.found == 0 {
			if unset != data {
				t.Fatalf("%q came back as %q, by way of %q", data, unset, set)
			}
			// All that was there is there, in one piece before and one behind.
			if !strings.HasPrefix(set, data[:d.brace+1]) || !strings.HasSuffix(set, data[d.brace+1:]) {
				t.Fatalf("%q became %q", data, set)
			}
			continue
		}
		if end := d.start + len(d.value.Raw); set != data[:d.start]+`"`+string(v)+`"`+data[end:] {
			t.Fatalf("%q set to %s became %q", data, v, set)
		}
		if without := otherReader(t, unset); !reflect.DeepEqual(old, without) {
			t.Fatalf("%q unset became %q", data, unset)
		}
	}
}

// otherReader reads an object as another reader does.
func otherReader(t *testing.T, data string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(strings.TrimPrefix(data, bom)), &m); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return m
}

// TestSettingsEditGenerated edits objects with any spacing, order and content.
func TestSettingsEditGenerated(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	space := func() string { return pick("", "", " ", "\n", "\n  ", "\r\n\t", " \n \n", "\t") }
	for range 5000 {
		var b strings.Builder
		b.WriteString(pick("", "", bom) + space() + "{" + space())
		n := rng.IntN(4)
		at := rng.IntN(6) // which member is the setting; often none
		for i := range n {
			if i > 0 {
				b.WriteString(space() + "," + space())
			}
			key := fmt.Sprintf(`"k%d"`, i)
			if i == at {
				key = pick(`"crossSessionInbound"`, `"crossSessionInboun\u0064"`)
			}
			value := pick(`1`, `-0.5E+2`, `true`, `null`, `""`, `"a,b"`, `"\"}"`, `[]`, `[ 1 , {"x":"]"} ]`, `{}`, `{"crossSessionInbound":"hold","a":{}}`, `"\\"`, `"accept"`, `"é\u00e9"`)
			b.WriteString(key + space() + ":" + space() + value)
		}
		b.WriteString(space() + "}" + space())
		if _, err := parseSettings([]byte(b.String())); err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		checkEdit(t, b.String())
	}
}

func FuzzSettingsEdit(f *testing.F) {
	for _, s := range []string{
		`{}`, "{\n}\n", bom + `{"a":1}`, `{"crossSessionInbound":"accept"}`, `{"a":1,"crossSessionInbound" : null ,"b":2}`,
		`[]`, ``, `{"a":1,}`, `{"crossSession\u0049nbound":{}}`, "\r\n{ \"\":\"\\\"\" }\n", `{"a":1}{}`, `"{"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) { checkEdit(t, data) })
}
