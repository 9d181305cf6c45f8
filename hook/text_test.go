package hook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ccpost/golden/update"
	"ccpost/hook"

	"github.com/google/go-cmp/cmp"
)

// documented are events as the vendor's documentation has them, where there is
// no capture, and odd ones.
var documented = map[string]string{
	"Stop-long":                  `{"cwd":"/home/dev/api","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"All tests pass.\n\nI changed two files.\n"}`,
	"Stop-blank":                 `{"cwd":"/home/dev/api","hook_event_name":"Stop","last_assistant_message":" \n"}`,
	"StopFailure":                `{"cwd":"/home/dev/api","hook_event_name":"StopFailure","error":"rate_limit","error_details":"429 for key","last_assistant_message":"half a thought"}`,
	"Notification":               `{"cwd":"/home/dev/api","hook_event_name":"Notification","message":"Claude needs your permission to use Bash","title":"Permission needed","notification_type":"permission_prompt"}`,
	"Notification-no-title":      `{"cwd":"/home/dev/api","hook_event_name":"Notification","message":"Claude is waiting for your input","notification_type":"idle_prompt"}`,
	"Notification-nothing":       `{"cwd":"/home/dev/api","hook_event_name":"Notification","notification_type":"auth_success"}`,
	"PostToolUseFailure-no-tool": `{"cwd":"/home/dev/api","hook_event_name":"PostToolUseFailure","error":"\nExit code 1\nsecret"}`,
	"PermissionRequest":          `{"cwd":"/home/dev/api","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"cat key"}}`,
	"PermissionDenied":           `{"cwd":"/home/dev/api","hook_event_name":"PermissionDenied","tool_name":"Bash","tool_input":{"command":"cat key"},"reason":"no"}`,
	"TaskCreated":                `{"cwd":"/home/dev/api","hook_event_name":"TaskCreated","task_id":"1","task_subject":"Fix login","task_description":"long","teammate_name":"bob"}`,
	"TaskCompleted":              `{"cwd":"/home/dev/api","hook_event_name":"TaskCompleted","task_id":"1","task_subject":"Fix login","task_description":"long","teammate_name":"bob"}`,
	"TeammateIdle":               `{"cwd":"/home/dev/api","hook_event_name":"TeammateIdle","teammate_name":"bob"}`,
	"FileChanged":                `{"cwd":"/home/dev/api","hook_event_name":"FileChanged","file_path":"/home/dev/api/.env","event":"change"}`,
	"CwdChanged":                 `{"cwd":"/home/dev/api","hook_event_name":"CwdChanged","old_cwd":"/home/dev","new_cwd":"/home/dev/api"}`,
	"DirectoryAdded":             `{"cwd":"/home/dev/api","hook_event_name":"DirectoryAdded","directory":"/srv","source":"user"}`,
	"ConfigChange":               `{"cwd":"/home/dev/api","hook_event_name":"ConfigChange","source":"user_settings","file_path":"/home/dev/.claude/settings.json"}`,
	"WorktreeCreate":             `{"cwd":"/home/dev/api","hook_event_name":"WorktreeCreate","name":"fix"}`,
	"WorktreeRemove":             `{"cwd":"/home/dev/api","hook_event_name":"WorktreeRemove","worktree_path":"/home/dev/fix"}`,
	"Elicitation":                `{"cwd":"/home/dev/api","hook_event_name":"Elicitation","mcp_server_name":"db","message":"Your password?"}`,
	"ElicitationResult":          `{"cwd":"/home/dev/api","hook_event_name":"ElicitationResult","mcp_server_name":"db","action":"accept","content":{"password":"hunter2"}}`,
	"unknown":                    `{"cwd":"/home/dev/api","hook_event_name":"AnEventOfNextYear","message":"hm","error":"x"}`,
	"no-name":                    `{"cwd":"/home/dev/api"}`,
	"no-cwd":                     `{"hook_event_name":"SessionStart"}`,
	"nothing":                    `{}`,
	"cwd-root":                   `{"cwd":"/","hook_event_name":"SessionStart"}`,
	"cwd-slash":                  `{"cwd":"/home/dev/api/","hook_event_name":"SessionStart"}`,
	"cwd-blank":                  `{"cwd":" ","hook_event_name":"SessionStart"}`,
	"cwd-controls":               `{"cwd":"/home/\u0001","hook_event_name":"SessionStart"}`,
	"cwd-two-lines":              `{"cwd":"/home/a\nb\u001b[0m","hook_event_name":"SessionStart"}`,
	"name-two-lines":             `{"cwd":"/home/dev/api","hook_event_name":"Stop\nnow delete everything","last_assistant_message":"x"}`,
	"name-long":                  `{"cwd":"/home/dev/api","hook_event_name":"` + strings.Repeat("é", 65) + `"}`,
	"fact-wrong-type":            `{"cwd":"/home/dev/api","hook_event_name":"Stop","last_assistant_message":{"a":1}}`,
}

func fixtures(t testing.TB) map[string]string {
	docs := captures(t)
	maps.Copy(docs, documented)
	return docs
}

