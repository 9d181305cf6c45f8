//go:build live

package live

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ccpost/scripts/messagesapi"
	"ccpost/scripts/scratch"
)

// A wait for a word that must come, and which ends with it. The whole budget
// bounds the wait.
const long, budget = "--wait=20s", "--timeout=30s"

// fate is what a report says became of a message.
type fate struct {
	outcome, reason, evidence string
	exit                      int
}

var (
	queued    = fate{"queued", "", "transcript", 0}
	delivered = fate{"delivered", "", "receipt", 0}
	held      = fate{"held", "", "receipt", 76}
	denied    = fate{"denied", "", "receipt", 76}
	refused   = fate{"refused", "", "receipt", 76}
	expired   = fate{"expired", "", "receipt", 76}
	duplicate = fate{"dropped", "duplicate", "receipt", 76}
	limited   = fate{"dropped", "rate-limited", "receipt", 76}
	read      = fate{"sent-no-receipt", "", "read", 0}
	taken     = fate{"sent-no-receipt", "reply_taken", "read", 0}
	unbound   = fate{"sent-no-receipt", "no_reply_socket", "read", 0} // in the crowd at the directory's lock
)

func (r result) fate(t *testing.T) fate {
	t.Helper()
	got := r.report(t)
	if !got.Sent {
		t.Errorf("%+v, want it sent", got)
	}
	return fate{got.Outcome, got.Reason, got.Evidence, got.Exit}
}

// beginPost posts from outside and is waited for later.
func (s *session) beginPost(t *testing.T, as, text string, more ...string) (finish func() result) {
	t.Helper()
	return s.begin(t, append([]string{"send", "--to", s.Name, "--as", as, "--json", text}, more...)...)
}

// post posts from outside; what becomes of it must be want.
func (s *session) post(t *testing.T, want fate, as, text string, more ...string) {
	t.Helper()
	if got := s.beginPost(t, as, text, more...)().fate(t); got != want {
		t.Errorf("%q ends as %+v, want %+v", text, got, want)
	}
}

// given is all that the model was given up to now. A session takes its messages
// in their order, and the limits of one sender are not another's.
func (s *session) given(t *testing.T) []string {
	t.Helper()
	const last = "the end"
	s.post(t, queued, "last", last, long, budget)
	got := posts(s.awaitPost(t, "last", last))
	return slices.DeleteFunc(got, func(body string) bool { return body == last })
}

func TestQueued(t *testing.T) {
	s := start(t, "worker-a", nil, nil)
	s.post(t, queued, "ci", "the build is red", long, budget)
	s.awaitPost(t, "ci", "the build is red")
}

func TestQueuedWhileBusy(t *testing.T) {
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	s := start(t, "worker-a", func(messagesapi.Request) messagesapi.Reply {
		<-answer
		return messagesapi.Reply{Text: "ok"}
	}, nil)
	s.prompt(t, "think it over")
	s.await(t, "a turn under way", func() bool { return len(s.API.Requests()) > 0 })
	s.post(t, queued, "ci", "while you think", long, budget)
	release()
	s.awaitPost(t, "ci", "while you think")
}

