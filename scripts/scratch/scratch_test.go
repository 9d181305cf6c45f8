package scratch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const aToken = "0123456789abcdef0123456789abcdef"

func newHome(t *testing.T) *Home {
	t.Helper()
	h, err := NewHome()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Remove() })
	return h
}

// asClaude is a program that does what a session does before it has an inbox,
// and ends with its standard input.
const asClaude = `#!/bin/sh
mkdir -p "$HOME/.claude/sessions" "$XDG_RUNTIME_DIR/cc-socks"
: >"$XDG_RUNTIME_DIR/cc-socks/$$.sock"
echo '{"peerToken":"` + aToken + `"}' >"$HOME/.claude/sessions/$$.1.key"
echo '{"name":"'"$2"'","messagingSocketPath":"'"$XDG_RUNTIME_DIR/cc-socks/$$.sock"'"}' >"$HOME/.claude/sessions/$$.json"
while read -r line; do echo "$line"; done
echo bye
`

func prepare(t *testing.T, h *Home, script string) *Session {
	t.Helper()
	program := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := h.Prepare(program, "worker", nil, Settings(Hooks{"Stop": Exec("/bin/true", "a b")}))
	t.Cleanup(s.End)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStart(t *testing.T) {
	h := newHome(t)
	s := prepare(t, h, asClaude)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(h.Sockets(), fmt.Sprintf("%d.sock", s.PID)); s.Socket != want || s.Token.IsZero() {
		t.Errorf("socket %s, want %s; no token: %v", s.Socket, want, s.Token.IsZero())
	}
	if err := s.Prompt("hello"); err != nil {
		t.Fatal(err)
	}
	s.End()
	s.End()
	said, err := os.ReadFile(s.File("stdout"))
	const want = `{"message":{"content":"hello","role":"user"},"type":"user"}` + "\nbye\n"
	if err != nil || string(said) != want {
		t.Errorf("it said %q, %v, want %q", said, err, want)
	}
	if err := s.Prompt("hello"); err == nil {
		t.Error("a session that has ended takes a prompt")
	}
	if err := h.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(h.Dir); !os.IsNotExist(err) {
		t.Errorf("the HOME is there still: %v", err)
	}
}

func TestStartWhatIsNoSession(t *testing.T) {
	h := newHome(t)
	err := prepare(t, h, "#!/bin/sh\nexit 0\n").Start(t.Context())
	if err == nil || err.Error() != "session worker ended before it had an inbox: no record" {
		t.Errorf("one that ends: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = prepare(t, h, "#!/bin/sh\nread -r line\n").Start(ctx)
	if err == nil || !strings.HasPrefix(err.Error(), "session worker has not an inbox: context deadline exceeded: no record") {
		t.Errorf("one that does nothing: %v", err)
	}
	if err := prepare(t, h, "no program").Start(t.Context()); err == nil {
		t.Error("no program: started")
	}
}

func TestFindInbox(t *testing.T) {
	h := newHome(t)
	socket := filepath.Join(h.Dir, "socket")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	whole := `{"name":"worker","messagingSocketPath":"` + socket + `"}`
	for _, tt := range []struct{ record, key, want string }{
		{"", "", "no record"},
		{"{", "", "its record: unexpected end of JSON input"},
		{`{"name":"work-1a"}`, "", `its record names it "work-1a", not "worker"`},
		{`{"name":"worker"}`, "", "its record names no socket"},
		{strings.Replace(whole, socket, "/nowhere/s", 1), "", "lstat /nowhere/s: no such file or directory"},
		{whole, "", "0 key files"},
		{whole, "{}", "its key: a token is 16 to 512 characters of A-Z a-z 0-9 . _ ~ + / = -"},
		{whole, `{"peerToken":"` + aToken + `"}`, "<nil>"},
	} {
		s := &Session{home: h, Name: "worker", PID: os.Getpid()}
		for path, text := range map[string]string{s.RecordFile(): tt.record, strings.TrimSuffix(s.RecordFile(), "json") + "1.key": tt.key} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if text == "" {
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(s.findInbox()); got != tt.want {
			t.Errorf("%q, %q: %s, want %s", tt.record, tt.key, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("a line "+aToken+"\n", 1000) + "the end\n"
	if err := os.WriteFile(path, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	got := Tail(path)
	if len(got) > 8<<10 || !strings.HasPrefix(got, "a line [") || !strings.HasSuffix(got, "\nthe end\n") || strings.Contains(got, aToken[:8]) {
		t.Errorf("%d bytes: %.80q", len(got), got)
	}
	if got := Tail(path + "s"); !strings.Contains(got, "no such file") {
		t.Errorf("of no file: %q", got)
	}
}