func TestTexts(t *testing.T) {
	docs := fixtures(t)
	seen := map[string]bool{}
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		e := mustParse(t, docs[name])
		seen[e.Name] = true
		fmt.Fprintf(&got, "%s\t%q\n", name, e.Text())
	}
	for _, name := range protocolEvents {
		if !seen[name] {
			t.Errorf("no fixture for %s", name)
		}
	}
	for _, name := range hook.Events() {
		if !slices.Contains(protocolEvents, name) {
			t.Errorf("%s has a rule, and none of these tests tries it", name)
		}
	}
	const golden = "testdata/texts.golden"
	if *update.Golden {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestTextIsPrivate puts a mark in the place of every string of every fixture,
// one at a time, and of its own field names for every event: only the fields
// that the default text is meant to show may show it.
func TestTextIsPrivate(t *testing.T) {
	public := map[string][]string{
		"Stop":               {"last_assistant_message"},
		"SubagentStop":       {"last_assistant_message"},
		"Notification":       {"title", "message"},
		"StopFailure":        {"error"},
		"PostToolUseFailure": {"tool_name", "error"},
		"TaskCompleted":      {"task_subject"},
		"FileChanged":        {"file_path", "event"},
	}
	fields := map[string]any{"tool_input": map[string]any{"command": "x"}, "tool_calls": []any{map[string]any{"tool_response": "x"}}}
	for _, k := range []string{"last_assistant_message", "title", "message", "error", "error_details", "tool_name", "tool_response",
		"task_subject", "task_description", "teammate_name", "file_path", "event", "prompt", "compact_summary", "custom_instructions",
		"content", "action", "reason", "session_title", "transcript_path", "agent_transcript_path", "worktree_path", "session_id"} {
		fields[k] = "x"
	}
	docs := fixtures(t)
	for _, name := range append(protocolEvents, "AnEventOfNextYear") {
		fields["hook_event_name"] = name
		b, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		docs["every field of "+name] = string(b)
	}
	const mark = "MARK-7f3a"
	marked := 0
	for name, doc := range docs {
		var root map[string]any
		if err := json.Unmarshal([]byte(doc), &root); err != nil {
			t.Fatal(err)
		}
		event, _ := root["hook_event_name"].(string)
		eachString(root, "", func(path string, set func(string)) {
			if path == "hook_event_name" || path == "cwd" {
				return
			}
			set(mark)
			b, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			marked++
			shows := strings.Contains(mustParse(t, string(b)).Text(), mark)
			if want := slices.Contains(public[event], path); shows != want {
				t.Errorf("%s: %s of %s shown: %t, want %t", name, path, event, shows, want)
			}
		})
	}
	if marked < 700 {
		t.Errorf("only %d strings were marked", marked)
	}
}

// eachString visits every string of v with a setter, and puts it back after.
func eachString(v any, path string, visit func(path string, set func(string))) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			p := strings.TrimPrefix(path+"."+k, ".")
			if s, ok := x.(string); ok {
				visit(p, func(to string) { v[k] = to })
				v[k] = s
			} else {
				eachString(x, p, visit)
			}
		}
	case []any:
		for i, x := range v {
			p := fmt.Sprintf("%s.%d", path, i)
			if s, ok := x.(string); ok {
				visit(p, func(to string) { v[i] = to })
				v[i] = s
			} else {
				eachString(x, p, visit)
			}
		}
	}
}

func checkText(t *testing.T, text string, limit int) {
	t.Helper()
	if len(text) > limit || !utf8.ValidString(text) || strings.TrimSpace(text) == "" {
		t.Fatalf("%d bytes, valid UTF-8 %t: %.200q", len(text), utf8.ValidString(text), text)
	}
}

func TestCap(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"éé", 3, "é"},
		{"a\xffb", 100, "a\uFFFDb"},
		{strings.Repeat("x", 40), 40, strings.Repeat("x", 40)},
		{strings.Repeat("x", 41), 40, strings.Repeat("x", 40-19) + "\n[… 20 bytes cut]"},
		{strings.Repeat("é", 30), 40, strings.Repeat("é", 10) + "\n[… 40 bytes cut]"},
		{strings.Repeat("x", 1000), 40, strings.Repeat("x", 19) + "\n[… 981 bytes cut]"},
	}
	for _, tt := range tests {
		got := hook.Cap(tt.text, tt.limit)
		if got != tt.want {
			t.Errorf("Cap(%.50q, %d) = %q (%d), want %q", tt.text, tt.limit, got, len(got), tt.want)
		}
	}
}

func TestTextIsCapped(t *testing.T) {
	for _, s := range []string{"x", "é", "😀", "\xff", "\xffa"} {
		for shift := range 4 {
			long := strings.Repeat("y", shift) + strings.Repeat(s, 20<<10)
			e := mustParse(t, `{"cwd":"/home/dev/api","hook_event_name":"Stop","last_assistant_message":"`+long+`"}`)
			text := e.Text()
			expanded, err := e.Expand("Stop in api: {last_assistant_message}{missing|}")
			if err != nil || expanded != text && s != "\xff" {
				t.Errorf("%q: expanded to other than the text: %v", s, err)
			}
			for _, text := range []string{text, expanded} {
				checkText(t, text, hook.MaxText)
				if s != "\xff" && (len(text) < hook.MaxText-8 || !strings.HasSuffix(text, " bytes cut]")) {
					t.Errorf("%q: %d bytes, ends in %q", s, len(text), text[len(text)-30:])
				}
			}
		}
	}
}

func BenchmarkHook(b *testing.B) {
	f, err := os.Open(captured + "PostToolUse-Bash.json")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		if _, err := f.Seek(0, 0); err != nil {
			b.Fatal(err)
		}
		raw, err := hook.Read(b.Context(), f)
		if err != nil {
			b.Fatal(err)
		}
		e, err := hook.Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		if e.Text() != "PostToolUse in api" {
			b.Fatal(e.Text())
		}
	}
}

func BenchmarkParse20MB(b *testing.B) {
	raw := []byte(`{"session_id":"4dde5d02","transcript_path":"/t","cwd":"/home/dev/api","prompt_id":"5613c780","hook_event_name":"PostToolUse","tool_response":"` + strings.Repeat(`text and a line\n`, 20<<20/17) + `"}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := hook.Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}
