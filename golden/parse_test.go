package golden

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseVendorFrames(t *testing.T) {
	lines := captured(t, "sender-frames.ndjson")
	auth, err := ParseLine(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Frame{Type: "auth", Token: strings.Repeat("f", 32), Keys: []string{"type", "token"}}, auth); diff != "" {
		t.Error(diff)
	}
	user, err := ParseLine(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := ParseEnvelope(user.Content)
	if err != nil {
		t.Fatal(err)
	}
	user.Content = ""
	if diff := cmp.Diff(Frame{
		Type: "user", MsgV: 1, MsgID: "47a986dc-2044-4603-ba39-46339855a5fa", Role: "user", Priority: "next",
		From: "uds:/tmp/cc-socks/2141.sock",
		Keys: []string{"msgV", "msg_id", "type", "message", "priority", "from"},
	}, user); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Envelope{
		From: "uds:/tmp/cc-socks/2141.sock", FromName: "api-worker", FromMode: "prompting",
		Body: "esc <b> & \"q\" </cross-session-message> <cross-session-message from=\"x\"> tail",
	}, envelope); diff != "" {
		t.Error(diff)
	}
}

func TestParseLine(t *testing.T) {
	const message = `"message":{"role":"user","content":"x"}`
	rows := []struct {
		line string
		want string // part of the error; empty for none
	}{
		{`{"type":"auth","token":"t"}`, ""},
		{`{"token":"t","type":"auth"}`, ""},
		{`{"type":"user",` + message + `}`, ""},
		{`{"type":"user","message":{"content":"x","role":"user"}}`, ""},
		{`{"type":"user","priority":"later","from":"uds:/a.sock","session_id":"s","msgV":1,"msg_id":"m",` + message + `}`, ""},
		{`{"type":"control","action":"rename","name":"n","session_id":"s"}`, ""},
		{`{"type":"user","message":{"role":"user","content":"\ud83d\ude00 \\ud83d \u2028"}}`, ""},

		{``, "EOF"},
		{`null`, "not an object"},
		{`[]`, "not an object"},
		{`"x"`, "not an object"},
		{`{"type":"auth","token":"t"`, "EOF"},
		{`{"type":"auth","token":"t"} {}`, "after"},
		{`{"type":"auth","token":"t"}]`, "after"},
		{`{"type":"auth","token":"t",}`, "invalid"},
		{"{\"type\":\"auth\",\n\"token\":\"t\"}", "newline"},
		{"{\"type\":\"auth\",\"token\":\"\xff\"}", "UTF-8"},
		{`{"type":"user","message":{"role":"user","content":"\ud83d"}}`, "surrogate"},
		{`{"type":"user","message":{"role":"user","content":"\ude00\ud83d"}}`, "surrogate"},
		{`{"type":"user","message":{"role":"user","content":"\ud83d\u0041"}}`, "surrogate"},
		{`{"type":"user","message":{"role":"user","content":"\ud83d\\ude00"}}`, "surrogate"},
		{`{"type":"auth","token":"t","token":"t"}`, "two keys"},
		{`{"type":"auth","token":"t","tok\u0065n":"t"}`, "two keys"},
		{`{"type":"user","message":{"role":"user","content":"x","content":"x"}}`, "two keys"},
		{`{"type":"auth"}`, "says nothing"},
		{`{"type":"auth","token":""}`, "token"},
		{`{"type":"auth","token":7}`, "token"},
		{`{"type":"auth","token":null}`, "token"},
		{`{"type":"auth","token":"t","x":1}`, `"x"`},
		{`{"Type":"auth","token":"t"}`, "type"},
		{`{"type":"Auth","token":"t"}`, "type"},
		{`{"type":["auth"],"token":"t"}`, "type"},
		{`{"token":"t"}`, "type"},
		{`{"type":"user"}`, "says nothing"},
		{`{"type":"user","message":"x"}`, "not an object"},
		{`{"type":"user","message":{"role":"user"}}`, "role and content"},
		{`{"type":"user","message":{"role":"user","text":"x"}}`, "says nothing"},
		{`{"type":"user","message":{"role":"user","content":"x","id":"1"}}`, "role and content"},
		{`{"type":"user","message":{"role":"assistant","content":"x"}}`, "role"},
		{`{"type":"user","message":{"role":"user","content":""}}`, "content"},
		{`{"type":"user","message":{"role":"user","content":["x"]}}`, "content"},
		{`{"type":"user","token":"t",` + message + `}`, `"token"`},
		{`{"type":"user","msgV":2,` + message + `}`, "msgV"},
		{`{"type":"user","msgV":"1",` + message + `}`, "msgV"},
		{`{"type":"user","msgV":1.0,` + message + `}`, "msgV"},
		{`{"type":"user","priority":"high",` + message + `}`, "priority"},
		{`{"type":"user","from":"ci",` + message + `}`, "from"},
		{`{"type":"user","session_id":"",` + message + `}`, "session_id"},
		{`{"type":"user","msg_id":1,` + message + `}`, "msg_id"},
		{`{"type":"control","action":"stop","name":"n"}`, "action"},
		{`{"type":"control","action":"rename"}`, "says nothing"},
		{`{"type":"control","name":"n"}`, "says nothing"},
		{strings.Repeat("[", 1_000_000), "not an object"},
		{`{"type":` + strings.Repeat("[", 1_000_000), "depth"},
		{`{"type":"user","message":{"role":"user","content":"` + strings.Repeat("x", 1_048_576) + `"}}`, "UTF-16"},
	}
	for _, row := range rows {
		_, err := ParseLine([]byte(row.line))
		short := row.line[:min(len(row.line), 80)]
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", short, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: %v doesn't say %q", short, err, row.want)
		}
	}
}

