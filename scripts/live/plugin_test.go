//go:build live

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ccpost/scripts/messagesapi"
	"ccpost/scripts/plugin"
)

// The plugin as it is released. What sessions that have it go through is told
// to the one that is named overseer, which has it too.
func TestPlugin(t *testing.T) {
	h := newHome(t)
	dir := filepath.Join(h.Dir, "the plugin") // no shell reads its path
	if err := plugin.Write(dir, ccpost(t), "0.1.0"); err != nil {
		t.Fatal(err)
	}
	validate := exec.Command(claude(t), "plugin", "validate", dir)
	validate.Env = []string{"HOME=" + h.Dir, "PATH=" + os.Getenv("PATH")}
	if out, err := validate.CombinedOutput(); err != nil {
		t.Errorf("claude plugin validate: %v\n%s", err, out)
	}
	load := []string{"--permission-mode", "default", "--plugin-dir", dir}

	a := h.start(t, "worker-a", func(r messagesapi.Request) messagesapi.Reply {
		if r.HasTool("Bash") && strings.Contains(r.Text(), "where is it") {
			return messagesapi.Reply{Tool: "Bash", Input: map[string]any{"command": `command -v ccpost >"$HOME/found"`}}
		}
		return messagesapi.Reply{Text: "the migration is done"}
	}, nil, load...)
	// Nobody is there to be told, and nothing is said.
	a.prompt(t, "where is it")
	a.awaitHooks(t, "Stop", 1)
	if got, want := a.awaitFile(t, "found"), filepath.Join(dir, plugin.Binary)+"\n"; got != want {
		t.Errorf("in Bash ccpost is %q, want %q", got, want)
	}

	overseer := h.start(t, "overseer", nil, nil, load...)
	a.prompt(t, "go on")
	overseer.awaitPost(t, "worker-a", "Stop in worker-a: the migration is done")
	a.awaitHooks(t, "Stop", 2)

	b := h.startInteractive(t, "worker-b", func(r messagesapi.Request) messagesapi.Reply {
		if r.HasTool("Write") && strings.Contains(r.Text(), "write it down") {
			return messagesapi.Reply{Tool: "Write", Input: map[string]any{
				"file_path": filepath.Join(h.Dir, "work", "worker-b", "note"), "content": "done",
			}}
		}
		return messagesapi.Reply{Text: "ok"}
	}, load...)
	b.enter(t, "write it down")
	overseer.awaitPost(t, "worker-b", "Notification in worker-b: ")
	b.awaitHooks(t, "Notification", 1)

	// The overseer's own turns, a user's among them, end in Stop and tell nobody.
	overseer.awaitRest(t, 1)
	turns := overseer.hooks(t, "Stop")
	overseer.prompt(t, "go on")
	overseer.awaitHooks(t, "Stop", turns+1)
	if got := overseer.given(t); len(got) != 2 {
		t.Errorf("the overseer was given %q, want what a and b had to say", got)
	}
}

// awaitHooks waits until n hooks at this event have ended, all of them well.
func (s *session) awaitHooks(t *testing.T, event string, n int) {
	t.Helper()
	s.await(t, event+" hooks", func() bool { return s.hooks(t, event) >= n })
}

// hooks is how many of the plugin's hooks at this event have ended. The debug
// file is the one place that tells of those that had nothing to say.
func (s *session) hooks(t *testing.T, event string) (n int) {
	t.Helper()
	debug, err := os.ReadFile(s.File("debug"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(debug)) {
		before, behind, found := strings.Cut(line, "/"+plugin.Binary+" hook ")
		if _, status, ended := strings.Cut(behind, " with status "); found && ended && strings.Contains(before, event) {
			n++
			if !strings.HasPrefix(status, "0") {
				t.Errorf("%s: %s", s.Name, line)
			}
		}
	}
	return n
}
