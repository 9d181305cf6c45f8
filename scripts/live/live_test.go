//go:build live

package live

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "ccpost/golden/update"
	"ccpost/scripts/messagesapi"
)

var givenBinary = flag.String("ccpost", "", "the binary to test (default: one built from this checkout)")

var buildDir string

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "ccpost"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(buildDir)
	m.Run() // the testing package exits with its result when TestMain returns
}

// ccpost returns the absolute path of the binary under test, built at its first use.
func ccpost(t *testing.T) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildOnce = sync.OnceValues(func() (string, error) {
	if *givenBinary != "" {
		return filepath.Abs(*givenBinary)
	}
	path := filepath.Join(buildDir, "ccpost")
	// Without the revision: git refuses to tell it of another user's checkout.
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// From outside a session, as cron and CI do: nothing but HOME in the environment.
func TestSendFromOutside(t *testing.T) {
	a := start(t, "worker-a", nil, nil)
	out := send(t, a, "ci", "the build is red")
	if !strings.HasPrefix(out, "sent-no-receipt") {
		t.Errorf("send printed %q, want a line that begins with sent-no-receipt", out)
	}
	a.awaitPost(t, "ci", "the build is red")
}

// From inside a session by hand: the environment says whose inbox it is and what
// the sender is called.
func TestSendFromBash(t *testing.T) {
	a := start(t, "worker-a", useBash("'"+ccpost(t)+"' send 'half way'"), nil)
	a.prompt(t, "use the tool")
	a.awaitPost(t, "worker-a", "half way")
}

func TestPostToolUseHookPostsIntoItsOwnSession(t *testing.T) {
	a := start(t, "worker-a", useBash("true"), hooks{
		"PostToolUse": execForm(ccpost(t), "hook", "--text", "marker {tool_name}"),
	})
	a.prompt(t, "use the tool")
	a.awaitPost(t, "worker-a", "marker Bash")
}

// useBash runs command when the session is prompted to use the tool.
func useBash(command string) messagesapi.Script {
	return func(r messagesapi.Request) messagesapi.Reply {
		if r.HasTool("Bash") && strings.Contains(r.Text(), "use the tool") {
			return messagesapi.Reply{Tool: "Bash", Input: map[string]any{"command": command}}
		}
		return messagesapi.Reply{Text: "ok"}
	}
}

func TestStopHookPostsIntoAnotherSession(t *testing.T) {
	b := start(t, "worker-b", nil, nil) // first: A's settings name its socket
	sayDone := func(messagesapi.Request) messagesapi.Reply {
		return messagesapi.Reply{Text: "the migration is done"}
	}
	a := start(t, "worker-a", sayDone, hooks{
		"Stop": execForm(ccpost(t), "hook", "--to", b.socket, "--config-dir", b.configDir),
	})
	a.prompt(t, "go on")
	b.awaitPost(t, "worker-a", "the migration is done")
}

// A Stop hook that posted into its own session would start a turn that ends in
// Stop, for ever.
func TestStopHookLeavesItsOwnSessionAlone(t *testing.T) {
	a := start(t, "worker-a", nil, hooks{
		"Stop": shellForm("'" + ccpost(t) + `' hook --text looped 2>>"$HOME/hook.err"; echo $? >>"$HOME/hook.exit"`),
	})
	a.prompt(t, "go on")
	if exit := a.awaitFile(t, "hook.exit"); exit != "0\n" {
		t.Errorf("the hook exits %q, want 0", exit)
	}
	said, err := os.ReadFile(filepath.Join(a.home, "hook.err"))
	if err != nil || strings.Count(string(said), "\n") != 1 {
		t.Errorf("the hook says %q, want one line", said)
	}

	// A session takes its messages in their order: what the hook had posted would
	// be before this one.
	send(t, a, "ci", "after the hook")
	after := a.awaitPost(t, "ci", "after the hook")
	if all := after.AllText(); strings.Contains(all, "looped") {
		t.Errorf("the Stop hook posted into its own session; the model was given:\n%s", all)
	}
}

// send runs `ccpost send` from outside into s and returns what it printed.
func send(t *testing.T, s *session, as, message string) string {
	t.Helper()
	cmd := exec.Command(ccpost(t), "send", "--to", s.socket, "--config-dir", s.configDir, "--as", as, message)
	cmd.Env = []string{"HOME=" + shortDir(t)}
	out, err := cmd.Output()
	var exit *exec.ExitError
	var stderr []byte
	if errors.As(err, &exit) {
		stderr = exit.Stderr
	}
	if both := string(out) + string(stderr); strings.Contains(both, s.token) {
		t.Fatal("send printed the session's token")
	}
	if err != nil {
		t.Fatalf("send: %v\n%s%s", err, out, stderr)
	}
	return string(out)
}

// awaitPost waits until the model is given a message that holds text, under the
// sender's name and with no other attribute.
func (s *session) awaitPost(t *testing.T, from, text string) messagesapi.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	opening := fmt.Sprintf("<cross-session-message from-name=%q>\n", from)
	got, err := s.api.WaitFor(ctx, func(r messagesapi.Request) bool {
		_, behind, _ := strings.Cut(r.Text(), opening)
		body, _, closed := strings.Cut(behind, "\n</cross-session-message>")
		return closed && strings.Contains(body, text)
	})
	if err != nil {
		for i, r := range s.api.Requests() {
			t.Logf("request %d, newly given:\n%s", i+1, r.Text())
		}
		t.Fatalf("session %s: the model was not given %q behind %q: %v", s.name, text, opening, err)
	}
	return got
}
