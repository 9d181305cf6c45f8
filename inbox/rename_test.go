package inbox_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ccpost/golden"
	"ccpost/inbox"
)

const renamedID = "aaaaaaaa-1111-4000-8000-000000000000"

// registered starts a stand-in session with a registry; shown is the name that
// its record shows.
func registered(t *testing.T, c golden.Config) (s *golden.Session, target inbox.Target, shown func() string) {
	t.Helper()
	c.ConfigDir = filepath.Join(socketDir(t), "c")
	c.SessionID = renamedID
	s, target = session(t, c)
	target.SessionID = renamedID
	return s, target, func() string {
		t.Helper()
		entries, err := filepath.Glob(filepath.Join(c.ConfigDir, "sessions", "*.json"))
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		b, err := os.ReadFile(entries[0])
		var record struct{ Name string }
		if err == nil {
			err = json.Unmarshal(b, &record)
		}
		if err != nil {
			t.Fatal(err)
		}
		return record.Name
	}
}

// TestRenameName: what a name may be, and what becomes of it.
func TestRenameName(t *testing.T) {
	for _, c := range []struct {
		name, want string // "" is refused
		words      string
	}{
		{"build", "build", ""},
		{"  a   b\t c ", "a b c", ""},
		{"a\nb\r\nc\vd\fe", "a b c d e", ""},
		{"a\u00a0b\u2003c\u3000d\u2028e\u2029f\u0085g", "a b c d e f g", ""},
		{"日本語 の 会話", "日本語 の 会話", ""},
		{"👩‍👩‍👧 é e\u0301", "👩‍👩‍👧 é e\u0301", ""},
		{`a, b <c> "d" 'e' \ & /`, `a, b <c> "d" 'e' \ & /`, ""},
		{"name:x", "name:x", ""},
		{"--all", "--all", ""},
		{strings.Repeat("x", 120), strings.Repeat("x", 120), ""},
		{strings.Repeat("語", 120), strings.Repeat("語", 120), ""},
		{strings.Repeat("👍", 120), strings.Repeat("👍", 120), ""},
		{strings.Repeat(" ", 500) + strings.Repeat("x", 120) + "\n", strings.Repeat("x", 120), ""},
		{strings.Repeat("x ", 60) + "   ", strings.Repeat("x ", 59) + "x", ""},

		{"", "", "it is empty"},
		{" \t\n\u00a0", "", "it is empty"},
		{strings.Repeat("x", 121), "", "121 characters"},
		{strings.Repeat("語", 121), "", "121 characters"},
		{strings.Repeat("x ", 60) + "y", "", "121 characters"},
		{strings.Repeat("x", 2<<20), "", "characters"},
		{"a\x1b[31mb", "", "control characters"},
		{"a\x00", "", "control characters"},
		{"\a", "", "control characters"},
		{"a\x7fb", "", "control characters"},
		{"a\u009bb", "", "control characters"},
		{"a\bb", "", "control characters"},
		{"a\xffb", "", "not UTF-8"},
		{"a\xed\xa0\x80b", "", "not UTF-8"},
	} {
		s, target, shown := registered(t, golden.Config{Name: "old"})
		out, err := inbox.Rename(within(t, 10*time.Second), target, c.name, inbox.Options{})
		if c.want == "" {
			check(t, out, err, inbox.BadRequest, inbox.ReasonBadName)
			if !strings.Contains(err.Error(), c.words) || len(err.Error()) > 300 || out.Sent || out.Auth != "none" {
				t.Errorf("%.40q: %+v %v", c.name, out, err)
			}
			if lines := s.Lines(); len(lines) > 0 || shown() != "old" {
				t.Errorf("%.40q: it was sent %.300q and is called %q", c.name, lines, shown())
			}
			continue
		}
		check(t, out, err, inbox.RenameSent, "")
		if got := shown(); got != c.want {
			t.Errorf("%.40q: it is called %q, want %q", c.name, got, c.want)
		}
		if !out.Sent || out.Evidence != "read" || out.Auth != "offered" || out.MsgID != "" || out.SessionID != renamedID {
			t.Errorf("%+v", out)
		}
	}
}

// TestRenameLine is the control line, byte for byte.
func TestRenameLine(t *testing.T) {
	s, target, _ := registered(t, golden.Config{Name: "old"})
	env, _ := s.Tokens()
	rename := func() {
		t.Helper()
		out, err := inbox.Rename(within(t, 10*time.Second), target, ` a <b> & "c" `, inbox.Options{})
		check(t, out, err, inbox.RenameSent, "")
	}
	rename()
	target.SessionID = ""
	rename()
	want := []string{
		`{"type":"auth","token":"` + env + `"}`, `{"type":"control","action":"rename","name":"a <b> & \"c\"","session_id":"` + renamedID + `"}`,
		`{"type":"auth","token":"` + env + `"}`, `{"type":"control","action":"rename","name":"a <b> & \"c\""}`,
	}
	var got []string
	for _, line := range s.Lines() {
		got = append(got, string(line))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it was sent\n%s", strings.Join(got, "\n"))
	}
	if len(s.Messages()) > 0 {
		t.Error("that was a message")
	}
}