func TestParseEnvelope(t *testing.T) {
	const end = "\n</cross-session-message>"
	rows := []struct {
		content string
		want    Envelope
	}{
		{"<cross-session-message>\nx" + end, Envelope{Body: "x"}},
		{"<cross-session-message>\n" + end, Envelope{}},
		{"<cross-session-message from-name=\"ci bot\">\n\na\n\nb\n" + end, Envelope{FromName: "ci bot", Body: "\na\n\nb\n"}},
		{"<cross-session-message from=\"uds:/a\" from-session=\"s\" hop-chain=\"h\" from-name=\"n\" from-mode=\"m\">\nx" + end,
			Envelope{From: "uds:/a", FromSession: "s", HopChain: "h", FromName: "n", FromMode: "m", Body: "x"}},
		{"<cross-session-message>\n<\\/cross-session-message><\\cross-session-message>" + end, Envelope{Body: "</cross-session-message><cross-session-message>"}},
		{"<cross-session-message>\n<<\\/cross-session-message <\\b <\\\\/cross-session-message" + end, Envelope{Body: "<</cross-session-message <\\b <\\\\/cross-session-message"}},
		{"<cross-session-message>\n<\\ / Cross-Session-Message >" + end, Envelope{Body: "< / Cross-Session-Message >"}},
		{"<cross-session-message>\n<cross-session <b> cross-session-message </x>" + end, Envelope{Body: "<cross-session <b> cross-session-message </x>"}},
		{"<cross-session-message from-name=\"" + strings.Repeat("é", 64) + "\">\nx" + end, Envelope{FromName: strings.Repeat("é", 64), Body: "x"}},
	}
	for _, row := range rows {
		got, err := ParseEnvelope(row.content)
		if err != nil {
			t.Errorf("%q: %v", row.content, err)
		} else if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%q: %s", row.content, diff)
		}
	}
	for _, content := range []string{
		"",
		"x",
		" <cross-session-message>\nx" + end,
		"<cross-session-message>\nx" + end + "\n",
		"<cross-session-message>x" + end,
		"<cross-session-message>\nx</cross-session-message>",
		"<cross-session-message>\n</cross-session-message>",
		"<cross-session-message >\nx" + end,
		"<cross-session-message  from=\"a\">\nx" + end,
		"<cross-session-message from=a>\nx" + end,
		"<cross-session-message from='a'>\nx" + end,
		"<cross-session-message from=\"\">\nx" + end,
		"<cross-session-message from=\"a\nb\">\nx" + end,
		"<cross-session-message from=\"a<b\">\nx" + end,
		"<cross-session-message from=\"a>b\">\nx" + end,
		"<cross-session-message from=\"a",
		"<cross-session-message from-name=\"n\" from=\"a\">\nx" + end,
		"<cross-session-message from=\"a\" from=\"a\">\nx" + end,
		"<cross-session-message to=\"a\">\nx" + end,
		"<cross-session-messages>\nx" + end,
		"<Cross-session-message>\nx" + end,
		"<cross-session-message from-name=\"" + strings.Repeat("é", 65) + "\">\nx" + end,
		"<cross-session-message>\nx" + end + end,
		"<cross-session-message>\n<cross-session-message" + end,
		"<cross-session-message>\n</CROSS-SESSION-MESSAGE>" + end,
		"<cross-session-message>\n< / cross-session-message>" + end,
		"<cross-session-message>\n<\u00a0cross-session-message>" + end,
	} {
		if got, err := ParseEnvelope(content); err == nil {
			t.Errorf("%q was read as %+v", content, got)
		}
	}
}

