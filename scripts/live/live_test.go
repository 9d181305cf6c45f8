//go:build live

package live

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "ccpost/golden/update"
	"ccpost/scripts/messagesapi"
	"ccpost/scripts/scratch"
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

// From outside a session, with no more than another HOME in the environment.
func TestSendFromOutside(t *testing.T) {
	a := start(t, "worker-a", nil, nil)
	r := a.runAt(t, shortDir(t), "send", "--to", a.Socket, "--config-dir", a.ConfigDir, "--as", "ci", "the build is red", long, budget)
	if r.exit != 0 || !strings.HasPrefix(r.stdout, "queued") {
		t.Errorf("send ends with %+v, want exit 0 and a line that begins with queued", r)
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
	a := start(t, "worker-a", useBash("true"), scratch.Hooks{
		"PostToolUse": scratch.Exec(ccpost(t), "hook", "--text", "marker {tool_name}"),
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
	a := start(t, "worker-a", sayDone, scratch.Hooks{
		"Stop": scratch.Exec(ccpost(t), "hook", "--to", b.Socket, "--config-dir", b.ConfigDir),
	})
	a.prompt(t, "go on")
	b.awaitPost(t, "worker-a", "the migration is done")
}

// A Stop hook that posted into its own session would start a turn that ends in
// Stop, for ever.
func TestStopHookLeavesItsOwnSessionAlone(t *testing.T) {
	a := start(t, "worker-a", nil, scratch.Hooks{
		"Stop": scratch.Shell("'" + ccpost(t) + `' hook --text looped 2>>"$HOME/hook.err"; echo $? >>"$HOME/hook.exit"`),
	})
	a.prompt(t, "go on")
	if exit := a.awaitFile(t, "hook.exit"); exit != "0\n" {
		t.Errorf("the hook exits %q, want 0", exit)
	}
	said, err := os.ReadFile(filepath.Join(a.Dir, "hook.err"))
	if err != nil || strings.Count(string(said), "\n") != 1 {
		t.Errorf("the hook says %q, want one line", said)
	}

	// A session takes its messages in their order: what the hook had posted would
	// be before this one.
	a.send(t, a.Socket, "ci", "after the hook")
	after := a.awaitPost(t, "ci", "after the hook")
	if diff := cmp.Diff([]string{"after the hook"}, posts(after)); diff != "" {
		t.Errorf("the Stop hook posted into its own session (-want +got):\n%s", diff)
	}
}

// result is how one run of ccpost ended.
type result struct {
	stdout, stderr string
	exit           int
}

// run runs ccpost as cron would, with nothing but HOME, and this one, in its
// environment. No session's token may come out of it.
func (h *home) run(t *testing.T, args ...string) result {
	t.Helper()
	return h.runAt(t, h.Dir, args...)
}

func (h *home) runAt(t *testing.T, dir string, args ...string) result {
	t.Helper()
	return h.beginAt(t, dir, args...)()
}

// begin is run for who has something to do meanwhile; finish waits for the end.
func (h *home) begin(t *testing.T, args ...string) (finish func() result) {
	t.Helper()
	return h.beginAt(t, h.Dir, args...)
}

func (h *home) beginAt(t *testing.T, dir string, args ...string) (finish func() result) {
	t.Helper()
	cmd := exec.Command(h.program(t, ccpost(t)), args...)
	cmd.Env = []string{"HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.As}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // both do nothing to one that has ended
		cmd.Process.Kill()
		cmd.Wait()
	})
	return func() result {
		t.Helper()
		err := cmd.Wait()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		r := result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
		for _, s := range h.Sessions {
			if out := r.stdout + r.stderr; s.Token.Scrub(out) != out {
				t.Fatalf("ccpost %s printed a session's token", args[0])
			}
		}
		return r
	}
}

// report is what these tests look at in the object that --json prints.
type report struct {
	Outcome   string
	Reason    string
	Evidence  string
	Exit      int
	Sent      bool
	PID       int
	Confirmed bool
	Matches   []struct{ PID int }
	Detail    string
}

// report reads the one object; its exit code is the process's.
func (r result) report(t *testing.T) (out report) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || out.Exit != r.exit {
		t.Fatalf("exit %d with %q and %q on standard error: %v", r.exit, r.stdout, r.stderr, err)
	}
	return out
}

// listed is one session of `ccpost list --json`.
type listed struct {
	Name, Status, Version, Tmux, Dir, Socket, Inbox string

	PID       int
	SessionID string `json:"session_id"`
	ConfigDir string `json:"config_dir"`
}

func (h *home) list(t *testing.T, more ...string) (out []listed) {
	t.Helper()
	r := h.run(t, append([]string{"list", "--json"}, more...)...)
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.exit != 0 {
		t.Fatalf("list: exit %d with %q and %q on standard error: %v", r.exit, r.stdout, r.stderr, err)
	}
	return out
}

// send posts one message that must be read, and returns what ccpost printed.
func (h *home) send(t *testing.T, to, as, message string, more ...string) string {
	t.Helper()
	r := h.run(t, append([]string{"send", "--to", to, "--as", as, message}, more...)...)
	if r.exit != 0 {
		t.Fatalf("send --to %s: exit %d\n%s%s", to, r.exit, r.stdout, r.stderr)
	}
	return r.stdout
}

// awaitPost waits until the model is given a message that holds text, under the
// sender's name and with no other attribute.
func (s *session) awaitPost(t *testing.T, from, text string) messagesapi.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	opening := fmt.Sprintf("<cross-session-message from-name=%q>\n", from)
	got, err := s.API.WaitFor(ctx, func(r messagesapi.Request) bool {
		_, behind, _ := strings.Cut(r.Text(), opening)
		body, _, closed := strings.Cut(behind, "\n</cross-session-message>")
		return closed && strings.Contains(body, text)
	})
	if err != nil {
		for i, r := range s.API.Requests() {
			t.Logf("request %d, newly given:\n%s", i+1, r.Text())
		}
		t.Fatalf("session %s: the model was not given %q behind %q: %v", s.Name, text, opening, err)
	}
	return got
}

// posts returns the bodies of the messages that the model was given so far.
func posts(r messagesapi.Request) (bodies []string) {
	for behind, found := r.AllText(), true; ; {
		if _, behind, found = strings.Cut(behind, "<cross-session-message "); !found {
			return bodies
		}
		var body string
		_, behind, _ = strings.Cut(behind, ">\n")
		body, behind, _ = strings.Cut(behind, "\n</cross-session-message>")
		bodies = append(bodies, body)
	}
}
