// Package scratch runs real Claude Code sessions in a HOME of their own, with a
// stand-in for the Messages API in the place of a model.
//
// Contract: a Home is a new, short directory under /tmp with the registry, the
// settings and the socket directory of its sessions; they see nothing of the
// user's and no other session sees them. Start returns once the inbox is there,
// or with an error that says what was missing, within Patience. End and Remove
// take away all that was made. Whatever waits is bounded by a context or by
// Patience; whatever fails is an error, and no error holds a token.
//
// It fetches no Claude Code, judges nothing that a session does, and knows of
// ccpost no more than the token's type. It is for tests and the doctor, not for
// the small binary.
package scratch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"ccpost/redact"
	"ccpost/scripts/messagesapi"
)

// Patience bounds every wait for something that must happen. It is no assertion
// on time: a session is up within 6 s and answers within a second.
const Patience = 30 * time.Second

// apiKey opens the stand-in. An interactive session asks about a key that its
// user has not approved.
const apiKey = "stand-in"

// Home is a HOME and what the sessions in it share: the registry, the socket
// directory, the settings.
type Home struct {
	Dir       string // short: a socket path has at most 103 bytes on some systems
	ConfigDir string
	Sessions  []*Session
	As        *syscall.Credential // of another user, where its sessions need one
}

// NewHome makes a HOME whose user has answered the questions of a first start.
func NewHome() (*Home, error) {
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		return nil, err
	}
	h := &Home{Dir: dir, ConfigDir: filepath.Join(dir, ".claude")}
	if err := h.furnish(); err != nil {
		return nil, errors.Join(err, h.Remove())
	}
	return h, nil
}

