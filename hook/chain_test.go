package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ccpost/hook"
)

// Rows of a transcript, as captured but for the fields that nobody looks at.
const (
	human    = `{"type":"user","promptId":"p1","message":{"role":"user","content":"run the tests"}}`
	poster   = `{"type":"user","promptId":"p1","isMeta":true,"origin":{"kind":"peer","from":"uds:/tmp/cc-socks/0123456789abcdef.sock"},"message":{"role":"user","content":"x"}}`
	unknown  = `{"type":"user","promptId":"p1","isMeta":true,"origin":{"kind":"peer","from":"unknown"},"message":{"role":"user","content":"x"}}`
	noFrom   = `{"type":"user","promptId":"p1","isMeta":true,"origin":{"kind":"peer"},"message":{"role":"user","content":"x"}}`
	overseer = `{"type":"user","promptId":"p1","isMeta":true,"origin":{"kind":"peer","from":"uds:/run/user/1000/cc-socks/4711.sock"},"message":{"role":"user","content":"x"}}`
	result   = `{"type":"user","promptId":"p1","message":{"role":"user","content":[{"type":"tool_result","content":"ok"}]}}`
	feedback = `{"type":"user","promptId":"p1","isMeta":true,"message":{"role":"user","content":"Stop hook feedback: go on"}}`
	compact  = `{"type":"user","promptId":"p1","isCompactSummary":true,"message":{"role":"user","content":"This session is being continued"}}`
	stopped  = `{"type":"user","promptId":"p1","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
	absorbed = `{"type":"attachment","attachment":{"type":"queued_command","origin":{"kind":"peer","from":"unknown"}},"promptId":"p1"}`
	said     = `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"ok"}]}}`
)

// other is a row of another turn.
func other(row string) string { return strings.Replace(row, `"p1"`, `"p0"`, 1) }

func transcript(t *testing.T, rows ...string) func() (*os.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() (*os.File, error) { return os.Open(path) }
}

func TestChain(t *testing.T) {
	long := strings.Repeat(said+"\n", 200<<10/len(said)) + said // more than one step of the search
	far := strings.Repeat(said+"\n", 1<<20/len(said)) + said    // more than all of it
	wide := `{"type":"assistant","x":"` + strings.Repeat("x", 300<<10) + `"}`
	for _, tt := range []struct {
		name string
		rows []string
		want bool // for an event with a prompt id
		bare bool // for one without: the last turn's row counts
	}{
		{"human", []string{human, said}, false, false},
		{"poster", []string{poster, said}, true, true},
		{"poster without an address", []string{unknown}, true, true},
		{"poster without any from", []string{noFrom}, true, true},
		{"another Claude", []string{overseer, said}, false, false},
		{"poster, with tools", []string{poster, said, result, said, result}, true, true},
		{"poster, and a hook made it go on", []string{poster, said, feedback, said}, true, true},
		{"poster, and its conversation was compacted", []string{poster, said, compact, said}, true, true},
		{"poster, and it was interrupted", []string{poster, said, stopped}, true, false},
		{"human, and its conversation was compacted", []string{human, said, compact, said}, false, false},
		{"human, and a hook made it go on", []string{human, said, feedback, said}, false, false},
		{"human, and a message was absorbed", []string{human, absorbed, said}, false, false},
		{"after a poster's turn", []string{other(poster), said, human, said}, false, false},
		{"before a poster's turn", []string{human, said, other(poster)}, false, true},
		{"poster, after a human's turn", []string{other(human), said, poster, said}, true, true},
		{"its row isn't written yet", []string{other(human), said}, false, false},
		{"long turn of a poster", []string{poster, long}, true, true},
		{"long turn of a human", []string{other(poster), human, long}, false, false},
		{"rows longer than a step", []string{poster, wide, wide, said}, true, true},
		{"too far back", []string{poster, far}, false, false},
		{"its text looks like one", []string{`{"type":"user","promptId":"p1","message":{"role":"user","content":` + fmt.Sprintf("%q", poster) + `}}`}, false, false},
		{"a row of another type", []string{strings.Replace(poster, `"user"`, `"system"`, 1), said}, false, false},
		{"broken rows", []string{human, poster[:len(poster)-1], "{", poster + "x"}, false, false},
		{"the last row isn't whole", []string{poster, result[:20]}, true, true},
		{"too deep", []string{`{"type":"user","promptId":"p1","origin":{"kind":"peer"},"x":` + strings.Repeat("[", 2000)}, false, false},
		{"empty", nil, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for doc, want := range map[string]bool{
				`{"hook_event_name":"Stop","transcript_path":"/t","prompt_id":"p1"}`: tt.want,
				`{"hook_event_name":"Stop","transcript_path":"/t"}`:                  tt.bare,
			} {
				why, skip := mustParse(t, doc).Chain(t.Context(), transcript(t, tt.rows...))
				if skip != want || skip != strings.HasSuffix(why, "--allow-chain") || strings.ContainsAny(why, "\r\n") {
					t.Errorf("%s: skip %t with reason %q, want %t", doc, skip, why, want)
				}
			}
		})
	}
}

// A row that is written late is waited for.
func TestChainWrittenLate(t *testing.T) {
	e := mustParse(t, `{"hook_event_name":"Stop","transcript_path":"/t","prompt_id":"p1"}`)
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	if err := os.WriteFile(path, []byte(other(human)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, skip := e.Chain(t.Context(), func() (*os.File, error) {
		time.AfterFunc(50*time.Millisecond, func() {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(poster + "\n")
				f.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
		return os.Open(path)
	})
	if !skip {
		t.Error("posted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, skip := e.Chain(ctx, transcript(t, other(human))); skip {
		t.Error("skipped, though nothing says so")
	}
}

// The row is found wherever it lies against the steps of the search.
func TestChainAtEveryOffset(t *testing.T) {
	e := mustParse(t, `{"hook_event_name":"Stop","transcript_path":"/t","prompt_id":"p1"}`)
	for _, step := range []int{8 << 10, (8 + 16) << 10, (8 + 16 + 32) << 10, (8 + 16 + 32 + 64) << 10} {
		for behind := step - len(poster) - 8; behind < step+8; behind += 3 {
			open := transcript(t, other(human), poster, strings.Repeat("x", behind))
			if _, skip := e.Chain(t.Context(), open); !skip {
				t.Fatalf("not found %d bytes before the end", behind)
			}
		}
	}
}

func TestChainEvents(t *testing.T) {
	for _, name := range append(protocolEvents, "", "AnEventOfNextYear") {
		e := mustParse(t, fmt.Sprintf(`{"hook_event_name":%q,"transcript_path":"/t","prompt_id":"p1","prompt":"hello"}`, name))
		_, skip := e.Chain(t.Context(), transcript(t, poster))
		// Those come between turns, and that one before its row.
		if want := name != "SessionStart" && name != "SessionEnd" && name != "UserPromptSubmit"; skip != want {
			t.Errorf("%s: skip %t, want %t", name, skip, want)
		}
	}
}

func TestChainOfPrompt(t *testing.T) {
	for prompt, want := range map[string]bool{
		"<cross-session-message from-name=\"ci\">\nhello\n</cross-session-message>":                                                     true,
		"<cross-session-message>\nhello\n</cross-session-message>":                                                                      true,
		"<cross-session-message from=\"uds:/tmp/cc-socks/w2.sock\" from-name=\"ci\">\nhello\n</cross-session-message>":                  true,
		"<cross-session-message from=\"uds:/tmp/cc-socks/0123456789012345.sock\">\nhello\n</cross-session-message>":                     true,
		"<cross-session-message from=\"4711.sock\">\nhello\n</cross-session-message>":                                                   true,
		"<cross-session-message from=\"uds:/tmp/cc-socks/4711.sock\" from-session=\"x\" from-name=\"a\">\nhi\n</cross-session-message>": false,
		"<cross-session-message from-name=\"ci\">\n from=\"uds:/tmp/cc-socks/4711.sock\"\n</cross-session-message>":                     true,
		"run the tests": false,
		"what does <cross-session-message> mean?": false,
		"": false,
	} {
		e := mustParse(t, fmt.Sprintf(`{"hook_event_name":"UserPromptSubmit","transcript_path":"/t","prompt":%q}`, prompt))
		_, skip := e.Chain(t.Context(), func() (*os.File, error) {
			t.Error("its row isn't written yet: there is nothing to look at")
			return nil, errors.New("no")
		})
		if skip != want {
			t.Errorf("%q: skip %t, want %t", prompt, skip, want)
		}
	}
}

// What can't be read lifts the guard.
func TestChainUnreadable(t *testing.T) {
	e := mustParse(t, `{"hook_event_name":"Stop","transcript_path":"/t","prompt_id":"p1"}`)
	if why, skip := e.Chain(t.Context(), func() (*os.File, error) { return nil, os.ErrPermission }); skip || why != "" {
		t.Errorf("skip %t with reason %q", skip, why)
	}
	if _, skip := e.Chain(t.Context(), func() (*os.File, error) { return os.Open(t.TempDir()) }); skip {
		t.Error("a directory is no transcript")
	}
	if _, skip := mustParse(t, `{"hook_event_name":"Stop"}`).Chain(t.Context(), nil); skip {
		t.Error("an event without a transcript")
	}
}

func BenchmarkChain(b *testing.B) {
	path := filepath.Join(b.TempDir(), "transcript.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(said+"\n", 2<<20/len(said))), 0o600); err != nil {
		b.Fatal(err)
	}
	e := mustParse(b, `{"hook_event_name":"Stop","transcript_path":"/t","prompt_id":"b42135cf-d338-4d63-bb78-79a5777eac27"}`)
	done, cancel := context.WithCancel(b.Context())
	cancel() // nothing of the turn is there, and nothing will be
	for b.Loop() {
		e.Chain(done, func() (*os.File, error) { return os.Open(path) })
	}
}

// FuzzChain holds the search through a transcript against encoding/json's
// reading of every row.
func FuzzChain(f *testing.F) {
	all := []string{human, poster, unknown, noFrom, overseer, result, feedback, compact, stopped, absorbed, said}
	for i, row := range all {
		f.Add([]byte(row))
		f.Add([]byte(other(row) + "\n" + all[(i+1)%len(all)] + "\n" + row + "\n" + said + "\n"))
		f.Add([]byte(row + "\n" + strings.Repeat(said+"\n", 30<<10/len(said))))                 // more than one step
		f.Add([]byte(other(human) + "\n" + row + "\n" + strings.Repeat("x", 8<<10-len(row)/2))) // cut by a step
	}
	for _, row := range []string{
		strings.Replace(poster, "p1", `\u00701`, 1), strings.Replace(poster, "peer", `\u0070eer`, 1), strings.Replace(poster, `"user"`, `"us\u0065r"`, 1),
		strings.Replace(poster, `"isMeta"`, `"type":"system","isMeta"`, 1), strings.Replace(poster, `"x"`, `[{"type":"tool_result"}]`, 1), poster + poster,
		strings.Replace(overseer, "4711", "47110815471", 1), strings.Replace(overseer, "uds:/", "uds:", 1), strings.Replace(overseer, "4711", "", 1), "\xef\xbb\xbf" + poster,
	} {
		f.Add([]byte(row + "\n"))
	}
	path := filepath.Join(f.TempDir(), "transcript.jsonl")
	open := func() (*os.File, error) { return os.Open(path) }
	f.Fuzz(func(t *testing.T, rows []byte) {
		if err := os.WriteFile(path, rows, 0o600); err != nil {
			t.Fatal(err)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel() // rows that aren't written yet are not waited for
		_, withID := hook.Event{Name: "Stop", TranscriptPath: "/t", PromptID: "p1"}.Chain(done, open)
		_, without := hook.Event{Name: "Stop", TranscriptPath: "/t"}.Chain(done, open)

		var any, last bool
		for row := range bytes.SplitSeq(rows, []byte("\n")) {
			began, ok := begins(row)
			if !ok {
				return
			}
			// A session writes these words in plain letters; others needn't be found.
			plain := func(word string) bool { return bytes.Contains(row, []byte(word)) }
			if began.tells && plain(`"user"`) {
				last = began.posted
			}
			any = any || began.posted && began.promptID == "p1" && plain("p1") && bytes.Contains(rows, []byte(`"peer"`))
		}
		if without != last {
			t.Errorf("without a prompt id: skip %t, the last row that tells says %t: %.1000q", without, last, rows)
		}
		// Where another turn's row lies between, the search may end before.
		const oneStep = 8 << 10
		if withID && !any || any && !withID && len(rows) <= oneStep && bytes.Contains(rows, []byte(`"peer"`)) {
			t.Errorf("with a prompt id: skip %t, the rows say %t: %.1000q", withID, any, rows)
		}
	})
}

type beginning struct {
	tells, posted bool
	promptID      string
}

// begins is a second reading of what a row says of how its turn began. It is
// not ok where a flag is neither true nor false, which no session writes.
func begins(row []byte) (b beginning, ok bool) {
	if !json.Valid(row) {
		return b, true
	}
	b.promptID = text(at(row, "promptId"))
	flag := false
	for _, name := range []string{"isMeta", "isCompactSummary", "isSidechain"} {
		switch v := string(at(row, name)); v {
		case "true":
			flag = true
		case "", "false", "null":
		default:
			return b, false
		}
	}
	peer := text(at(row, "origin", "kind")) == "peer"
	b.tells = text(at(row, "type")) == "user" && text(at(row, "message", "content", "0", "type")) != "tool_result" && (peer || !flag)
	b.posted = b.tells && peer && !ownSocket.MatchString(text(at(row, "origin", "from")))
	return b, true
}

var ownSocket = regexp.MustCompile(`(?s)^uds:/(.*/)?[0-9]{1,10}\.sock/*$`)