// TestRename: how it ends is how a post would.
func TestRename(t *testing.T) {
	wrong := parse(t, "0123456789abcdef0123456789abcdef")
	for _, c := range []struct {
		name      string
		config    golden.Config
		change    func(t *inbox.Target)
		want      inbox.Name
		reason    inbox.Reason
		sent      bool
		auth      string
		nameAfter string
	}{
		{"interactive", golden.Config{}, nil, inbox.RenameSent, "", true, "offered", "new"},
		// One without a terminal ignores it without a word.
		{"headless", golden.Config{Headless: true}, nil, inbox.RenameSent, "", true, "offered", "old"},
		{"it isn't that session", golden.Config{}, func(t *inbox.Target) { t.SessionID = "x" }, inbox.RenameSent, "", true, "offered", "old"},
		{"it isn't, and its record says so", golden.Config{}, func(t *inbox.Target) {
			t.SessionID, t.Current = "x", func() (string, error) { return renamedID, nil }
		}, inbox.SessionChanged, "", false, "none", "old"},
		{"nobody vouches for it", golden.Config{}, func(t *inbox.Target) {
			t.Current = func() (string, error) { return "", errors.New("gone") }
		}, inbox.SessionChanged, "", false, "none", "old"},
		{"the token is refused by an older version", golden.Config{Behaviour: golden.AuthRequired}, func(t *inbox.Target) {
			t.Token, t.FromKey, t.Version = wrong, true, "2.1.240"
		}, inbox.AuthRejected, "", false, "refused", "old"},
		{"no token", golden.Config{}, func(t *inbox.Target) { t.Token = inbox.Target{}.Token }, inbox.NoAuthKey, "", false, "none", "old"},
		{"another process", golden.Config{}, func(t *inbox.Target) { t.PID = 1 }, inbox.ForeignSocket, inbox.ReasonPeerPID, false, "none", "old"},
		{"nobody there", golden.Config{}, func(t *inbox.Target) { t.Path = filepath.Dir(t.Path) + "/1.sock" }, inbox.SocketMissing, "", false, "none", "old"},
		{"it closes with bytes unread", golden.Config{Behaviour: golden.CloseUnread}, nil, inbox.ClosedAfterSend, inbox.ReasonReset, true, "offered", "old"},
		{"it never reads", golden.Config{Behaviour: golden.StopReading}, nil, inbox.NotRead, "", true, "offered", "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Name = "old"
			_, target, shown := registered(t, c.config)
			if c.change != nil {
				c.change(&target)
			}
			out, err := inbox.Rename(within(t, time.Second), target, "new", inbox.Options{})
			check(t, out, err, c.want, c.reason)
			if out.Sent != c.sent || out.Auth != c.auth {
				t.Errorf("%+v", out)
			}
			if got := shown(); got != c.nameAfter {
				t.Errorf("it is called %q, want %q", got, c.nameAfter)
			}
		})
	}
}

// TestProbe connects, checks who answers, and writes nothing.
func TestProbe(t *testing.T) {
	s, target, _ := registered(t, golden.Config{})
	out, err := inbox.Probe(within(t, 10*time.Second), target, inbox.Options{})
	check(t, out, err, inbox.Reachable, "")
	if out.Sent || out.Auth != "none" || out.Evidence != "none" || out.MsgID != "" {
		t.Errorf("%+v", out)
	}
	for _, c := range []struct {
		name   string
		change func(t *inbox.Target)
		want   inbox.Name
		reason inbox.Reason
	}{
		{"another process", func(t *inbox.Target) { t.PID = 1 }, inbox.ForeignSocket, inbox.ReasonPeerPID},
		{"no token", func(t *inbox.Target) { t.Token = inbox.Target{}.Token }, inbox.NoAuthKey, ""},
		{"session changed", func(t *inbox.Target) {
			t.Current = func() (string, error) { return "other", nil }
		}, inbox.SessionChanged, ""},
		{"nobody there", func(t *inbox.Target) { t.Path += "x" }, inbox.SocketMissing, ""},
	} {
		target := target
		c.change(&target)
		out, err := inbox.Probe(within(t, 10*time.Second), target, inbox.Options{})
		check(t, out, err, c.want, c.reason)
		if out.Sent || out.Auth != "none" {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
	// A post behind it, so that whatever the probes wrote has come by now.
	if _, err := inbox.Post(within(t, 10*time.Second), target, inbox.Message{Body: "x"}, inbox.Options{}); err != nil {
		t.Fatal(err)
	}
	if lines := s.Lines(); len(lines) != 2 {
		t.Errorf("it was sent %q", lines)
	}
}
