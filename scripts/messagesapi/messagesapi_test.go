package messagesapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "ccpost/golden/update"
	"ccpost/scripts/messagesapi"
)

func start(t *testing.T, script messagesapi.Script) *messagesapi.Server {
	t.Helper()
	s, err := messagesapi.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func do(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

const hello = `{"model":"m","stream":%,"messages":[{"role":"user","content":"hello"}]}`

var (
	streamed = strings.Replace(hello, "%", "true", 1)
	whole    = strings.Replace(hello, "%", "false", 1)
)

// events reads a stream of server-sent events; each one's name must be its type.
func events(t *testing.T, body string) (all []map[string]any) {
	t.Helper()
	var name string
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = v
		}
		v, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(v), &event); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		if event["type"] != name {
			t.Errorf("event %q holds type %q", name, event["type"])
		}
		all = append(all, event)
	}
	return all
}

func TestStream(t *testing.T) {
	runBash := func(messagesapi.Request) messagesapi.Reply {
		return messagesapi.Reply{Tool: "Bash", Input: map[string]any{"command": "true"}}
	}
	for _, tt := range []struct {
		name       string
		script     messagesapi.Script
		block      map[string]any
		delta      map[string]any
		stopReason string
	}{
		{
			name:       "text",
			block:      map[string]any{"type": "text", "text": ""},
			delta:      map[string]any{"type": "text_delta", "text": "ok"},
			stopReason: "end_turn",
		},
		{
			name:       "tool",
			script:     runBash,
			block:      map[string]any{"type": "tool_use", "id": "toolu_000001", "name": "Bash", "input": map[string]any{}},
			delta:      map[string]any{"type": "input_json_delta", "partial_json": `{"command":"true"}`},
			stopReason: "tool_use",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.script)
			status, body := do(t, "POST", s.URL()+"/v1/messages", streamed)
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, body)
			}
			got := events(t, body)
			var types []string
			for _, event := range got {
				types = append(types, event["type"].(string))
			}
			if diff := cmp.Diff([]string{
				"message_start", "content_block_start", "content_block_delta",
				"content_block_stop", "message_delta", "message_stop",
			}, types); diff != "" {
				t.Fatal(diff)
			}
			message := got[0]["message"].(map[string]any)
			if message["model"] != "m" || message["role"] != "assistant" {
				t.Errorf("message_start holds %v", message)
			}
			if diff := cmp.Diff(tt.block, got[1]["content_block"]); diff != "" {
				t.Errorf("content_block_start: %s", diff)
			}
			if diff := cmp.Diff(tt.delta, got[2]["delta"]); diff != "" {
				t.Errorf("content_block_delta: %s", diff)
			}
			if why := got[4]["delta"].(map[string]any)["stop_reason"]; why != tt.stopReason {
				t.Errorf("message_delta stops for %v, want %s", why, tt.stopReason)
			}
		})
	}
}