func TestHeld(t *testing.T) {
	h := newHome(t)
	h.policy(t, "hold")
	s := h.start(t, "worker-a", nil, nil)
	s.post(t, held, "ci", "may I", "--wait=2s")
	if n := len(s.API.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A hold by the user's own setting has no other release than the setting.
func TestReleasedBySetting(t *testing.T) {
	h := newHome(t)
	h.policy(t, "hold")
	s := h.start(t, "worker-a", nil, nil)
	finish := s.beginPost(t, "ci", "may I", long, budget)
	s.awaitHeld(t)
	h.policy(t, "accept")
	if got := finish().fate(t); got != delivered {
		t.Errorf("%+v, want %+v", got, delivered)
	}
	s.awaitPost(t, "ci", "may I")
}

func TestExpired(t *testing.T) {
	h := newHome(t)
	h.policy(t, "hold")
	s := h.start(t, "worker-a", nil, nil)
	finish := s.beginPost(t, "ci", "may I", long, budget)
	s.awaitHeld(t)
	s.Stdin.Close()
	if got := finish().fate(t); got != expired {
		t.Errorf("%+v, want %+v", got, expired)
	}
}

// awaitHeld waits until a session notes that it holds a message. What it tells
// its host of that is of newer versions only.
func (s *session) awaitHeld(t *testing.T) {
	t.Helper()
	s.await(t, "a held message", func() bool {
		said, _ := os.ReadFile(s.File("debug"))
		return strings.Contains(string(said), "held inbound peer message")
	})
}

func TestRefused(t *testing.T) {
	h := newHome(t)
	h.policy(t, "refuse")
	s := h.start(t, "worker-a", nil, nil)
	s.post(t, refused, "ci", "may I", long, budget)
	if n := len(s.API.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestDuplicate(t *testing.T) {
	s := start(t, "worker-a", nil, nil)
	s.post(t, queued, "ci", "the build is red", long, budget)
	s.post(t, duplicate, "ci", "the build is red", long, budget)
	s.post(t, queued, "nightly", "the build is red", long, budget) // nobody's double but the first one's
	want := []string{"the build is red", "the build is red"}
	if diff := cmp.Diff(want, s.given(t)); diff != "" {
		t.Errorf("the model was given (-want +got):\n%s", diff)
	}
}

// One sender, one message after the other: the session takes 30 and then one
// every 2 s, whatever the pace of the machine.
func TestFortyInARow(t *testing.T) {
	s := start(t, "worker-a", nil, nil)
	fates := map[string]fate{}
	surplus := 0
	began := time.Now()
	for i := 0; i < 40 || surplus == 0 && i < 200; i++ {
		text := fmt.Sprintf("line %d of the log", i)
		fates[text] = s.beginPost(t, "ci", text)().fate(t)
		if fates[text] == limited {
			surplus++
		}
	}
	t.Logf("%d messages in %v: %v", len(fates), time.Since(began).Round(time.Millisecond), counts(fates))
	if surplus == 0 {
		t.Error("none is said to be dropped")
	}
	s.holdAgainstGiven(t, fates, queued, read, limited)
}

// Forty processes with one name: one at a time can have the reply socket, and
// the others learn no more than that their message was read.
func TestFortyAtOnce(t *testing.T) {
	s := start(t, "worker-a", nil, nil)
	finish := map[string]func() result{}
	began := time.Now()
	for i := range 40 {
		text := fmt.Sprintf("line %d of the log", i)
		finish[text] = s.beginPost(t, "ci", text)
	}
	t.Logf("%d messages begun in %v", len(finish), time.Since(began).Round(time.Millisecond))
	fates := map[string]fate{}
	for text, f := range finish {
		fates[text] = f().fate(t)
	}
	t.Logf("%v", counts(fates))
	s.holdAgainstGiven(t, fates, queued, read, taken, unbound, limited)
}

// The same text at once by two processes under one name: a row in the transcript
// could be the one's or the other's, so at most one says that it is its own.
func TestSameTextAtOnce(t *testing.T) {
	s := start(t, "worker-a", nil, nil)
	for i := range 5 {
		text := fmt.Sprintf("build %d is red", i)
		a, b := s.beginPost(t, "ci", text, "--wait=2s"), s.beginPost(t, "ci", text, "--wait=2s")
		got := []fate{a().fate(t), b().fate(t)}
		t.Logf("%+v", got)
		for _, f := range got {
			if !slices.Contains([]fate{queued, read, taken, duplicate}, f) {
				t.Errorf("one ends as %+v", f)
			}
		}
		if got[0] == queued && got[1] == queued {
			t.Error("both are said to be queued")
		}
		s.awaitPost(t, "ci", text)
	}
}

func counts(fates map[string]fate) map[fate]int {
	n := map[fate]int{}
	for _, f := range fates {
		n[f]++
	}
	return n
}

// holdAgainstGiven holds what was said of each message against what the model
// was given: all that is queued, and nothing that was dropped.
func (s *session) holdAgainstGiven(t *testing.T, fates map[string]fate, allowed ...fate) {
	t.Helper()
	given := s.given(t)
	t.Logf("the model was given %d of %d", len(given), len(fates))
	for text, got := range fates {
		there := slices.Contains(given, text)
		switch {
		case !slices.Contains(allowed, got):
			t.Errorf("%q ends as %+v", text, got)
		case got == queued && !there:
			t.Errorf("%q is said to be queued, and the model was not given it", text)
		case got == limited && there:
			t.Errorf("%q is said to be dropped, and the model was given it", text)
		}
	}
	if extra := len(given) - len(fates); extra > 0 {
		t.Errorf("the model was given %d more than were sent", extra)
	}
}

// A session that bypasses permissions takes what its own hook posts and holds
// what comes from anybody else.
func TestBypassingSession(t *testing.T) {
	h := newPlainHome(t)
	s := h.start(t, "worker-a", useBash("true"), scratch.Hooks{
		"PostToolUse": hookToFile(h.program(t, ccpost(t)), long+" "+budget),
	}, bypassing)

	s.post(t, held, "ci", "from outside", "--wait=2s")
	s.prompt(t, "use the tool")
	s.awaitPost(t, "hook", "from its hook")
	if got, want := s.hookFate(t), (hookFate{"", "transcript", 0}); got.fate != want {
		t.Errorf("the hook's message ends as %+v, want %+v", got, want)
	}
	for _, r := range s.API.Requests() {
		if got := posts(r); slices.Contains(got, "from outside") {
			t.Errorf("the model was given %q", got)
		}
	}
}

// A session lets messages in once its SessionStart hooks have returned: a hook
// that waited for more than held would wait for itself.
func TestSessionStartHookDoesNotWaitForItself(t *testing.T) {
	h := newHome(t)
	s := h.start(t, "worker-a", nil, scratch.Hooks{
		"SessionStart": hookToFile(ccpost(t), long+" "+budget),
	})
	got := s.hookFate(t)
	if want := (hookFate{"held", "receipt", 76}); got.fate != want {
		t.Errorf("the hook's message ends as %+v, want %+v", got.fate, want)
	}
	if got.elapsed > 15*time.Second {
		t.Errorf("the hook waits %v", got.elapsed)
	}
	t.Logf("held after %v", got.elapsed)
	s.awaitPost(t, "hook", "from its hook")
}

// hookToFile is a hook that posts and leaves in its session's HOME what it says
// and how it exits. The record of a session that is starting may still bear
// another name than the session was given, so the sender has one of its own.
func hookToFile(ccpost, flags string) scratch.Command {
	return scratch.Shell("'" + ccpost + `' hook --verbose --as hook --text "from its hook" ` + flags +
		` 2>"$HOME/hook.err"; echo $? >"$HOME/hook.exit"`)
}

// hookFate is what a hook's one line says; of success it names no outcome.
type hookFate struct {
	outcome, evidence string
	exit              int
}

var hookLines = regexp.MustCompile(`^(?:ccpost: ([a-z-]+): .*\n)?ccpost: socket .*, evidence ([a-z]+), (\d+) ms\n$`)

func (s *session) hookFate(t *testing.T) (got struct {
	fate    hookFate
	elapsed time.Duration
}) {
	t.Helper()
	exit, err := strconv.Atoi(strings.TrimSpace(s.awaitFile(t, "hook.exit")))
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(filepath.Join(s.Dir, "hook.err"))
	if err != nil {
		t.Fatal(err)
	}
	m := hookLines.FindStringSubmatch(string(said))
	if m == nil {
		t.Fatalf("the hook exits %d and says %q", exit, said)
	}
	ms, _ := strconv.Atoi(m[3]) // digits
	got.fate = hookFate{m[1], m[2], exit}
	got.elapsed = time.Duration(ms) * time.Millisecond
	return got
}

// A session that bypasses permissions asks its user about each message that it
// holds. One that holds by its user's setting doesn't ask.
func TestUserDecides(t *testing.T) {
	h := newPlainHome(t)
	writeJSON(t, filepath.Join(h.ConfigDir, "settings.json"), map[string]any{"skipDangerousModePermissionPrompt": true})
	s := h.startInteractive(t, "draft", nil, bypassing)
	const deny, deliver = "❯ Deny", "❯ Deliver this message"

	finish := s.beginPost(t, "ci", "to be denied", long, budget)
	s.awaitStill(t, deny) // what the dialog proposes
	s.tmuxDo(t, "send-keys", "Enter")
	if got := finish().fate(t); got != denied {
		t.Errorf("%+v, want %+v", got, denied)
	}

	finish = s.beginPost(t, "ci", "to be delivered", long, budget)
	s.awaitStill(t, deny)
	s.tmuxDo(t, "send-keys", "Down")
	s.awaitStill(t, deliver)
	s.tmuxDo(t, "send-keys", "Enter")
	if got := finish().fate(t); got != delivered {
		t.Errorf("%+v, want %+v", got, delivered)
	}
	if diff := cmp.Diff([]string{"to be delivered"}, posts(s.awaitPost(t, "ci", "to be delivered"))); diff != "" {
		t.Errorf("the model was given (-want +got):\n%s", diff)
	}
}

// awaitStill waits until the screen has shown text, and nothing else, for a
// second: a dialog is there before it listens, and is made twice, with its first
// choice again, while the lines above it grow.
func (s *session) awaitStill(t *testing.T, text string) {
	t.Helper()
	var last string
	var since time.Time
	s.await(t, fmt.Sprintf("a quiet screen with %q", text), func() bool {
		screen := s.tmuxDo(t, "capture-pane", "-p")
		if screen != last {
			last, since = screen, time.Now()
		}
		return strings.Contains(screen, text) && time.Since(since) > time.Second
	})
}

// The figure that the README gives. It is printed, not held to: the machine may
// be busy with something else.
func TestTimeToQueued(t *testing.T) {
	s := start(t, "worker-a", nil, nil)
	var all []time.Duration
	for i := range 20 { // a sender may send 30 at once
		s.awaitRest(t, i)
		text := fmt.Sprintf("message %d of twenty", i)
		began := time.Now()
		finish := s.beginPost(t, "ci", text, long, budget)
		r := finish()
		all = append(all, time.Since(began))
		if got := r.fate(t); got != queued {
			t.Errorf("%q ends as %+v, want %+v", text, got, queued)
		}
	}
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	t.Logf("from the start of ccpost to queued, idle session, %d times: median %.1f ms, fastest %.1f ms, slowest %.1f ms",
		len(all), ms((all[9]+all[10])/2), ms(all[0]), ms(all[19]))
}

// awaitResult waits for the end of a headless session's turn number n.
func (s *session) awaitResult(t *testing.T, n int) {
	t.Helper()
	s.await(t, fmt.Sprintf("%d turns behind it", n), func() bool {
		said, _ := os.ReadFile(s.File("stdout"))
		return strings.Count(string(said), `"type":"result"`) >= n
	})
}

// awaitRest waits until a headless session has n turns behind it and nothing to do.
func (s *session) awaitRest(t *testing.T, n int) {
	t.Helper()
	s.awaitResult(t, n)
	s.await(t, "come to rest", func() bool {
		r, err := s.ReadRecord()
		return err == nil && r.Status == atRest()
	})
}
