package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ccpost/golden"
)

// event is one that is posted wherever it goes.
const event = `{"hook_event_name":"PostToolUseFailure","cwd":"/home/dev/api","tool_name":"Bash","error":"Exit code 3"}`

// No output of any command, on any path, has as much as a few characters of a
// token in it: the environment's or a key's.
func TestNoTokenInOutput(t *testing.T) {
	t.Parallel()
	good := start(t, golden.Config{Name: "good"})
	inside := environ(t, append(good.Environ(), "CCPOST_DEBUG=1")...)
	outside := environ(t, "CCPOST_DEBUG=1")
	configDir := lookup(inside, "CLAUDE_CONFIG_DIR")
	dir := shortDir(t)
	foreign := record(t, filepath.Join(dir, "s", "1.sock")).path

	type scenario struct {
		name string
		env  []string
		args []string // of send and of hook
	}
	scenarios := []scenario{
		{"sent", inside, nil},
		{"by key", outside, []string{"--to", good.Path(), "--config-dir", configDir}},
		{"dry run", inside, []string{"--dry-run"}},
		{"dry run by key", outside, []string{"--dry-run", "--to", good.Path(), "--config-dir", configDir}},
		{"off", with(inside, "CCPOST=0"), nil},
		{"outside", outside, nil},
		{"no record", inside, []string{"--to", foreign}},
		{"no socket", with(inside, "CLAUDE_CODE_MESSAGING_SOCKET="+dir+"/gone.sock"), nil},
		{"not a socket", inside, []string{"--to", dir}},
		{"relative", with(inside, "CLAUDE_CODE_MESSAGING_SOCKET=relative"), nil},
		{"empty path", inside, []string{"--to", ""}},
		{"another process", with(inside, "CLAUDE_PID=1"), nil},
		{"another session", with(inside, "CLAUDE_CODE_SESSION_ID=another"), nil},
		{"pid no number", with(inside, "CLAUDE_PID=many"), nil},
		{"misuse", inside, []string{"--no-such-flag"}},
		{"bad template", inside, []string{"--text", "{"}},
		{"no time", inside, []string{"--timeout", "1ns"}},
		{"token with a newline", with(inside, "CLAUDE_CODE_MESSAGING_TOKEN="+envToken+"\n"+envToken), nil},
		{"token with a quote", with(inside, `CLAUDE_CODE_MESSAGING_TOKEN="`+envToken+`"`), nil},
		{"token too short", with(inside, "CLAUDE_CODE_MESSAGING_TOKEN="+envToken[:15]), nil},
		{"token too long", with(inside, "CLAUDE_CODE_MESSAGING_TOKEN="+strings.Repeat(envToken, 20)), nil},
		{"the token is told as an address", inside, []string{"--to", envToken}},
		{"the token is told as a path", inside, []string{"--to", "/" + envToken}},
		{"the token is told as a flag", inside, []string{"--" + envToken}},
		{"the token is told as a value", inside, []string{"--timeout", envToken}},
		{"the token is told as a name", inside, []string{"--as", envToken}},
		{"the token is told as a directory", inside, []string{"--to", foreign, "--config-dir", "/" + envToken}},
		{"socket and token swapped", with(inside, "CLAUDE_CODE_MESSAGING_SOCKET="+envToken, "CLAUDE_CODE_MESSAGING_TOKEN="+good.Path()), nil},
		{"socket holds the token too", with(inside, "CLAUDE_CODE_MESSAGING_SOCKET="+envToken), nil},
		{"socket holds the token, no token", with(inside, "CLAUDE_CODE_MESSAGING_SOCKET="+envToken, "CLAUDE_CODE_MESSAGING_TOKEN"), nil},
		{"pid and token swapped", with(inside, "CLAUDE_PID="+envToken, "CLAUDE_CODE_MESSAGING_TOKEN="+strconv.Itoa(os.Getpid())), nil},
	}
	for _, b := range golden.Behaviours() {
		s := start(t, golden.Config{Behaviour: b, Version: "2.1.230"})
		config := lookup(s.Environ(), "CLAUDE_CONFIG_DIR")
		scenarios = append(scenarios,
			scenario{string(b), environ(t, append(s.Environ(), "CCPOST_DEBUG=1")...), []string{"--timeout", "500ms"}},
			scenario{string(b) + " by key", outside, []string{"--timeout", "500ms", "--to", s.Path(), "--config-dir", config}})
	}
	// Keys that can't be used: no error quotes them.
	for name, key := range map[string]string{
		"newline":    `{"peerToken":"` + keyToken + `\n"}`,
		"quote":      `{"peerToken":"` + keyToken + `\""}`,
		"short":      `{"peerToken":"` + keyToken[:15] + `"}`,
		"list":       `["` + keyToken + `"]`,
		"in a list":  `{"peerToken":["` + keyToken + `"]}`,
		"twice":      `{"peerToken":"` + keyToken + `","peerToken":"` + keyToken + `"}`,
		"bare":       keyToken,
		"cut":        `{"peerToken":"` + keyToken,
		"as a key":   `{"` + keyToken + `":"` + keyToken + `","` + keyToken + `":1}`,
		"of another": `{"peerToken":"` + keyToken + `","procStart":"` + keyToken + `"}`,
	} {
		s := start(t, golden.Config{})
		config := lookup(s.Environ(), "CLAUDE_CONFIG_DIR")
		files, err := filepath.Glob(filepath.Join(config, "sessions", "*.key"))
		if err == nil && len(files) != 1 {
			err = fmt.Errorf("the key files are %q", files)
		}
		if err == nil {
			err = os.WriteFile(files[0], []byte(key), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		scenarios = append(scenarios, scenario{"key " + name, outside, []string{"--to", s.Path(), "--config-dir", config}})
	}

	check := func(name string, env []string, input string, args ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ccpost(t, env, input, args...)
			if part, found := leak(got.stdout+got.stderr, envToken, keyToken); found {
				t.Errorf("%s printed %q of a token\n%s", args, part, got)
			}
		})
	}
	for _, s := range scenarios {
		for name, command := range map[string][]string{
			"send": {"send", "--verbose", "hello"}, "json": {"send", "--verbose", "--json", "hello"}, "hook": {"hook", "--verbose"},
			"run": {"run", "--verbose", "--", "true"},
		} {
			check(s.name+"/"+name, s.env, event, slices.Concat(command[:1], s.args, command[1:])...)
		}
	}
	for _, args := range [][]string{
		{"send", "--verbose", "-"}, {"send", "--verbose", ""}, {"send", "--verbose", envToken}, {"send", envToken, envToken},
		{"version"}, {"version", envToken}, {"demo"}, {"demo", envToken}, {}, {"--help"}, {envToken},
		{"listen", "--", "no-such-command-" + envToken}, {"listen", "--behave", envToken},
		{"listen", "--", "ccpost", "send", "--verbose", "hello"}, {"listen", "--behave", "drop", "--", "ccpost", "send", "-v", "hello"},
		{"hook", "--text", "{" + envToken}, {"hook", envToken},
		{"run", envToken}, {"run", "--", "/" + envToken}, {"run", "--on", envToken, "true"}, {"run", "--tail", envToken, "true"}, {"run", "-v", "--label", envToken, "true"},
	} {
		check("command/"+strings.Join(args, "_"), inside, "", args...)
	}
	for _, input := range []string{"", "[]", "{", envToken, `"` + envToken + `"`, `{"hook_event_name":"Stop","cwd":"` + envToken + `"}`} {
		check("input/"+input, inside, input, "hook", "--verbose")
	}
}

