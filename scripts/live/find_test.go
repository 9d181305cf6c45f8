//go:build live

package live

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSendFindsOneOfThree(t *testing.T) {
	h, other := newHome(t), newHome(t)
	a := h.start(t, "worker-a", nil, nil)
	b := h.start(t, "worker b, the second", nil, nil) // kong would make two of it
	c := other.start(t, "worker-c", nil, nil)         // of another config dir
	link := filepath.Join(h.Dir, "link")
	if err := os.Symlink(c.Work, link); err != nil {
		t.Fatal(err)
	}
	aID, bID := a.record(t).SessionID, b.record(t).SessionID

	given := map[*session][]string{}
	for _, tt := range []struct {
		to string
		s  *session
	}{
		{"worker-a", a},
		{"name:worker-a", a},
		{"worker b, the second", b},
		{aID, a},
		{bID[:8], b},
		{"id:" + bID, b},
		{fmt.Sprint(a.PID), a},
		{fmt.Sprintf("pid:%d", b.PID), b},
		{"dir:" + a.Work, a},
		{"dir:" + b.Work, b},
		{"dir:" + link, c},
		{"worker-c", c},
		{"uds:" + c.Socket, c},
	} {
		body := "for " + tt.to
		h.send(t, tt.to, "ci", body, "--config-dir", h.ConfigDir, "--config-dir", other.ConfigDir)
		given[tt.s] = append(given[tt.s], body)
	}
	for _, s := range []*session{a, b, c} {
		s.home.send(t, s.Name, "ci", "for the end")
		got := posts(s.awaitPost(t, "ci", "for the end"))
		if diff := cmp.Diff(append(given[s], "for the end"), got); diff != "" {
			t.Errorf("%s was given (-want +got):\n%s", s.Name, diff)
		}
	}
}

// Two sessions of one name, then two processes of one session: nobody is guessed.
func TestAmbiguousTarget(t *testing.T) {
	h := newHome(t)
	a := h.start(t, "twin", nil, nil)
	b := h.start(t, "twin", nil, nil)
	a.ambiguous(t, "name:twin", b)

	a.prompt(t, "what can be resumed must have been spoken to")
	resumed := a.resume(t)
	id := a.record(t).SessionID
	a.ambiguous(t, id, resumed)
	a.ambiguous(t, id[:8], resumed)

	for _, s := range []*session{a, b, resumed} {
		h.send(t, fmt.Sprintf("pid:%d", s.PID), "ci", "for you alone")
		if got := posts(s.awaitPost(t, "ci", "for you alone")); len(got) != 1 {
			t.Errorf("pid %d was given what was for nobody: %q", s.PID, got)
		}
	}
}

// ambiguous holds that WHO names s and other, and that send says so.
func (s *session) ambiguous(t *testing.T, to string, other *session) {
	t.Helper()
	got := s.run(t, "send", "--to", to, "--json", "for one of two").report(t)
	var pids []int
	for _, m := range got.Matches {
		pids = append(pids, m.PID)
	}
	slices.Sort(pids)
	want := []int{s.PID, other.PID}
	slices.Sort(want)
	if got.Outcome != "ambiguous-target" || got.Exit != 78 || !slices.Equal(pids, want) {
		t.Errorf("send --to %s reports %+v, want ambiguous-target, exit 78, of %v", to, got, want)
	}
}

// resume runs the session in another process, too.
func (s *session) resume(t *testing.T) *session {
	t.Helper()
	id := s.record(t).SessionID
	s.await(t, "a transcript", func() bool {
		found, _ := filepath.Glob(filepath.Join(s.ConfigDir, "projects", "*", id+".jsonl"))
		return len(found) == 1
	})
	resumed := s.start(t, s.Name, nil, nil, "--resume", id)
	resumed.await(t, "the resumed session's id", func() bool {
		r, err := resumed.ReadRecord()
		return err == nil && r.SessionID == id
	})
	return resumed
}

func TestDeadSession(t *testing.T) {
	h := newHome(t)
	a := h.start(t, "worker-a", nil, nil)
	b := h.start(t, "worker-b", nil, nil)
	a.Kill()

	for _, command := range []string{"send", "check", "rename"} {
		args := []string{command, "--to", "worker-a", "--json"}
		if command != "check" {
			args = append(args, "to nobody")
		}
		if got := h.run(t, args...).report(t); got.Outcome != "not-live" || got.Exit != 69 || got.Sent {
			t.Errorf("%s reports %+v, want not-live, exit 69", command, got)
		}
	}
	if got := h.list(t); len(got) != 1 || got[0].PID != b.PID || got[0].Inbox != "reachable" {
		t.Errorf("list says %+v, want pid %d alone, reachable", got, b.PID)
	}
	if got := h.list(t, "--verbose"); len(got) != 2 || !slices.ContainsFunc(got, func(l listed) bool {
		return l.PID == a.PID && l.Inbox == "not-live"
	}) {
		t.Errorf("list --verbose says %+v, want pid %d, not-live, too", got, a.PID)
	}
}

