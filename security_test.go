package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ccpost/golden"
)

// obeyed is what a terminal would obey, or show in another order.
const obeyed = "a\x1b[31m\x07\x7f\u009b31m\u202e\u2066\u2028b"

// Whatever others wrote into a record, an event, a path or the command line,
// nothing that is printed of it is obeyed by a terminal.
func TestNoControlInOutput(t *testing.T) {
	t.Parallel()
	session := start(t, golden.Config{Name: obeyed})
	inside := environ(t, append(session.Environ(), "CCPOST_DEBUG=1")...)
	planted := shortDir(t)
	register(t, planted, os.Getpid(), "/tmp/"+obeyed+"/"+strconv.Itoa(os.Getpid())+".sock", "s-1")
	register(t, planted, 1, obeyed, obeyed)
	record := filepath.Join(planted, "sessions", "2.json")
	do(t, os.WriteFile(record, []byte(`{"pid":2,"`+obeyed+`":`), 0o644))
	outside := environ(t, "CLAUDE_CONFIG_DIR="+planted)
	b, err := json.Marshal(map[string]any{"hook_event_name": obeyed, "cwd": obeyed, "session_id": obeyed, "error": obeyed, "transcript_path": "/" + obeyed})
	do(t, err)
	event := string(b)

	check := func(env []string, args ...string) {
		t.Helper()
		got := ccpost(t, env, event, args...)
		for _, r := range got.stdout + got.stderr {
			if r != '\n' && unprintable(r) {
				t.Errorf("%q printed %U\n%q", args, r, got)
				break
			}
		}
	}
	for _, env := range [][]string{inside, outside} {
		for _, args := range [][]string{
			{"send", "-v", "hello"}, {"send", "-v", "--json", "hello"}, {"send", "--as", obeyed, obeyed}, {"send", "--timeout", obeyed, "hello"},
			{"send", "--to", obeyed, "hello"}, {"send", "--to", "/" + obeyed, "hello"}, {"send", "--to", "dir:" + obeyed, "hello"},
			{"send", "--to", "pid:" + strconv.Itoa(os.Getpid()), "hello"}, {"send", "--to", "pid:1", "--json", "hello"},
			{"hook", "-v"}, {"hook", "-v", "--dry-run"}, {"hook", "--text", "{" + obeyed}, {"hook", "--" + obeyed}, {"hook", "--snippet", obeyed},
			{"run", "-v", "--label", obeyed, "--", "true"}, {"run", "--", "/" + obeyed}, {"run", "--on", obeyed, "true"},
			{"list", "-v"}, {"list", "--json", "-v"}, {"check"}, {"check", "--json"}, {"check", "--connect"}, {"check", "--to", obeyed},
			{"rename", obeyed}, {"policy", "--if-revision", obeyed, "hold"}, {"listen", "--name", obeyed, "--", "ccpost", "send", "-v", obeyed},
			{"listen", "--behave", obeyed}, {"listen", "--", obeyed}, {"help", obeyed}, {obeyed},
		} {
			check(env, args...)
		}
	}
	for _, env := range [][]string{
		with(outside, "CLAUDE_CONFIG_DIR=/"+obeyed), with(inside, "CLAUDE_CODE_MESSAGING_SOCKET=/"+obeyed),
		with(inside, "CLAUDE_CODE_SESSION_ID="+obeyed), with(inside, "CLAUDE_PID="+obeyed),
	} {
		for _, args := range [][]string{{"send", "-v", "hello"}, {"hook", "-v"}, {"list", "-v"}, {"check"}, {"policy"}, {"policy", "--json"}} {
			check(env, args...)
		}
	}
}