func TestWholeAnswer(t *testing.T) {
	s := start(t, nil)
	status, body := do(t, "POST", s.URL()+"/v1/messages", whole)
	var got struct {
		Type, Role string
		StopReason string `json:"stop_reason"`
		Content    []map[string]any
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Type, want.Role, want.StopReason = "message", "assistant", "end_turn"
	want.Content = []map[string]any{{"type": "text", "text": "ok"}}
	if diff := cmp.Diff(want, got); status != http.StatusOK || diff != "" {
		t.Errorf("status %d: %s", status, diff)
	}
}

func TestOtherAnswers(t *testing.T) {
	s := start(t, nil)
	for _, tt := range []struct {
		method, path, body string
		status             int
		holds              string
	}{
		{"POST", "/v1/messages/count_tokens", whole, 200, `"input_tokens":`},
		{"POST", "/v1/messages?beta=true", whole, 200, `"end_turn"`},
		{"POST", "/v1/messages", "{", 400, "invalid_request_error"},
		{"POST", "/v1/messages", `{"messages":[{"role":"user","content":7}]}`, 400, "invalid_request_error"},
		{"GET", "/v1/messages", "", 404, "not_found_error"},
		{"GET", "/v1/models", "", 404, "not_found_error"},
	} {
		status, body := do(t, tt.method, s.URL()+tt.path, tt.body)
		if status != tt.status || !strings.Contains(body, tt.holds) {
			t.Errorf("%s %s: %d %s, want %d with %s", tt.method, tt.path, status, body, tt.status, tt.holds)
		}
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests kept, want the one good POST /v1/messages", n)
	}
}

func TestRequest(t *testing.T) {
	const (
		question = `{"role":"user","content":[{"type":"text","text":"a reminder"},{"type":"text","text":"run it"}]}`
		toolUse  = `{"role":"assistant","content":[{"type":"text","text":"running"},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"true"}}]}`
		result   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"ran"}]}`
		blocks   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"ran"}]}]}`
		empty    = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}`
		midTurn  = `{"role":"system","content":"a message came in"}`
		plain    = `{"role":"user","content":"hello"}`
	)
	for _, tt := range []struct {
		name     string
		messages []string
		text     string
		all      string
	}{
		{name: "none"},
		{"plain", []string{plain}, "hello", "hello"},
		{"blocks", []string{question}, "a reminder\nrun it", "a reminder\nrun it"},
		{"tool result", []string{question, toolUse, result}, "ran", "a reminder\nrun it\nrunning\nran"},
		{"tool result of blocks", []string{question, toolUse, blocks}, "ran", "a reminder\nrun it\nrunning\nran"},
		{"tool result of nothing", []string{toolUse, empty}, "", "running"},
		{"mid turn", []string{toolUse, result, midTurn}, "ran\na message came in", "running\nran\na message came in"},
		{"next turn", []string{toolUse, result, toolUse, plain}, "hello", "running\nran\nrunning\nhello"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, nil)
			body := `{"tools":[{"name":"Bash"}],"messages":[` + strings.Join(tt.messages, ",") + `]}`
			if status, answer := do(t, "POST", s.URL()+"/v1/messages", body); status != http.StatusOK {
				t.Fatal(answer)
			}
			r := s.Requests()[0]
			if string(r.Body) != body {
				t.Errorf("body %s, want it as sent: %s", r.Body, body)
			}
			if got := r.Text(); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			if got := r.AllText(); got != tt.all {
				t.Errorf("all text %q, want %q", got, tt.all)
			}
			if !r.HasTool("Bash") || r.HasTool("Write") {
				t.Errorf("has Bash %t and Write %t, want Bash alone", r.HasTool("Bash"), r.HasTool("Write"))
			}
		})
	}
}

func TestScriptSeesTheRequest(t *testing.T) {
	s := start(t, func(r messagesapi.Request) messagesapi.Reply {
		return messagesapi.Reply{Text: "you said " + r.Text()}
	})
	if _, body := do(t, "POST", s.URL()+"/v1/messages", whole); !strings.Contains(body, "you said hello") {
		t.Errorf("answered %s", body)
	}
}

func TestWaitFor(t *testing.T) {
	s := start(t, nil)
	says := func(text string) func(messagesapi.Request) bool {
		return func(r messagesapi.Request) bool { return r.Text() == text }
	}
	post := func(text string) {
		do(t, "POST", s.URL()+"/v1/messages", `{"messages":[{"role":"user","content":"`+text+`"}]}`)
	}

	looked := make(chan struct{})
	found := make(chan error)
	go func() {
		_, err := s.WaitFor(t.Context(), func(r messagesapi.Request) bool {
			if r.Text() == "first" {
				close(looked)
			}
			return r.Text() == "second"
		})
		found <- err
	}()
	post("first")
	<-looked
	post("second")
	if err := <-found; err != nil {
		t.Errorf("one to come: %v", err)
	}
	if r, err := s.WaitFor(t.Context(), says("first")); err != nil || r.Text() != "first" {
		t.Errorf("one that has been: %q, %v", r.Text(), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.WaitFor(ended, says("never"))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "none of 2 requests") {
		t.Errorf("one that never comes: %v", err)
	}
}