// Of the environment's token not a byte arrives at any other socket than the
// environment's own; and nothing at all where a post is refused.
func TestTokenGoesNowhereElse(t *testing.T) {
	t.Parallel()
	type place struct {
		env  []string // what makes the recorder's path look like a session's
		args []string
	}
	// A session in the environment, and a socket of somebody else's that is
	// named to ccpost in one way or another. Nothing may come there.
	for name, c := range map[string]struct {
		code   int
		reason string // in the report
		lead   func(t *testing.T, path, configDir string) place
	}{
		"a path that no record names": {77, `"no-auth-key"`, func(t *testing.T, path, configDir string) place {
			return place{args: []string{"--to", path}}
		}},
		"a record of another process names the path": {77, `"peer_pid"`, func(t *testing.T, path, configDir string) place {
			register(t, configDir, another(t), path, "s-1")
			return place{args: []string{"--to", path}}
		}},
		"the environment names another process": {77, `"peer_pid"`, func(t *testing.T, path, configDir string) place {
			return place{env: []string{"CLAUDE_CODE_MESSAGING_SOCKET=" + path, "CLAUDE_PID=" + strconv.Itoa(another(t))}}
		}},
		"the environment's record names another process": {77, `"peer_pid"`, func(t *testing.T, path, configDir string) place {
			register(t, configDir, another(t), path, "s-1")
			return place{env: []string{"CLAUDE_CODE_MESSAGING_SOCKET=" + path, "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID"}}
		}},
		"another session is at the environment's path": {69, `"session-changed"`, func(t *testing.T, path, configDir string) place {
			register(t, configDir, os.Getpid(), path, "s-2")
			return place{env: []string{"CLAUDE_CODE_MESSAGING_SOCKET=" + path, "CLAUDE_CODE_SESSION_ID=s-1"}}
		}},
		"others may write to the socket": {77, `"mode"`, func(t *testing.T, path, configDir string) place {
			chmod(t, path, 0o660)
			return place{env: []string{"CLAUDE_CODE_MESSAGING_SOCKET=" + path}}
		}},
		"others may write to its directory": {77, `"dir_mode"`, func(t *testing.T, path, configDir string) place {
			chmod(t, filepath.Dir(path), 0o770)
			return place{env: []string{"CLAUDE_CODE_MESSAGING_SOCKET=" + path}}
		}},
		"a link leads there": {77, `"symlink"`, func(t *testing.T, path, configDir string) place {
			link := filepath.Join(filepath.Dir(path), "link.sock")
			symlink(t, path, link)
			return place{env: []string{"CLAUDE_CODE_MESSAGING_SOCKET=" + link}}
		}},
		"a linked directory leads there": {77, `"dir_symlink"`, func(t *testing.T, path, configDir string) place {
			link := filepath.Dir(path) + "-link"
			symlink(t, filepath.Dir(path), link)
			return place{env: []string{"CLAUDE_CODE_MESSAGING_SOCKET=" + filepath.Join(link, filepath.Base(path))}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := start(t, golden.Config{})
			r := record(t, filepath.Join(shortDir(t), "s", strconv.Itoa(os.Getpid())+".sock"))
			env := environ(t, session.Environ()...)
			p := c.lead(t, r.path, lookup(env, "CLAUDE_CONFIG_DIR"))
			env = with(env, p.env...)
			got := ccpost(t, env, "", slices.Concat([]string{"send", "--json"}, p.args, []string{"hello"})...)
			if got.code != c.code || !strings.Contains(got.stdout, c.reason) {
				t.Errorf("want exit %d and %s\n%s", c.code, c.reason, got)
			}
			if got := ccpost(t, env, event, slices.Concat([]string{"hook"}, p.args)...); got.code != c.code {
				t.Errorf("hook: want exit %d\n%s", c.code, got)
			}
			if got := ccpost(t, env, "", slices.Concat([]string{"run", "--require-post"}, p.args, []string{"true"})...); got.code != c.code {
				t.Errorf("run: want exit %d\n%s", c.code, got)
			}
			if sent := r.got(); sent != "" {
				t.Errorf("the other socket was sent %q", sent)
			}
			if sent := wire(session); sent != "" {
				t.Errorf("the session was sent %q", sent)
			}
		})
	}

	t.Run("another session by its path", func(t *testing.T) {
		t.Parallel()
		own := start(t, golden.Config{})
		other := start(t, golden.Config{Token: strings.ToLower(envToken), PeerToken: keyToken})
		env := environ(t, own.Environ()...)
		got := ccpost(t, env, "", "send", "--to", other.Path(), "--config-dir", lookup(other.Environ(), "CLAUDE_CONFIG_DIR"), "hello")
		sent := wire(other)
		if got.code != 0 || !strings.Contains(sent, keyToken) {
			t.Fatalf("it wasn't posted with the key: %s", got)
		}
		if part, found := leak(sent, envToken); found {
			t.Errorf("%q of the environment's token came along", part)
		}
		if sent := wire(own); sent != "" {
			t.Errorf("the environment's session was sent %q", sent)
		}
	})

	// The session is a process of its own, and its socket has been replaced by
	// somebody else's of the same name: with its record and environment intact.
	t.Run("its socket was replaced", func(t *testing.T) {
		t.Parallel()
		dir := shortDir(t)
		cmd := exec.Command("standin", "-sockets", dir+"/s", "-config", dir+"/c", "-token", envToken, "-key", keyToken, "-lines", dir+"/lines")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		a := launch(t, cmd)
		defer cmd.Wait()
		defer stdin.Close()
		if err := os.Remove(a.Path); err != nil {
			t.Fatal(err)
		}
		r := record(t, a.Path)
		inside := environ(t, a.Environ...)
		for _, env := range [][]string{inside, with(inside, "CLAUDE_PID"), with(inside, "CLAUDE_CODE_MESSAGING_TOKEN")} {
			if got := ccpost(t, env, "", "send", "--json", "hello"); got.code != 77 || !strings.Contains(got.stdout, `"peer_pid"`) {
				t.Errorf("want exit 77 and peer_pid\n%s", got)
			}
		}
		if sent := r.got(); sent != "" {
			t.Errorf("the other socket was sent %q", sent)
		}
	})

	t.Run("after clear", func(t *testing.T) {
		t.Parallel()
		session := start(t, golden.Config{})
		env := environ(t, session.Environ()...)
		session.Clear()
		if got := ccpost(t, env, "", "send", "--json", "hello"); got.code != 69 || !strings.Contains(got.stdout, `"session-changed"`) {
			t.Errorf("want exit 69 and session-changed\n%s", got)
		}
		if sent := wire(session); sent != "" {
			t.Errorf("the session was sent %q", sent)
		}
	})
}

// another is the pid of a process that runs and is not this one.
func another(t testing.TB) int {
	t.Helper()
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	return cmd.Process.Pid
}

func chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// What a session is told stands in its transcript: no token of a session's is
// part of a message, whatever it came in by.
func TestTokenInNoMessage(t *testing.T) {
	t.Parallel()
	s := start(t, golden.Config{})
	env := environ(t, s.Environ()...)
	event := `{"hook_event_name":"PostToolUseFailure","tool_name":"Bash","error":"bad ` + envToken + `"}`
	for _, args := range [][]string{
		{"send", "--as", envToken, "x"}, {"send", "take " + envToken}, {"hook"}, {"hook", "--text", "{error}"}, {"hook", "--as", envToken},
		{"run", "--label", envToken, "--", "echo", envToken}, {"run", "--as", envToken, "--", "true"}, {"run", "--", "./" + envToken},
	} {
		if got := ccpost(t, env, event, args...); got.code != 0 && args[0] != "run" {
			t.Errorf("%q: %v", args, got)
		}
	}
	if n := len(s.Messages()); n != 8 {
		t.Errorf("%d messages came", n)
	}
	for _, line := range s.Lines() {
		if part, found := leak(string(line), envToken, keyToken); found && !strings.HasPrefix(string(line), `{"type":"auth"`) {
			t.Errorf("%q is in %.300s", part, line)
		}
	}
}
