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

// newPlugin makes the plugin as it is released, and gives the arguments with
// which Claude Code loads it.
func (h *home) newPlugin(t *testing.T) (dir string, load []string) {
	t.Helper()
	dir = filepath.Join(h.Dir, "the plugin") // no shell reads its path
	if err := plugin.Write(dir, ccpost(t), "0.1.0"); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"--permission-mode", "default", "--plugin-dir", dir}
}

func TestPluginIsValid(t *testing.T) {
	h := newHome(t)
	dir, _ := h.newPlugin(t)
	validate := exec.Command(claude(t), "plugin", "validate", dir)
	validate.Env = []string{"HOME=" + h.Dir, "PATH=" + os.Getenv("PATH")}
	if out, err := validate.CombinedOutput(); err != nil {
		t.Errorf("claude plugin validate: %v\n%s", err, out)
	}
}

// A session that has the plugin tells the one that is named overseer, which has
// it too, what it said last.
func TestPlugin(t *testing.T) {
	h := newHome(t)
	dir, load := h.newPlugin(t)
	worker := h.start(t, "worker", func(r messagesapi.Request) messagesapi.Reply {
		if r.HasTool("Bash") && strings.Contains(r.Text(), "where is it") {
			return messagesapi.Reply{Tool: "Bash", Input: map[string]any{"command": `command -v ccpost >"$HOME/found"`}}
		}
		return messagesapi.Reply{Text: "the migration is done"}
	}, nil, load...)
	// Nobody is there to be told, and nothing is said.
	worker.prompt(t, "where is it")
	worker.awaitResult(t, 1)
	if got, want := worker.awaitFile(t, "found"), filepath.Join(dir, plugin.Binary)+"\n"; got != want {
		t.Errorf("in Bash ccpost is %q, want %q", got, want)
	}

	overseer := h.start(t, "overseer", nil, nil, load...)
	worker.prompt(t, "go on")
	overseer.awaitPost(t, "worker", "Stop in worker: the migration is done")
	overseer.awaitResult(t, 1)
	// The overseer's turns, its user's among them, end in Stop and tell nobody.
	overseer.prompt(t, "what do you know")
	overseer.awaitResult(t, 2)
	if got := overseer.given(t); len(got) != 1 {
		t.Errorf("the overseer was given %q, want what the worker had to say", got)
	}
	for _, s := range []*session{worker, overseer} {
		if said := s.complaint(); said != "" {
			t.Errorf("a hook of %s says: %s", s.Name, said)
		}
	}

	h.start(t, "overseer", nil, nil)
	worker.prompt(t, "go on")
	worker.await(t, "a hook that can't tell two overseers apart", func() bool {
		return strings.Contains(worker.complaint(), "ambiguous-target")
	})
}

func TestPluginTellsOfAQuestion(t *testing.T) {
	h := newHome(t)
	_, load := h.newPlugin(t)
	overseer := h.start(t, "overseer", nil, nil, load...)
	worker := h.startInteractive(t, "worker", func(r messagesapi.Request) messagesapi.Reply {
		if r.HasTool("Write") && strings.Contains(r.Text(), "write it down") {
			return messagesapi.Reply{Tool: "Write", Input: map[string]any{
				"file_path": filepath.Join(h.Dir, "work", "worker", "note"), "content": "done",
			}}
		}
		return messagesapi.Reply{Text: "ok"}
	}, load...)
	worker.enter(t, "write it down")
	overseer.awaitPost(t, "worker", "Notification in worker: ")
}

// complaint is what a hook of the session said when it failed, "" where none did.
// The debug file has it in every version.
func (s *session) complaint() string {
	debug, _ := os.ReadFile(s.File("debug"))
	for line := range strings.Lines(string(debug)) {
		if strings.Contains(line, `"Hook `) && strings.Contains(line, ") error:") {
			return line
		}
	}
	return ""
}