func TestList(t *testing.T) {
	h, other := newHome(t), newHome(t)
	a := h.start(t, "worker-a", nil, nil)
	b := other.start(t, "worker, b", nil, nil)
	var want []listed
	for _, s := range []*session{a, b} {
		dir, err := filepath.EvalSymlinks(s.Work)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, listed{
			Name: s.Name, Status: atRest(), PID: s.PID, SessionID: s.record(t).SessionID, Version: *claudeVersion,
			Dir: dir, ConfigDir: s.ConfigDir, Socket: s.Socket, Inbox: "reachable",
		})
	}
	got := h.list(t, "--config-dir", h.ConfigDir, "--config-dir", other.ConfigDir)
	byName := func(a, b listed) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestCheckConnectWritesNothing(t *testing.T) {
	s := start(t, "worker-a", nil, nil)
	got := s.run(t, "check", "--to", "worker-a", "--connect", "--json").report(t)
	if got.Outcome != "reachable" || got.Exit != 0 || got.Sent || got.PID != s.PID {
		t.Errorf("check reports %+v, want reachable, exit 0, pid %d", got, s.PID)
	}
	s.send(t, "worker-a", "ci", "after the check")
	if got := posts(s.awaitPost(t, "ci", "after the check")); len(got) != 1 {
		t.Errorf("the model was given %q, want the message alone", got)
	}
}

// A session without a terminal ignores the line and says nothing to it.
func TestRenameOfHeadlessIsNotConfirmed(t *testing.T) {
	s := start(t, "worker-a", nil, nil)
	got := s.run(t, "rename", "--to", "worker-a", "--json", "worker-b").report(t)
	if got.Outcome != "rename-sent" || got.Exit != 0 || got.Confirmed {
		t.Errorf("rename reports %+v, want rename-sent, exit 0, not confirmed", got)
	}
	if name := s.record(t).Name; name != "worker-a" {
		t.Errorf("the record names the session %q: confirmed should be true", name)
	}
}

func TestPolicyDecides(t *testing.T) {
	h := newHome(t)
	h.policy(t, "refuse")
	s := h.start(t, "worker-a", nil, nil)
	h.run(t, "send", "--to", "worker-a", "while it refuses")

	h.policy(t, "accept")
	// A running session follows its settings' file within some 3 s.
	next := time.Now()
	n := 0
	s.await(t, "taken a message", func() bool {
		if time.Now().After(next) {
			next = time.Now().Add(time.Second)
			n++
			h.run(t, "send", "--to", "worker-a", fmt.Sprintf("attempt %d", n))
		}
		return len(s.API.Requests()) > 0
	})
	if got := posts(s.API.Requests()[0]); len(got) == 0 || got[0] == "while it refuses" {
		t.Errorf("the model was given %q, want no more than the attempts", got)
	}
}

func (h *home) policy(t *testing.T, value string) {
	t.Helper()
	if got := h.run(t, "policy", value); got.exit != 0 {
		t.Fatalf("policy %s: exit %d\n%s", value, got.exit, got.stderr)
	}
}

// What a git hook does in a repository that five sessions work in. The figure is
// printed, not held to: five sessions that begin a turn at once are busy with that.
func TestTimeToTellFive(t *testing.T) {
	h := newHome(t)
	var sessions []*session
	for range 5 {
		sessions = append(sessions, h.start(t, "worker", nil, nil)) // of one name, and so in one directory
	}
	work := sessions[0].Work
	var all []time.Duration
	for i := range 20 { // all senders without a reply address share one limit, which is 30 at once
		began := time.Now()
		h.send(t, "dir:"+work, "git", fmt.Sprintf("commit %d", i), "--if-present", "--wait=0")
		all = append(all, time.Since(began))
		for _, s := range sessions {
			s.awaitRest(t, i+1)
		}
	}
	for _, s := range sessions {
		s.awaitPost(t, "git", "commit 19")
	}
	slices.Sort(all)
	t.Logf("five sessions told, 20 times: median %v, fastest %v, slowest %v", all[10], all[0], all[19])
}
