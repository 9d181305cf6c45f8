//go:build live

package live

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ccpost/scripts/messagesapi"
	"ccpost/scripts/scratch"
)

// patience bounds every wait for something that must happen.
const patience = scratch.Patience

// home is a HOME that lasts as long as the test.
type home struct{ *scratch.Home }

func newHome(t *testing.T) *home {
	t.Helper()
	h, err := scratch.NewHome()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Remove() })
	return &home{h}
}

// bypassing makes a session that asks for no permission.
const bypassing = "--dangerously-skip-permissions"

// session is a Claude Code of the test's own.
type session struct {
	*home
	*scratch.Session
	tmux string // interactive: the socket of the tmux server
}

// start runs a headless session in a HOME of its own until the test ends.
func start(t *testing.T, name string, script messagesapi.Script, hooks scratch.Hooks) *session {
	t.Helper()
	return newHome(t).start(t, name, script, hooks)
}

// start runs a headless session until the test ends and returns once its inbox
// is there. More are arguments for Claude Code.
func (h *home) start(t *testing.T, name string, script messagesapi.Script, hooks scratch.Hooks, more ...string) *session {
	t.Helper()
	s := h.prepare(t, name, script, hooks)
	s.give(t)
	if !slices.Contains(more, bypassing) {
		more = append(more, "--permission-mode", "default") // some versions begin in another mode
	}
	err := s.Start(t.Context(), more...)
	t.Cleanup(func() {
		s.End()
		if t.Failed() {
			t.Logf("session %s, standard error:\n%s", name, scratch.Tail(s.File("stderr")))
			t.Logf("session %s, debug file:\n%s", name, scratch.Tail(s.File("debug")))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// prepare makes what a session needs to start.
func (h *home) prepare(t *testing.T, name string, script messagesapi.Script, hooks scratch.Hooks) *session {
	t.Helper()
	s, err := h.Prepare(h.program(t, claude(t)), name, script, scratch.Settings(hooks))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.End)
	return &session{home: h, Session: s}
}

// record is what the registry says of the session now.
func (s *session) record(t *testing.T) scratch.Record {
	t.Helper()
	var r scratch.Record
	s.await(t, "a record", func() bool {
		var err error
		r, err = s.ReadRecord()
		return err == nil
	})
	return r
}

// awaitFile returns what a hook wrote under the session's HOME, once it did.
func (s *session) awaitFile(t *testing.T, name string) string {
	t.Helper()
	var data []byte
	s.await(t, name, func() bool {
		data, _ = os.ReadFile(filepath.Join(s.Dir, name))
		return len(data) > 0
	})
	return string(data)
}

// await polls for what only the file system or a screen tells.
func (s *session) await(t *testing.T, what string, there func() bool) {
	t.Helper()
	if err := s.Await(t.Context(), what, there); err != nil {
		t.Fatal(err)
	}
}

// prompt is what the session's user says.
func (s *session) prompt(t *testing.T, text string) {
	t.Helper()
	if err := s.Prompt(text); err != nil {
		t.Fatal(err)
	}
}

// shortDir is t.TempDir with room for a socket's path under it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	if err := scratch.WriteJSON(path, v); err != nil {
		t.Fatal(err)
	}
}
