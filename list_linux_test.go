package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ccpost/golden"
)

// table reads what list prints on a terminal.
func table(t *testing.T, columns uint16, env []string, args ...string) []string {
	t.Helper()
	_, wait := onTerminalOf(t, columns, env, append([]string{"list"}, args...)...)
	code, shown := wait()
	lines := strings.Split(strings.ReplaceAll(shown, "\r\n", "\n"), "\n")
	if code != 0 || lines[len(lines)-1] != "" {
		t.Fatalf("exit %d, %q", code, shown)
	}
	return lines[:len(lines)-1]
}

// On a terminal the table has as many columns as the terminal, and each of its
// own begins at one place, whatever the names are made of.
func TestListWidths(t *testing.T) {
	t.Parallel()
	names := []string{"api", "日本語のセッション", "e\u0301te\u0301", "🚀 deploy", "👩‍💻 pair", "zero\u200bwidth", strings.Repeat("long name ", 12), "two\nlines", "\u202eturned", "\x1b[31mred"}
	configDir := named(t, names...)
	env := environ(t, "CLAUDE_CONFIG_DIR="+configDir, "NO_COLOR=")
	all := []string{"NAME", "STATUS", "PID", "ID", "VERSION", "TMUX", "DIRECTORY", "AGE", "INBOX"}
	for _, c := range []struct {
		columns uint16 // 0: the terminal doesn't say
		widest  int
		want    []string // nil: it is a matter of how long the paths are here
	}{
		{300, 300, all}, {200, 200, nil}, {80, 80, nil}, {0, 80, nil},
		{40, 40, []string{"NAME", "PID", "INBOX"}}, {10, 40, []string{"NAME", "PID", "INBOX"}},
	} {
		columns := c.columns
		lines := table(t, columns, env)
		if got := strings.Fields(lines[0]); c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%d columns have %q, want %q", columns, got, c.want)
		}
		if len(lines) != 1+len(names) {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		at := textWidth(lines[0][:strings.Index(lines[0], "PID")])
		for _, line := range lines {
			if textWidth(line) > c.widest {
				t.Errorf("%d columns: %d in %q", columns, textWidth(line), line)
			}
			if strings.ContainsAny(line, "\x1b\n\u202e") {
				t.Errorf("a name got through: %q", line)
			}
		}
		for _, line := range lines[1:] {
			// The pid is the first number with nothing but spaces before its column.
			var m meter
			for i, r := range line {
				if m.columns == at {
					if pid, _, _ := strings.Cut(line[i:], " "); line[i-1] != ' ' || !number(pid) {
						t.Errorf("%d columns: no pid in column %d of %q", columns, at, line)
					}
					break
				}
				m.add(r)
			}
		}
	}
	// Nothing is left out for a program, or where all was asked for.
	whole := ccpost(t, env, "", "list")
	if got := strings.Fields(strings.SplitN(whole.stdout, "\n", 2)[0]); !slices.Equal(got, all) {
		t.Errorf("off a terminal: %q", got)
	}
	if got := strings.Fields(table(t, 40, env, "--verbose")[0]); !slices.Equal(got, all) {
		t.Errorf("with --verbose: %q", got)
	}
}

func number(s string) bool { _, err := strconv.Atoi(s); return err == nil }

// Neither the table nor JSON holds a character that a terminal obeys, and a
// program that reads the JSON finds the name as it is.
func TestListPrintsNoControl(t *testing.T) {
	t.Parallel()
	name := "a\x1b\x7f\u009b\u202e\u2028b"
	env := environ(t, "CLAUDE_CONFIG_DIR="+named(t, name))
	out := ccpost(t, env, "", "list", "--json").stdout
	if strings.ContainsAny(out, "\x1b\x7f\u009b\u202e\u2028") {
		t.Errorf("%q", out)
	}
	var got []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 1 || got[0].Name != name {
		t.Errorf("%v, %q in %q", err, got, out)
	}
	if out := ccpost(t, env, "", "list").stdout; strings.ContainsAny(out, "\x1b\x7f\u009b\u202e\u2028") {
		t.Errorf("%q", out)
	}
}

// Nothing is ever coloured, on a terminal or off one, whatever asks for it.
func TestNoColour(t *testing.T) {
	t.Parallel()
	session := start(t, golden.Config{Name: "api"})
	for _, vars := range [][]string{
		{"TERM=xterm-256color", "COLORTERM=truecolor", "CLICOLOR_FORCE=1", "FORCE_COLOR=3"},
		{"TERM=xterm-256color", "NO_COLOR=1"},
	} {
		env := environ(t, append(vars, session.Environ()...)...)
		for _, args := range [][]string{
			{"--help"}, {"help", exitCodes}, {"send", "hello"}, {"send", "--to", "nobody", "hello"}, {"list", "-v"}, {"check", "--connect"},
			{"policy"}, {"demo"}, {"version"}, {"run", "--", "no-such-command"}, {"no-such-command"}, {"hook", "--no-such-flag"},
		} {
			_, wait := onTerminalOf(t, 80, env, args...)
			if _, shown := wait(); strings.Contains(shown, "\x1b") || shown == "" {
				t.Errorf("%q with %q shows %q", args, vars, shown)
			}
		}
	}
}
