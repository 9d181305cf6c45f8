//go:build live

package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"ccpost/scripts/messagesapi"
)

// patience bounds every wait for something that must happen. It is no assertion
// on time: a session is up within 6 s and answers within a second.
const patience = 30 * time.Second

// apiKey opens the stand-in. An interactive session asks about a key that its
// user has not approved.
const apiKey = "stand-in"

// home is a HOME and what the sessions in it share: the registry, the socket
// directory, the settings.
type home struct {
	dir       string // short: a socket path has at most 103 bytes on some systems
	configDir string
	sessions  []*session
	as        *syscall.Credential // of another user, where its sessions need one
}

// newHome makes a HOME whose user has answered the questions of a first start.
func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{dir: shortDir(t)}
	h.configDir = filepath.Join(h.dir, ".claude")
	// run is for XDG_RUNTIME_DIR, where the socket directory goes, else it would
	// be shared with every other session of this user.
	for _, dir := range []string{"run", "work", "tmp", ".claude"} {
		if err := os.Mkdir(filepath.Join(h.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// A session knows its directory by its true path, and what is below a
	// trusted directory is trusted.
	work, err := filepath.EvalSymlinks(filepath.Join(h.dir, "work"))
	if err != nil {
		t.Fatal(err)
	}
	writeJSON(t, filepath.Join(h.dir, ".claude.json"), map[string]any{
		"hasCompletedOnboarding": true,
		"customApiKeyResponses":  map[string]any{"approved": []string{apiKey}},
		"projects":               map[string]any{work: map[string]any{"hasTrustDialogAccepted": true}},
	})
	return h
}

// session is a Claude Code of the test's own.
type session struct {
	*home
	name   string // as it was started; rename changes the record's
	pid    int
	work   string // its directory
	socket string
	token  string // of its key file, to look for it where it must not be
	api    *messagesapi.Server

	stdin  io.WriteCloser // headless
	exited chan struct{}  // headless
	tmux   string         // interactive: the socket of the tmux server
}

// record is what the registry says of a session.
type record struct {
	SessionID           string
	Name                string
	Status              string
	MessagingSocketPath string
}

// hooks is a settings file's hooks section, of one command an event.
type hooks map[string]command

// command is a hook in exec form where Args is set, else in shell form.
type command struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
}

func execForm(path string, args ...string) command {
	return command{Type: "command", Command: path, Args: args}
}

func shellForm(line string) command {
	return command{Type: "command", Command: line}
}

// start runs a headless session in a HOME of its own until the test ends.
func start(t *testing.T, name string, script messagesapi.Script, hooks hooks) *session {
	t.Helper()
	return newHome(t).start(t, name, script, hooks)
}

// start runs a headless session until the test ends and returns once its inbox
// is there. More are arguments for Claude Code.
func (h *home) start(t *testing.T, name string, script messagesapi.Script, hooks hooks, more ...string) *session {
	t.Helper()
	s := h.prepare(t, name, script)
	command := append(s.command(t, hooks), "-p",
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	s.give(t)
	cmd := exec.Command(command[0], append(command[1:], more...)...)
	cmd.Dir = s.work
	cmd.Env = s.environ()
	// A group of its own, so that at the end its children go with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: h.as}
	cmd.Stdout, cmd.Stderr = logFile(t, s.file("stdout")), logFile(t, s.file("stderr"))
	var err error
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	s.exited = make(chan struct{})
	go func() {
		cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		s.stdin.Close() // the session's own way to end
		select {
		case <-s.exited:
		case <-time.After(5 * time.Second):
			s.kill()
		}
		if t.Failed() {
			t.Logf("session %s, standard error:\n%s", name, tail(s.file("stderr")))
			t.Logf("session %s, debug file:\n%s", name, tail(s.file("debug")))
		}
	})
	s.awaitInbox(t)
	return s
}

// prepare makes what a session needs to start: its model and its directory.
func (h *home) prepare(t *testing.T, name string, script messagesapi.Script) *session {
	t.Helper()
	s := &session{home: h, name: name, work: filepath.Join(h.dir, "work", name)}
	var err error
	if s.api, err = messagesapi.Start(script); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.api.Close() })
	// Two sessions of one name share a directory: --resume looks no further.
	if err := os.MkdirAll(s.work, 0o700); err != nil {
		t.Fatal(err)
	}
	h.sessions = append(h.sessions, s)
	return s
}