func (h *Home) furnish() error {
	// run is for XDG_RUNTIME_DIR, where the socket directory goes, else it would
	// be shared with every other session of this user.
	for _, dir := range []string{"run", "work", "tmp", ".claude"} {
		if err := os.Mkdir(filepath.Join(h.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	// A session knows its directory by its true path, and what is below a
	// trusted directory is trusted.
	work, err := filepath.EvalSymlinks(filepath.Join(h.Dir, "work"))
	if err != nil {
		return err
	}
	return WriteJSON(filepath.Join(h.Dir, ".claude.json"), map[string]any{
		"hasCompletedOnboarding": true,
		"customApiKeyResponses":  map[string]any{"approved": []string{apiKey}},
		"projects":               map[string]any{work: map[string]any{"hasTrustDialogAccepted": true}},
	})
}

// Remove takes the HOME away. End its sessions first.
func (h *Home) Remove() error { return os.RemoveAll(h.Dir) }

// Sockets is where the sessions of this HOME have their inboxes.
func (h *Home) Sockets() string { return filepath.Join(h.Dir, "run", "cc-socks") }

// Hooks is a settings file's hooks section, of one command an event.
type Hooks map[string]Command

// Command is a hook in exec form where Args is set, else in shell form.
type Command struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
}

// Exec is a hook that is run without a shell.
func Exec(path string, args ...string) Command {
	return Command{Type: "command", Command: path, Args: args}
}

// Shell is a hook that is a line for the shell.
func Shell(line string) Command {
	return Command{Type: "command", Command: line}
}

// Session is a Claude Code of our own. Socket and Token are known once its inbox
// is there.
type Session struct {
	Name   string // as it was started; rename changes the record's
	PID    int
	Work   string // its directory
	Socket string
	Token  redact.Token // of its key file, to look for it where it must not be
	API    *messagesapi.Server
	Stdin  io.WriteCloser // of a headless one; its close ends it

	home   *Home
	claude string
	exited chan struct{} // of a headless one
}

// Record is what the registry says of a session.
type Record struct {
	SessionID           string
	Name                string
	Status              string
	Version             string
	MessagingSocketPath string
}

// Settings is what a session's settings file holds: a permission to run Bash, and
// hooks.
func Settings(hooks Hooks) map[string]any {
	events := map[string]any{}
	for event, command := range hooks {
		events[event] = []any{map[string]any{"matcher": "*", "hooks": []any{command}}}
	}
	return map[string]any{
		"permissions": map[string]any{"allow": []string{"Bash"}},
		"hooks":       events,
	}
}

// Prepare makes what a session needs to start: its model, its directory and its
// settings file. claude is the absolute path of the executable; a nil script
// answers "ok" to everything. End the session, whether it was started or not.
func (h *Home) Prepare(claude, name string, script messagesapi.Script, settings map[string]any) (*Session, error) {
	s := &Session{home: h, claude: claude, Name: name, Work: filepath.Join(h.Dir, "work", name)}
	h.Sessions = append(h.Sessions, s)
	// Two sessions of one name share a directory: --resume looks no further.
	if err := os.MkdirAll(s.Work, 0o700); err != nil {
		return s, err
	}
	if err := WriteJSON(s.File("settings.json"), settings); err != nil {
		return s, err
	}
	var err error
	s.API, err = messagesapi.Start(script)
	return s, err
}

// Command is Claude Code with what both kinds of session are given.
func (s *Session) Command() []string {
	return []string{s.claude, "--name", s.Name, "--settings", s.File("settings.json"), "--debug-file", s.File("debug")}
}

// Environ is the session's whole environment.
func (s *Session) Environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.home.Dir,
		"TMPDIR=" + filepath.Join(s.home.Dir, "tmp"),
		"XDG_RUNTIME_DIR=" + filepath.Join(s.home.Dir, "run"),
		"ANTHROPIC_BASE_URL=" + s.API.URL(),
		"ANTHROPIC_API_KEY=" + apiKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
}

// File is a path of the session's own, in its HOME.
func (s *Session) File(kind string) string {
	return filepath.Join(s.home.Dir, fmt.Sprintf("%d.%s", slices.Index(s.home.Sessions, s), kind))
}

// Start runs a prepared session without a terminal and returns once its inbox is
// there. More are arguments for Claude Code.
func (s *Session) Start(ctx context.Context, more ...string) error {
	if err := s.Launch(more...); err != nil {
		return err
	}
	return s.AwaitInbox(ctx)
}

// Launch is Start for a session that may have no inbox: it waits for none.
func (s *Session) Launch(more ...string) error {
	args := append(s.Command(), "-p",
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	cmd := exec.Command(args[0], append(args[1:], more...)...)
	cmd.Dir = s.Work
	cmd.Env = s.Environ()
	// A group of its own, so that at the end its children go with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.home.As}
	// Files need no reader to keep the child from blocking, and none of its
	// children can hold up the wait for it.
	for kind, stream := range map[string]*io.Writer{"stdout": &cmd.Stdout, "stderr": &cmd.Stderr} {
		f, err := os.Create(s.File(kind))
		if err != nil {
			return err
		}
		defer f.Close()
		*stream = f
	}
	var err error
	if s.Stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.PID = cmd.Process.Pid
	s.exited = make(chan struct{})
	go func() {
		cmd.Wait()
		close(s.exited)
	}()
	return nil
}

// End ends a session that was prepared, by its own way where it takes that, and
// with it its model. It may be called again.
func (s *Session) End() {
	if s.exited != nil {
		s.Stdin.Close()
		select {
		case <-s.exited:
		case <-time.After(5 * time.Second):
			s.Kill()
		}
	}
	if s.API != nil {
		s.API.Close()
	}
}

// Kill ends a headless session as a crash does: its record, key and socket stay.
func (s *Session) Kill() {
	select {
	case <-s.exited: // its number may be another's by now
	default:
		syscall.Kill(-s.PID, syscall.SIGKILL)
		<-s.exited
	}
}

// RecordFile is the path of the session's record.
func (s *Session) RecordFile() string {
	return filepath.Join(s.home.ConfigDir, "sessions", fmt.Sprintf("%d.json", s.PID))
}

// KeyFile is the path of the session's key; the error says that there isn't one.
func (s *Session) KeyFile() (string, error) {
	found, _ := filepath.Glob(filepath.Join(s.home.ConfigDir, "sessions", fmt.Sprintf("%d.*.key", s.PID)))
	if len(found) != 1 {
		return "", fmt.Errorf("%d key files", len(found))
	}
	return found[0], nil
}

// ReadRecord returns an error for a record that is just being rewritten, too:
// that is done in place.
func (s *Session) ReadRecord() (Record, error) {
	var r Record
	err := ReadJSON(s.RecordFile(), &r)
	return r, err
}

// AwaitInbox polls for the record: it is written before its socket's name is
// known, and first bears a name of Claude Code's own. The error says what was
// missing last.
func (s *Session) AwaitInbox(ctx context.Context) error {
	missing := errors.New("nothing")
	err := s.Await(ctx, "an inbox", func() bool {
		missing = s.findInbox()
		return missing == nil
	})
	if err != nil {
		return fmt.Errorf("%w: %v", err, missing)
	}
	return nil
}

func (s *Session) findInbox() error {
	r, err := s.ReadRecord()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("no record")
	case err != nil:
		return fmt.Errorf("its record: %w", err)
	case r.Name != s.Name:
		return fmt.Errorf("its record names it %q, not %q", r.Name, s.Name)
	case r.MessagingSocketPath == "":
		return errors.New("its record names no socket")
	}
	if _, err := os.Lstat(r.MessagingSocketPath); err != nil {
		return err
	}
	file, err := s.KeyFile()
	if err != nil {
		return err
	}
	var key struct{ PeerToken string }
	if err := ReadJSON(file, &key); err != nil {
		return fmt.Errorf("its key: %w", err)
	}
	if s.Token, err = redact.Parse(key.PeerToken); err != nil {
		return fmt.Errorf("its key: %w", err)
	}
	s.Socket = r.MessagingSocketPath
	return nil
}

// Await polls for what only the file system or a screen tells.
func (s *Session) Await(ctx context.Context, what string, there func() bool) error {
	deadline := time.After(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
			// Both a headless session's parent and an interactive one's, which is
			// tmux, take note of its end: there is no zombie to be taken for alive.
			if syscall.Kill(s.PID, 0) != nil {
				return fmt.Errorf("session %s ended before it had %s", s.Name, what)
			}
		case <-deadline:
			return fmt.Errorf("session %s has not %s after %v", s.Name, what, Patience)
		case <-ctx.Done():
			return fmt.Errorf("session %s has not %s: %w", s.Name, what, context.Cause(ctx))
		}
	}
	return nil
}

// Prompt is what the user of a headless session says.
func (s *Session) Prompt(text string) error {
	line, err := json.Marshal(map[string]any{
		"type":    "user",
		"message": map[string]any{"role": "user", "content": text},
	})
	if err != nil {
		return err
	}
	if _, err := s.Stdin.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("session %s takes no prompt: %w", s.Name, err)
	}
	return nil
}

// WriteJSON writes a file that is its user's alone.
func WriteJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// ReadJSON reads one value from a file.
func ReadJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Redact takes out of text whatever could be a token: sessions' tokens are 32
// hexadecimal digits.
func Redact(text string) string { return digits.ReplaceAllString(text, "[32 hex digits]") }

var digits = regexp.MustCompile(`[0-9a-f]{32}`)

// Tail returns a file's last lines, with whatever could be a token taken out.
func Tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	// Cut after taking out, and at a line: half a token is no 32 digits.
	text := Redact(string(data))
	if over := len(text) - 8<<10; over > 0 {
		text = text[over:]
		text = text[strings.IndexByte(text, '\n')+1:]
	}
	return text
}
