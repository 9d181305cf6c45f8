package drift

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ccpost/golden/capture"
)

func captured(t *testing.T, s subject) string {
	t.Helper()
	data, err := capture.Files.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.Split(data, []byte("\n"))[s.line])
}

func TestCompare(t *testing.T) {
	const (
		id    = "47a986dc-2044-4603-ba39-46339855a5fa"
		other = "11111111-2222-4333-8444-555555555555"
		token = "ffffffffffffffffffffffffffffffff"
	)
	plain := func(s subject) subject { s.ours = nil; return s } // as it was captured
	line, auth, drop, rec := plain(userLine), plain(authLine), plain(duplicate), plain(record)
	drop.rules = likes("reason", "msg_id", "from", "orig_msg_id")
	for _, tt := range []struct {
		name     string
		subject  subject
		old, new string // what is another than in the capture
		want     string // the differences; the new fields in brackets
	}{
		{"as captured", line, "", "", ""},
		{"another id", line, id, other, ""},
		{"an id of another look", line, id, "47a986dc", `message line: msg_id is "47a986dc", not "` + id + `"`},
		{"an id of another type", line, `"` + id + `"`, "47", `message line: msg_id is 47, not "` + id + `"`},
		{"no id", line, `"msg_id":"` + id + `",`, "", `message line: msg_id is missing, which should be "` + id + `"`},
		{"a new field", line, `{"msgV"`, `{"hops":["a"],"msgV"`, `[message line: a new field hops (list)]`},
		{"a new field inside", line, `{"role"`, `{"lang":null,"role"`, `[message line: a new field message.lang (null)]`},
		{"a field inside is missing", line, `"role":"user",`, "", `message line: message.role is missing, which should be "user"`},
		{"another constant", line, `"next"`, `"soon"`, `message line: priority is "soon", not "next"`},
		{"another type of constant", line, `"msgV":1`, `"msgV":"1"`, `message line: msgV is "1", not 1`},
		{"null", line, `"msgV":1`, `"msgV":null`, `message line: msgV is null, not 1`},
		{"an object where was a text", line, `"next"`, `{}`, `message line: priority is {}, not "next"`},
		{"a text where was an object", auth, `{"type":"auth","token":"` + token + `"}`, `{"type":"auth","token":{"a":1}}`,
			`auth line: token is {"a":1}, not [a string of 32 characters]`},

		{"an attribute of the envelope", line, ` from-mode=\"prompting\"`, ``,
			`message line: message.content.from-mode is missing, which should be "prompting"`},
		{"another value of it", line, `prompting\"`, `bypassing\"`, `message line: message.content.from-mode is "bypassing", not "prompting"`},
		{"a new attribute", line, ` from-mode`, ` hop-chain=\"a\" from-mode`, `[message line: a new field message.content.hop-chain (string)]`},
		{"another escape", line, `<\\/cross`, `&lt;/cross`,
			`message line: message.content.body is "esc <b> & \"q\" &lt;/cross-session-message> <\\cross-session-message from=\"x\"> tail", not ` +
				`"esc <b> & \"q\" <\\/cross-session-message> <\\cross-session-message from=\"x\"> tail"`},

		{"another token", auth, token, strings.Repeat("a", 32), ""},
		{"a token of another look is not shown", auth, token, "0123456789abcdef",
			"auth line: token is [a string of 16 characters], not [a string of 32 characters]"},
		{"another name of it", auth, `"token"`, `"secret"`,
			"[auth line: a new field secret (string)]\nauth line: token is missing, which should be [a string of 32 characters]"},

		{"another drop", drop, `"duplicate"`, `"hop-loop"`, `receipt duplicate: drop_reason is "hop-loop", not "duplicate"`},
		{"a list with something in it", drop, `[]`, `["a"]`, `[receipt duplicate: a new field dropped_msg_ids.a (bool)]`},
		{"no list", drop, `[]`, `{}`, `receipt duplicate: dropped_msg_ids is {}, not []`},
		{"no sentence", drop, `"(the vendor's sentence for a person)"`, `""`, `receipt duplicate: reason is "", not "(the vendor's sentence for a person)"`},

		{"a feature more", rec, `"notify_idle"`, `"notify_idle","more"`, `[record: a new field peerFeatures.more (bool)]`},
		{"a feature less", rec, `"notify_idle",`, ``, `record: peerFeatures.notify_idle is missing, which should be true`},
		{"features in another order", rec, `"notify_idle","reply_across_default_dirs"`, `"reply_across_default_dirs","notify_idle"`, ""},
		{"seconds", rec, `1796069869026`, `1796069869`, `record: startedAt is 1796069869, not 1796069869026`},
		{"another protocol", rec, `"peerProtocol":1`, `"peerProtocol":2`, `record: peerProtocol is 2, not 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := captured(t, tt.subject)
			got := strings.Replace(want, tt.old, tt.new, 1)
			if tt.old != "" && got == want {
				t.Fatalf("the capture has no %s", tt.old)
			}
			found, err := tt.subject.compareWith([]byte(want), []byte(got))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, text(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// It is the same with the capture altered: what was new is missing then.
			found, err = tt.subject.compareWith([]byte(got), []byte(want))
			if err != nil {
				t.Fatal(err)
			}
			if drift := (Report{Differences: found}).Drift(); strings.HasPrefix(tt.want, "[") && !drift || tt.want == "" && len(found) > 0 {
				t.Errorf("with the capture altered: %s", text(found))
			}
		})
	}
}

func text(found []Difference) string {
	var lines []string
	for _, d := range found {
		if d.New() {
			lines = append(lines, "["+d.String()+"]")
		} else {
			lines = append(lines, d.String())
		}
	}
	return strings.Join(lines, "\n")
}

// What is ours takes the place of what was captured, and what is not there then
// must not be.
func TestCompareOurs(t *testing.T) {
	s := subject{where: "row"}.with("id", "mine").with("o.gone", gone{}).with("o.more", true).with("o.free", free{})
	const was = `{"id":"theirs","o":{"gone":1,"kept":2}}`
	for _, tt := range []struct{ got, want string }{
		{`{"id":"mine","o":{"kept":2,"more":true}}`, ""},
		{`{"id":"mine","o":{"kept":2,"more":true,"free":{"a":1}}}`, ""},
		{`{"id":"theirs","o":{"kept":2,"more":true}}`, `row: id is "theirs", not "mine"`},
		{`{"id":"mine","o":{"kept":2}}`, `row: o.more is missing, which should be true`},
		{`{"id":"mine","o":{"kept":2,"more":true,"gone":1}}`, `[row: a new field o.gone (number)]`},
		{`{"o":{"kept":2,"more":true}}`, `row: id is missing, which should be "mine"`},
	} {
		found, err := s.compareWith([]byte(was), []byte(tt.got))
		if err != nil || text(found) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.got, text(found), err, tt.want)
		}
	}
	if s.with("a", 1); len(s.ours) != 4 {
		t.Error("with changes the subject that it is called on")
	}
}

func TestNothingToCompare(t *testing.T) {
	for _, line := range []string{"", "null", "[]", `"text"`, "{", `{"type":"auth"} {}`} {
		if found, err := authLine.compare([]byte(line)); err == nil {
			t.Errorf("%q: %q, want an error", line, text(found))
		}
	}
}

// Each subject is there, and has the fields that its rules and values are for.
func TestSubjects(t *testing.T) {
	all := []subject{record, key, authLine, userLine, held, expired, refused, duplicate, enqueueRow, dequeueRow, userRow}
	for _, event := range []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptSubmit-from-peer",
		"PreToolUse-Bash", "PostToolUse-Bash", "PostToolUseFailure", "PostToolBatch-Bash", "Stop"} {
		all = append(all, hookInput(event))
	}
	seen := map[string]bool{}
	for _, s := range all {
		if _, err := s.compare([]byte(captured(t, s))); err != nil {
			t.Error(err)
		}
		if key := s.file + captured(t, s); seen[key] {
			t.Errorf("%s is of a line that another one is of", s.where)
		} else {
			seen[key] = true
		}
	}
}
