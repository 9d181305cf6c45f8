//go:build live

package live

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ccpost/scripts/messagesapi"
	"ccpost/scripts/scratch"
)

// startInteractive runs a session in a terminal, which is tmux with a server of
// its own, until the test ends. More are arguments for Claude Code, in the place
// of the permission mode that asks.
func (h *home) startInteractive(t *testing.T, name string, script messagesapi.Script, more ...string) *session {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		notRun(t, "no tmux")
	}
	s := h.prepare(t, name, script, nil)
	if more == nil {
		more = []string{"--permission-mode", "default"}
	}
	command := append(s.Command(), more...)
	s.give(t)
	s.tmux = s.File("tmux")
	// The server takes this environment, and the session the server's.
	open := s.tmuxCommand(append([]string{"-f", "/dev/null", "new-session", "-d",
		"-s", "terminal", "-x", "120", "-y", "40", "-c", s.Work}, command...)...)
	open.Env = append(s.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	if out, err := open.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if t.Failed() {
			screen, _ := s.tmuxCommand("capture-pane", "-p").Output()
			t.Logf("session %s, screen:\n%s", name, screen)
			t.Logf("session %s, debug file:\n%s", name, scratch.Tail(s.File("debug")))
		}
		s.tmuxCommand("kill-server").Run() // hangs the session up; it takes its files away
	})
	pid, err := strconv.Atoi(s.tmuxDo(t, "display-message", "-p", "#{pane_pid}"))
	if err != nil {
		t.Fatal(err)
	}
	s.PID = pid
	if err := s.AwaitInbox(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.awaitScreen(t, "❯") // what is typed before the prompt is there gets lost
	return s
}

// tmuxCommand speaks UTF-8 whatever the locale of the run.
func (s *session) tmuxCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.tmux}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.As}
	return cmd
}

// tmuxDo returns what the command prints, without the newline.
func (s *session) tmuxDo(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.tmuxCommand(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %s: %v\n%s", args[0], err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// awaitScreen waits until the screen shows text within one line.
func (s *session) awaitScreen(t *testing.T, text string) {
	t.Helper()
	s.await(t, fmt.Sprintf("%q on its screen", text), func() bool {
		return strings.Contains(s.tmuxDo(t, "capture-pane", "-p"), text)
	})
}

// enter types a line at the prompt. Enter goes when the line is there: together
// they could be taken for a paste.
func (s *session) enter(t *testing.T, line string) {
	t.Helper()
	s.tmuxDo(t, "send-keys", "-l", line)
	s.awaitScreen(t, "❯\u00a0"+line)
	s.tmuxDo(t, "send-keys", "Enter")
}

func TestRenameShowsOnScreen(t *testing.T) {
	h := newHome(t)
	s := h.startInteractive(t, "draft", nil)

	// The rule above the prompt ends in the session's name.
	s.awaitScreen(t, " draft ─")
	got := h.run(t, "rename", "--to", "draft", "--json", "the nightly\tbuild").report(t)
	if got.Outcome != "rename-sent" || got.Exit != 0 || !got.Confirmed {
		t.Errorf("rename reports %+v, want rename-sent, exit 0, confirmed", got)
	}
	if name := s.record(t).Name; name != "the nightly build" {
		t.Errorf("the record names the session %q", name)
	}
	s.awaitScreen(t, " the nightly build ─")

	if got := h.run(t, "send", "--to", "draft", "--json", "to nobody").report(t); got.Outcome != "no-session-record" || got.Exit != 69 {
		t.Errorf("send to the old name reports %+v, want no-session-record, exit 69", got)
	}
	h.send(t, "the nightly build", "ci", "to the new name")
	s.awaitPost(t, "ci", "to the new name")
	s.awaitScreen(t, "Message from @ci: to the new name")
}

func TestListNamesThePane(t *testing.T) {
	h := newHome(t)
	s := h.startInteractive(t, "draft", nil)
	pane := s.tmuxDo(t, "display-message", "-p", "#{session_name}:#{window_id}.#{pane_id}")
	if got := h.list(t); len(got) != 1 || got[0].Tmux != pane || got[0].PID != s.PID {
		t.Errorf("list says %+v, want pid %d in %s", got, s.PID, pane)
	}
}

// A program that a session started outlives /clear with the environment of
// before: what it says was meant for the conversation that is gone.
func TestSessionChangedAfterClear(t *testing.T) {
	h := newHome(t)
	s := h.startInteractive(t, "draft", useBash(`
		for word in before after; do
			until [ -e "$HOME/$word" ]; do sleep 0.05; done
			'`+ccpost(t)+`' send --json "said $word clear" >"$HOME/$word.said"
		done </dev/null >/dev/null 2>&1 &`))
	s.enter(t, "use the tool")
	s.awaitScreen(t, "● ok") // the tool has returned

	said := func(word string) (r report) {
		writeJSON(t, filepath.Join(h.Dir, word), nil)
		s.await(t, "an answer of the program", func() bool {
			return scratch.ReadJSON(filepath.Join(h.Dir, word+".said"), &r) == nil
		})
		return r
	}
	if got := said("before"); got.Exit != 0 {
		t.Errorf("before /clear, send reports %+v, want exit 0", got)
	}
	s.awaitPost(t, "draft", "said before clear")

	id := s.record(t).SessionID
	s.enter(t, "/clear")
	s.await(t, "another session id", func() bool {
		r, err := s.ReadRecord()
		return err == nil && r.SessionID != id
	})
	if got := said("after"); got.Outcome != "session-changed" || got.Exit != 69 || got.Sent {
		t.Errorf("after /clear, send reports %+v, want session-changed, exit 69, not sent", got)
	}
	// So does whoever noted the id down.
	if got := h.run(t, "send", "--to", id, "--json", "said to the old id").report(t); got.Outcome != "no-session-record" || got.Exit != 69 {
		t.Errorf("send to the old id reports %+v, want no-session-record, exit 69", got)
	}

	// A session takes its messages in their order, and /clear has emptied it.
	h.send(t, "draft", "ci", "said by name")
	if diff := cmp.Diff([]string{"said by name"}, posts(s.awaitPost(t, "ci", "said by name"))); diff != "" {
		t.Errorf("the model was given (-want +got):\n%s", diff)
	}
}