// command is Claude Code with what both kinds of session are given.
func (s *session) command(t *testing.T, hooks hooks) []string {
	t.Helper()
	return []string{s.program(t, claude(t)), "--name", s.name,
		"--settings", writeSettings(t, s.file("settings.json"), hooks),
		"--debug-file", s.file("debug")}
}

func (s *session) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.dir,
		"TMPDIR=" + filepath.Join(s.dir, "tmp"),
		"XDG_RUNTIME_DIR=" + filepath.Join(s.dir, "run"),
		"ANTHROPIC_BASE_URL=" + s.api.URL(),
		"ANTHROPIC_API_KEY=" + apiKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
}

// file is a path of the session's own, in its HOME.
func (s *session) file(kind string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%d.%s", slices.Index(s.sessions, s), kind))
}

// kill ends a headless session as a crash does: its record, key and socket stay.
func (s *session) kill() {
	syscall.Kill(-s.pid, syscall.SIGKILL)
	<-s.exited
}

// readRecord returns an error for a record that is just being rewritten, too:
// that is done in place.
func (s *session) readRecord() (record, error) {
	var r record
	err := readJSON(filepath.Join(s.configDir, "sessions", fmt.Sprintf("%d.json", s.pid)), &r)
	return r, err
}

// record is what the registry says of the session now.
func (s *session) record(t *testing.T) record {
	t.Helper()
	var r record
	s.await(t, "a record", func() bool {
		var err error
		r, err = s.readRecord()
		return err == nil
	})
	return r
}

// awaitInbox polls for the record: it is written before its socket's name is
// known, and first bears a name of Claude Code's own.
func (s *session) awaitInbox(t *testing.T) {
	t.Helper()
	keys := filepath.Join(s.configDir, "sessions", fmt.Sprintf("%d.*.key", s.pid))
	s.await(t, "an inbox", func() bool {
		r, err := s.readRecord()
		if err != nil || r.Name != s.name {
			return false
		}
		if _, err := os.Lstat(r.MessagingSocketPath); err != nil {
			return false
		}
		var key struct{ PeerToken string }
		found, _ := filepath.Glob(keys)
		if len(found) != 1 || readJSON(found[0], &key) != nil || key.PeerToken == "" {
			return false
		}
		s.socket, s.token = r.MessagingSocketPath, key.PeerToken
		return true
	})
}

// awaitFile returns what a hook wrote under the session's HOME, once it did.
func (s *session) awaitFile(t *testing.T, name string) string {
	t.Helper()
	var data []byte
	s.await(t, name, func() bool {
		data, _ = os.ReadFile(filepath.Join(s.dir, name))
		return len(data) > 0
	})
	return string(data)
}

// await polls for what only the file system or a screen tells.
func (s *session) await(t *testing.T, what string, there func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
			// Both a headless session's parent and an interactive one's, which is
			// tmux, take note of its end: there is no zombie to be taken for alive.
			if syscall.Kill(s.pid, 0) != nil {
				t.Fatalf("session %s ended before it had %s", s.name, what)
			}
		case <-deadline:
			t.Fatalf("session %s has not %s after %v", s.name, what, patience)
		}
	}
}

// prompt is what the session's user says.
func (s *session) prompt(t *testing.T, text string) {
	t.Helper()
	line, err := json.Marshal(map[string]any{
		"type":    "user",
		"message": map[string]any{"role": "user", "content": text},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.stdin.Write(append(line, '\n')); err != nil {
		t.Fatalf("session %s takes no prompt: %v", s.name, err)
	}
}

// writeSettings returns path.
func writeSettings(t *testing.T, path string, hooks hooks) string {
	t.Helper()
	events := map[string]any{}
	for event, command := range hooks {
		events[event] = []any{map[string]any{"matcher": "*", "hooks": []any{command}}}
	}
	writeJSON(t, path, map[string]any{
		"permissions": map[string]any{"allow": []string{"Bash"}},
		"hooks":       events,
	})
	return path
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

// logFile is for a child's output: a file needs no reader to keep the child from
// blocking, and none of its children can hold up the wait for it.
func logFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// token is how a session's tokens look: 32 hexadecimal digits.
var token = regexp.MustCompile(`[0-9a-f]{32}`)

// tail returns a file's last lines, with whatever could be a token taken out.
func tail(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	// Cut after taking out, and at a line: half a token is no 32 digits.
	data = token.ReplaceAll(data, []byte("[32 hex digits]"))
	if over := len(data) - 8<<10; over > 0 {
		data = data[over:]
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	return data
}
