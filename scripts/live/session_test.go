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
	"syscall"
	"testing"
	"time"

	"ccpost/scripts/messagesapi"
)

// patience bounds every wait for something that must happen. It is no assertion
// on time: a session is up within 6 s and answers within a second.
const patience = 30 * time.Second

// session is a headless Claude Code of the test's own.
type session struct {
	name      string
	home      string // short: a socket path has at most 103 bytes on some systems
	configDir string
	socket    string
	token     string // of its key file, to look for it where it must not be
	api       *messagesapi.Server

	stdin  io.WriteCloser
	exited chan struct{}
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

// start runs a session until the test ends and returns once its inbox is there.
func start(t *testing.T, name string, script messagesapi.Script, hooks hooks) *session {
	t.Helper()
	executable := claude(t)
	home := shortDir(t)
	s := &session{name: name, home: home, configDir: filepath.Join(home, ".claude")}

	var err error
	if s.api, err = messagesapi.Start(script); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.api.Close() })

	// XDG_RUNTIME_DIR is where the socket directory goes, else it would be shared
	// with every other session of this user.
	for _, dir := range []string{"run", "work", "tmp"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	debug := filepath.Join(home, "debug.log")
	cmd := exec.Command(executable, "-p",
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--settings", writeSettings(t, home, hooks),
		"--name", name, "--debug-file", debug)
	cmd.Dir = filepath.Join(home, "work")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"TMPDIR=" + filepath.Join(home, "tmp"),
		"XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
		"ANTHROPIC_BASE_URL=" + s.api.URL(),
		"ANTHROPIC_API_KEY=stand-in",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	// A group of its own, so that at the end its children go with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = logFile(t, home, "stdout"), logFile(t, home, "stderr")
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-s.exited
		}
		if t.Failed() {
			t.Logf("session %s, standard error:\n%s", name, tail(filepath.Join(home, "stderr")))
			t.Logf("session %s, debug file:\n%s", name, tail(debug))
		}
	})
	s.awaitInbox(t, cmd.Process.Pid)
	return s
}

// awaitInbox polls for the record: it is written before its socket's name is known.
func (s *session) awaitInbox(t *testing.T, pid int) {
	t.Helper()
	sessions := filepath.Join(s.configDir, "sessions")
	s.await(t, "an inbox", func() bool {
		var record struct{ MessagingSocketPath string }
		if readJSON(filepath.Join(sessions, fmt.Sprintf("%d.json", pid)), &record) != nil {
			return false
		}
		if _, err := os.Lstat(record.MessagingSocketPath); err != nil {
			return false
		}
		var key struct{ PeerToken string }
		keys, _ := filepath.Glob(filepath.Join(sessions, fmt.Sprintf("%d.*.key", pid)))
		if len(keys) != 1 || readJSON(keys[0], &key) != nil || key.PeerToken == "" {
			return false
		}
		s.socket, s.token = record.MessagingSocketPath, key.PeerToken
		return true
	})
}

// awaitFile returns what a hook wrote under the session's HOME, once it did.
func (s *session) awaitFile(t *testing.T, name string) string {
	t.Helper()
	var data []byte
	s.await(t, name, func() bool {
		data, _ = os.ReadFile(filepath.Join(s.home, name))
		return len(data) > 0
	})
	return string(data)
}

// await polls for what only the file system tells.
func (s *session) await(t *testing.T, what string, there func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-s.exited:
			t.Fatalf("session %s ended before it had %s", s.name, what)
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

func writeSettings(t *testing.T, dir string, hooks hooks) string {
	t.Helper()
	events := map[string]any{}
	for event, command := range hooks {
		events[event] = []any{map[string]any{"matcher": "*", "hooks": []any{command}}}
	}
	data, err := json.Marshal(map[string]any{
		"permissions": map[string]any{"allow": []string{"Bash"}},
		"hooks":       events,
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
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
func logFile(t *testing.T, dir, name string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
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
