//go:build live

package live

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"ccpost/scripts/messagesapi"
	"ccpost/scripts/scratch"
)

// Two sessions whose Stop hooks post to each other would answer each other
// without end. Each posts what its own user had it do, and no more.
func TestStopHooksDoNotAnswerEachOther(t *testing.T) {
	h := newHome(t)
	// Another text each turn: a session drops what it was told a moment ago.
	var turns atomic.Int32
	say := func(text string) messagesapi.Script {
		return func(messagesapi.Request) messagesapi.Reply {
			return messagesapi.Reply{Text: fmt.Sprintf("%s, %d", text, turns.Add(1))}
		}
	}
	toName := func(name string) scratch.Hooks {
		return scratch.Hooks{"Stop": scratch.Exec(ccpost(t), "hook", "--to", "name:"+name)}
	}
	a := h.start(t, "worker-a", say("a is done"), toName("worker-b"))
	b := h.start(t, "worker-b", say("b is done"), toName("worker-a"))
	a.prompt(t, "go on")
	b.awaitPost(t, "worker-a", "a is done")
	b.awaitResult(t, 1)
	b.prompt(t, "go on")
	a.awaitPost(t, "worker-b", "b is done")
	a.awaitResult(t, 2)
	for s, want := range map[*session]string{a: "Stop in worker-b: b is done", b: "Stop in worker-a: a is done"} {
		if got := s.given(t); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s was given %q, want one message that begins with %q", s.Name, got, want)
		}
	}
}

// --allow-chain lifts that guard.
func TestAllowChain(t *testing.T) {
	h := newHome(t)
	a := h.start(t, "worker-a", func(messagesapi.Request) messagesapi.Reply {
		return messagesapi.Reply{Text: "a is done"}
	}, scratch.Hooks{"Stop": scratch.Exec(ccpost(t), "hook", "--to", "name:worker-b", "--allow-chain")})
	b := h.start(t, "worker-b", nil, nil)
	a.send(t, a.Socket, "ci", "go on")
	b.awaitPost(t, "worker-a", "a is done")
}

// Who asked for the work gets its report: a message from another Claude is no
// poster's.
func TestWorkerReportsToItsOverseer(t *testing.T) {
	h := newHome(t)
	worker := h.start(t, "worker", func(messagesapi.Request) messagesapi.Reply {
		return messagesapi.Reply{Text: "the work is done"}
	}, scratch.Hooks{"Stop": scratch.Exec(ccpost(t), "hook", "--to", "name:overseer")})
	overseer := h.start(t, "overseer", func(r messagesapi.Request) messagesapi.Reply {
		switch {
		case strings.Contains(r.Text(), "have it done"): // the tool is one that is asked for first
			return messagesapi.Reply{Tool: "ToolSearch", Input: map[string]any{"query": "select:SendMessage"}}
		case r.HasTool("SendMessage") && !strings.Contains(r.AllText(), `"success":true`):
			return messagesapi.Reply{Tool: "SendMessage", Input: map[string]any{
				"to": "worker", "summary": "some work", "message": "do some work",
			}}
		}
		return messagesapi.Reply{Text: "ok"}
	}, nil)
	overseer.prompt(t, "have it done")
	overseer.awaitPost(t, "worker", "the work is done")
	if got := posts(worker.API.Requests()[0]); len(got) != 1 || got[0] != "do some work" {
		t.Errorf("the worker was given %q", got)
	}
}
