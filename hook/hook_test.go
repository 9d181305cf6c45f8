package hook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "ccpost/golden/update"
	"ccpost/hook"
)

// protocolEvents is every event that the vendor documents or that was captured.
var protocolEvents = []string{
	"Stop", "SubagentStop", "StopFailure", "Notification", "PostToolUseFailure",
	"PreToolUse", "PostToolUse", "PermissionRequest", "PermissionDenied",
	"TaskCreated", "TaskCompleted", "TeammateIdle", "SessionStart", "SessionEnd",
	"UserPromptSubmit", "PreCompact", "PostCompact", "FileChanged", "CwdChanged",
	"DirectoryAdded", "ConfigChange", "WorktreeCreate", "WorktreeRemove",
	"Elicitation", "ElicitationResult",
	"SubagentStart", "PostToolBatch",
}

func mustParse(t testing.TB, doc string) hook.Event {
	t.Helper()
	e, err := hook.Parse([]byte(doc))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return e
}

// captured is where the measured inputs are.
const captured = "../golden/capture/hook-input/"

// captures are the measured inputs, by file name.
func captures(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(captured + "*.json")
	if err != nil || len(files) < 18 {
		t.Fatalf("captures: %d files, %v", len(files), err)
	}
	docs := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		docs[filepath.Base(f)] = string(b)
	}
	return docs
}

func reason(err error) hook.Reason {
	var e *hook.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return hook.Reason(fmt.Sprint(err))
}

func nested(n int) string {
	return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
}