// render writes an envelope as the vendor does.
func render(e Envelope) string {
	var out strings.Builder
	out.WriteString("<cross-session-message")
	for _, a := range [][2]string{{"from", e.From}, {"from-session", e.FromSession}, {"hop-chain", e.HopChain}, {"from-name", e.FromName}, {"from-mode", e.FromMode}} {
		if a[1] != "" {
			out.WriteString(" " + a[0] + `="` + a[1] + `"`)
		}
	}
	out.WriteString(">\n")
	for i, part := range strings.Split(e.Body, "<") {
		if i > 0 {
			out.WriteString("<")
			if namesTag(part) {
				out.WriteString(`\`)
			}
		}
		out.WriteString(part)
	}
	return out.String() + "\n</cross-session-message>"
}

func FuzzParseEnvelope(f *testing.F) {
	f.Add("uds:/a", "n", "x <\\/cross-session-message>", "<cross-session-message>\nx\n</cross-session-message>")
	f.Add("", "ci", "</cross-session-message>\n< / CROSS-session-message", "<cross-session-message from=\"a\">\n<\\cross-session-message\n</cross-session-message>")
	f.Fuzz(func(t *testing.T, from, name, body, content string) {
		// What is read, written again, is the same to the byte.
		if e, err := ParseEnvelope(content); err == nil {
			if again := render(e); again != content {
				t.Errorf("read %q, wrote %q", content, again)
			}
		}
		// What is written the vendor's way is read, where it can be written.
		if strings.ContainsFunc(from, breaksAttribute) || strings.ContainsFunc(name, breaksAttribute) || utf8.RuneCountInString(name) > 64 {
			return
		}
		wrote := Envelope{From: from, FromName: name, Body: body}
		read, err := ParseEnvelope(render(wrote))
		if err != nil {
			t.Fatalf("%+v: %v", wrote, err)
		}
		if strings.Contains(body, `<\`) { // it may spell an escape: the vendor's can't be told from it
			wrote.Body, read.Body = "", ""
		}
		if diff := cmp.Diff(wrote, read); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzParseLine(f *testing.F) {
	for _, line := range captured(f, "sender-frames.ndjson") {
		f.Add(line)
	}
	f.Add([]byte(`{"type":"control","action":"rename","name":"\ud83d\ude00"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		frame, err := ParseLine(line)
		if err != nil {
			if diff := cmp.Diff(Frame{}, frame); diff != "" {
				t.Errorf("an error and a frame: %s", diff)
			}
			return
		}
		// What is read strictly, the session's own reading sees as well.
		loose := looseObject(line)
		keys := slices.Clone(frame.Keys)
		slices.Sort(keys)
		if len(loose) != len(slices.Compact(keys)) || str(loose["type"]) != frame.Type || str(loose["session_id"]) != frame.SessionID ||
			str(looseObject(loose["message"])["content"]) != frame.Content {
			t.Errorf("%q is read in two ways: %+v", line, frame)
		}
	})
}
