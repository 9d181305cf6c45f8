//go:build live

package live

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ccpost/scripts/messagesapi"
	"ccpost/scripts/screen"
)

var picture = flag.String("picture", "", "file that TestPicture writes its picture to, an SVG")

// The picture of the README: a shell that sends, and the terminal of the session
// that it sends to. Both are as they were seen, but for rows that are left out;
// the model's answers are the stand-in's. Nothing in it may tell of the machine
// that it was made on.
func TestPicture(t *testing.T) {
	const (
		message = "the build is red: 2 of 212 tests fail"
		command = "ccpost send --to api --as ci '" + message + "'"
		answer  = "Both ask for page 0, and pages begin at 1 now: I mend the tests."
	)
	h := newHome(t)
	s := h.startInteractive(t, "api", func(r messagesapi.Request) messagesapi.Reply {
		if strings.Contains(r.Text(), message) {
			return messagesapi.Reply{Text: answer}
		}
		return messagesapi.Reply{Text: "Done: `GET /orders` takes `page` and `limit`. Pushed."}
	})
	s.tmuxDo(t, "resize-window", "-x", "84", "-y", "40")
	s.enter(t, "paginate /orders and push")
	s.awaitScreen(t, "● Done")
	s.awaitIdle(t)

	shell := s.tmuxDo(t, "new-window", "-d", "-P", "-F", "#{pane_id}", "--",
		"env", "-i", "HOME="+h.Dir, "PATH="+filepath.Dir(ccpost(t)), "PS1=$ ", "/bin/sh", "-i")
	awaitShell := func(text string) {
		t.Helper()
		s.await(t, fmt.Sprintf("%q in the shell beside it", text), func() bool {
			return strings.Contains(s.tmuxDo(t, "capture-pane", "-p", "-t", shell), text)
		})
	}
	awaitShell("$")
	s.tmuxDo(t, "send-keys", "-t", shell, "-l", command)
	s.tmuxDo(t, "send-keys", "-t", shell, "Enter")
	awaitShell("\n$") // the next prompt
	s.awaitScreen(t, "› Message from @ci: "+message)
	s.awaitScreen(t, "● "+answer)
	s.awaitIdle(t)

	sent := slices.DeleteFunc(s.lines(t, shell), func(l screen.Line) bool {
		return strings.Trim(l.String(), "$ ") == "" // what is below the outcome
	})
	// A busy machine's session may write its row after the wait is over.
	outcome := ""
	if len(sent) > 1 {
		outcome, _, _ = strings.Cut(sent[1].String(), ": ")
	}
	if outcome != "queued" && (outcome != "sent-no-receipt" || *picture != "") {
		t.Errorf("the shell beside it shows %v", sent)
	}
	shown := s.lines(t, "terminal:0")
	// Left out: the notice of the debug file, which only a test has, and what
	// comes and goes above and below the prompt's two rules.
	rule := func(l screen.Line) bool { return strings.HasPrefix(l.String(), "──") }
	top := slices.IndexFunc(shown, rule)
	if top < 1 {
		t.Fatalf("no prompt in %v", shown)
	}
	bottom := top + 1 + slices.IndexFunc(shown[top+1:], rule)
	shown = slices.Delete(shown[:bottom+1], top-1, top)
	shown = slices.DeleteFunc(shown, func(l screen.Line) bool { return strings.Contains(l.String(), h.Dir) })
	blank := func(l screen.Line) bool { return len(l) == 0 }
	shown = slices.CompactFunc(shown, func(a, b screen.Line) bool { return blank(a) && blank(b) })
	if blank(shown[0]) {
		shown = shown[1:]
	}
	if !slices.ContainsFunc(shown, func(l screen.Line) bool {
		return strings.HasPrefix(l.String(), "› Message from @ci: "+message)
	}) {
		t.Errorf("the message is not in the picture: %v", shown)
	}
	if rows := len(sent) + len(shown); rows > 24 {
		t.Errorf("the picture has %d rows", rows)
	}

	svg := screen.SVG("A shell runs "+command+" and is told: queued. "+
		"The session api, a Claude Code in another terminal, shows: › Message from @ci: "+message, sent, shown)
	for _, private := range []string{h.Dir, buildDir, "/tmp", "/home", "/root"} {
		if strings.Contains(svg, private) {
			t.Errorf("the picture shows %s", private)
		}
	}
	if s.Token.Scrub(svg) != svg {
		t.Error("the picture shows the session's token")
	}
	if *picture != "" && !t.Failed() {
		if err := os.WriteFile(*picture, []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitIdle waits until the session's turn has ended.
func (s *session) awaitIdle(t *testing.T) {
	t.Helper()
	s.await(t, "ended its turn", func() bool {
		r, err := s.ReadRecord()
		return err == nil && r.Status == "idle"
	})
}

// lines is what a pane shows.
func (s *session) lines(t *testing.T, pane string) []screen.Line {
	t.Helper()
	lines, err := screen.Parse(s.tmuxDo(t, "capture-pane", "-e", "-p", "-t", pane))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