func TestParseFields(t *testing.T) {
	e := mustParse(t, captures(t)["SubagentStop.json"])
	want := [...]any{"SubagentStop", "4dde5d02-dd19-42a2-82a5-d70265ff73da", "75bb2a81-1988-40b7-988a-5e1563997e8c",
		"/home/dev/.claude/projects/-home-dev-api/4dde5d02-dd19-42a2-82a5-d70265ff73da.jsonl", "/home/dev/api", false, "", "a190df946b18e4198"}
	got := [...]any{e.Name, e.SessionID, e.PromptID, e.TranscriptPath, e.Cwd, e.StopHookActive, e.NotificationType, e.AgentID}
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	e = mustParse(t, `{"hook_event_name":"Notification","notification_type":"idle_prompt","stop_hook_active":true}`)
	if e.NotificationType != "idle_prompt" || !e.StopHookActive {
		t.Errorf("got %+v", e)
	}

	// Another type is no value.
	e = mustParse(t, `{"hook_event_name":7,"session_id":["a"],"prompt_id":null,"transcript_path":{},"cwd":true,"stop_hook_active":"true","agent_id":1}`)
	if got := [...]any{e.Name, e.SessionID, e.PromptID, e.TranscriptPath, e.Cwd, e.StopHookActive, e.AgentID}; got != [...]any{"", "", "", "", "", false, ""} {
		t.Errorf("wrong types: %q", got)
	}

	e = mustParse(t, `{"hook_event_name":"Stop","cwd":"/a","cwd":"/b","last_assistant_message":"x","last_assistant_message":"y"}`)
	if got := e.Text(); got != "Stop in a: x" {
		t.Errorf("equal keys: %q", got)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     hook.Reason
		says     string
	}{
		{"empty", "", hook.NoInput, "nothing on standard input"},
		{"white space", " \n\t\r", hook.NoInput, "nothing on standard input"},
		{"byte-order mark alone", "\uFEFF", hook.NoInput, "nothing on standard input"},
		{"cut short", `{"a":`, hook.NotJSON, "the event is not JSON: cut short"},
		{"cut in a string", `{"a`, hook.NotJSON, "the event is not JSON: cut short"},
		{"cut in an escape", `{"a\`, hook.NotJSON, "the event is not JSON: cut short"},
		{"words", "tests passed", hook.NotJSON, "the event is not JSON"},
		{"wrong bracket", `{"a":1]`, hook.NotJSON, "the event is not JSON"},
		{"closed only", `}`, hook.NotJSON, "the event is not JSON"},
		{"trailing", `{} x`, hook.NotJSON, "the event is not JSON"},
		{"comma", `{"a":1,}`, hook.NotJSON, "the event is not JSON"},
		{"half a mark", "\xef{}", hook.NotJSON, "the event is not JSON"},
		{"two marks", "\uFEFF\uFEFF{}", hook.NotJSON, "the event is not JSON"},
		{"NUL", "\x00{}", hook.NotJSON, "the event is not JSON"},
		{"array", `[{}]`, hook.NotObject, "the event is not a JSON object: it is an array"},
		{"string", `"a"`, hook.NotObject, "the event is not a JSON object: it is a string"},
		{"number", `-1e3`, hook.NotObject, "the event is not a JSON object: it is a number"},
		{"boolean", `true`, hook.NotObject, "the event is not a JSON object: it is a boolean"},
		{"null", `null`, hook.NotObject, "the event is not a JSON object: it is null"},
		{"one level too deep", nested(hook.MaxDepth + 1), hook.TooDeep, "the event is nested too deep: more than 1000 levels"},
		{"brackets", strings.Repeat("[", hook.MaxDepth+1), hook.TooDeep, "the event is nested too deep: more than 1000 levels"},
		{"large", strings.Repeat(" ", hook.MaxBytes+1), hook.TooLarge, "the event is too large: 33554433 bytes, at most 33554432 are taken"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := hook.Parse([]byte(tt.in))
			if reason(err) != tt.want {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if err.Error() != tt.says {
				t.Errorf("says %q, want %q", err, tt.says)
			}
		})
	}
}

func TestParseTakes(t *testing.T) {
	tests := []struct{ name, in string }{
		{"empty object", `{}`},
		{"white space around", " \n{}\r\n\t"},
		{"byte-order mark", "\uFEFF{}"},
		{"as deep as allowed", nested(hook.MaxDepth)},
		{"brackets in a string", `{"a":"` + strings.Repeat("[", 5000) + `"}`},
		{"escaped quotes", `{"a":"\"{[\\"}`},
		{"broken UTF-8", "{\"a\":\"\xff\xc3\"}"},
		{"as large as allowed", `{"a":"` + strings.Repeat("x", hook.MaxBytes-8) + `"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := hook.Parse([]byte(tt.in)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSurrogates(t *testing.T) {
	tests := []struct{ in, want string }{
		{`\ud800`, "Stop: \uFFFD"},
		{`\udc00x`, "Stop: \uFFFDx"},
		{`\ud800\ud800`, "Stop: \uFFFD\uFFFD"},
		{`\ud83d\ude00`, "Stop: 😀"},
		{`\ud800\u0041`, "Stop: \uFFFDA"},
		{"a\xffb", "Stop: a\uFFFDb"},
	}
	for _, tt := range tests {
		e := mustParse(t, `{"hook_event_name":"Stop","last_assistant_message":"`+tt.in+`"}`)
		if got := e.Text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.in, got, tt.want)
		}
		if got, err := e.Expand("Stop: {last_assistant_message}"); err != nil || got != tt.want {
			t.Errorf("%s: expanded %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestGuard(t *testing.T) {
	own := map[string]bool{
		"Stop": true, "SubagentStop": true, "StopFailure": true, "TeammateIdle": true,
		"UserPromptSubmit": true, "SessionEnd": true,
	}
	check := func(e hook.Event, own, want bool) {
		t.Helper()
		why, skip := e.Guard(own)
		if skip != want {
			t.Errorf("%s %s, own %t, stop_hook_active %t: skip %t, want %t", e.Name, e.NotificationType, own, e.StopHookActive, skip, want)
		}
		if skip != (why != "") || strings.ContainsAny(why, "\r\n") {
			t.Errorf("%s: skip %t with reason %q", e.Name, skip, why)
		}
		if lifts := strings.Contains(why, "--allow-self"); skip && lifts == (e.Name == "WorktreeCreate") {
			t.Errorf("%s: reason %q", e.Name, why)
		}
	}
	for _, name := range append(protocolEvents, "", "AnEventOfNextYear") {
		for _, active := range []bool{false, true} {
			e := mustParse(t, fmt.Sprintf(`{"hook_event_name":%q,"stop_hook_active":%t}`, name, active))
			check(e, true, own[name] || active || name == "WorktreeCreate")
			check(e, false, name == "WorktreeCreate")
		}
	}
	for kind, want := range map[string]bool{"idle_prompt": true, "permission_prompt": false, "": false, "idle_prompt2": false} {
		e := mustParse(t, fmt.Sprintf(`{"hook_event_name":"Notification","notification_type":%q}`, kind))
		check(e, true, want)
		check(e, false, false)
	}
	// Only Notification's own type counts.
	check(mustParse(t, `{"hook_event_name":"PreToolUse","notification_type":"idle_prompt"}`), true, false)
	check(mustParse(t, `{"hook_event_name":"PreToolUse","stop_hook_active":"true"}`), true, false)
	check(mustParse(t, `{}`), true, false)
}

func TestGuardWords(t *testing.T) {
	tests := []struct{ doc, want string }{
		{`{"hook_event_name":"Stop","stop_hook_active":true}`, "Stop to its own session: the message would start a turn that ends in Stop again; post to another session with --to, or lift this guard with --allow-self"},
		{`{"hook_event_name":"PreToolUse","stop_hook_active":true}`, "stop_hook_active to its own session: a Stop hook has made this turn go on already; post to another session with --to, or lift this guard with --allow-self"},
		{`{"hook_event_name":"WorktreeCreate"}`, "a WorktreeCreate hook replaces git's own way of making the worktree: remove it from the settings"},
	}
	for _, tt := range tests {
		if got, _ := mustParse(t, tt.doc).Guard(true); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

// FuzzParse holds Read and Parse against each other and against encoding/json.
func FuzzParse(f *testing.F) {
	for _, doc := range captures(f) {
		f.Add([]byte(doc))
	}
	for _, s := range []string{"", "\uFEFF {} ", "{}{", `["\\"]`, `"\u00`, "nul", "-", nested(1001), "{\"a\":\"\xff\"}", `{"hook_event_name":"Stop","last_assistant_message":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		raw, err := hook.Read(t.Context(), bytes.NewReader(in))
		slow, serr := hook.Read(t.Context(), oneByte{bytes.NewReader(in)})
		if !bytes.Equal(raw, slow) || reason(err) != reason(serr) {
			t.Fatalf("at once %q, %v; byte for byte %q, %v", raw, err, slow, serr)
		}
		hook.Parse(in)
		if err != nil {
			if r := reason(err); r != hook.NoInput && r != hook.NotJSON && r != hook.TooDeep {
				t.Fatalf("Read: %v", err)
			}
			return
		}
		e, err := hook.Parse(raw)
		if valid, ok := json.Valid(raw), err == nil || reason(err) == hook.NotObject; valid != ok {
			t.Fatalf("%q: encoding/json says %t, Parse %v", raw, valid, err)
		}
		if err == nil {
			checkText(t, e.Text(), hook.MaxText)
			e.Guard(true)
		}
	})
}
