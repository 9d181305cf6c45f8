package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostile are names that a shell could take for more than a name, and offered
// what is offered of them, as --to takes it. The others have control characters.
var (
	hostile = []string{"api", "my session", `it's "one"`, "$(touch pwned)", "`touch pwned`", `back\slash`, ";touch pwned", "a:b=c@d", "-dash",
		"name:x", "self", "日本", "*", "a&b|c>d", "~", "!!", "{a,b}", `},{"name":"fake","status":"x`, "tab\there", "two\nlines", "esc\x1b[31m", "del\x7f", "c1\u009b2J"}
	offered = []string{"self", "api", "my session", `it's "one"`, "$(touch pwned)", "`touch pwned`", `back\slash`, ";touch pwned", "a:b=c@d", "name:-dash",
		"name:name:x", "name:self", "日本", "*", "a&b|c>d", "name:~", "!!", "{a,b}", `},{"name":"fake","status":"x`}
)

// shell gives what a shell prints that has run script in an empty directory, with
// ccpost in its PATH; it is skipped where there is no such shell.
func shell(t *testing.T, env []string, script string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(args[0])
	if err != nil {
		t.Skipf("no %s here", args[0])
	}
	cmd := exec.Command(path, append(args[1:], script)...)
	cmd.Dir, cmd.Env = shortDir(t), env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s\n%s", args[0], err, stderr.String(), out)
	}
	if files, err := os.ReadDir(cmd.Dir); err != nil || len(files) > 0 {
		t.Errorf("%s: a name was run: %v %v", args[0], files, err)
	}
	return string(out)
}

// manual is the absolute path of one of its files.
func manual(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(manualDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// replies are the words that bash offers for a line, the last of which is open.
func replies(t *testing.T, env []string, words ...string) []string {
	t.Helper()
	script := `source "$FILE"; COMP_WORDS=(`
	for _, w := range words {
		script += " " + single(w)
	}
	script += `); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ccpost; for r in "${COMPREPLY[@]}"; do printf '%s\n' "$r"; done`
	return lines(shell(t, append(env, "FILE="+manual(t, "ccpost.bash")), script, "bash", "--norc", "--noprofile", "-c"))
}

// lines are text's, without what ends them.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

func TestBashCompletion(t *testing.T) {
	t.Parallel()
	env := environ(t)
	if got := shell(t, append(env, "FILE="+manual(t, "ccpost.bash")), `source "$FILE"; complete -p ccpost`, "bash", "--norc", "--noprofile", "-c"); got != "complete -o default -F _ccpost ccpost\n" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		line string // words between bars
		want string
	}{
		{"ccpost|se", "send"},
		{"ccpost|", "send hook run list check policy rename listen demo version help --help -h"},
		{"ccpost|re", "rename"},
		{"ccpost|no-such|", ""},
		{"ccpost|send|--pri", "--priority"},
		{"ccpost|send|--priority|", "next later now"},
		{"ccpost|send|--priority|=|l", "later"},
		{"ccpost|send|--priority|=", "next later now"},
		{"ccpost|send|--as|", ""},
		{"ccpost|send|--to|s", "self"},
		{"ccpost|hook|--snippet|St", "Stop StopFailure"},
		{"ccpost|hook|--allow", "--allow-self --allow-chain"},
		{"ccpost|list|-", "--help -h --config-dir --verbose -v --json"},
		{"ccpost|listen|--behave|=|h", "hold"},
		{"ccpost|policy|", "show accept hold refuse unset"},
		{"ccpost|policy|--json|a", "accept"},
		{"ccpost|help|exit", "exit-codes"},
		{"ccpost|help|se", "send"},
		{"ccpost|run|--on|", "failure success always"},
		{"ccpost|run|--to|x|--tai", "--tail"},
		{"ccpost|run|--on|=|failure|--tai", "--tail"},
		{"ccpost|run|make|--tai", ""},
		{"ccpost|run|--|--tai", ""},
		{"ccpost|run|--if-present|--|ccpos", "ccpost"},
		{"ccpost|listen|ccpos", "ccpost"},
	} {
		if got := replies(t, env, strings.Split(c.line, "|")...); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s is completed with %q, want %s", c.line, got, c.want)
		}
	}
	for _, n := range model(t).Children {
		for _, f := range n.Flags {
			if got := replies(t, env, "ccpost", n.Name, "--"+f.Name); !slices.Contains(got, "--"+f.Name) {
				t.Errorf("ccpost %s --%s is completed with %q", n.Name, f.Name, got)
			}
		}
	}
}

// What bash offers for a session is one word, whatever its name is, wherever it
// stands.
func TestBashCompletionOfSessions(t *testing.T) {
	t.Parallel()
	env := environ(t, "CLAUDE_CONFIG_DIR="+named(t, hostile...), "LC_ALL=C.UTF-8")
	for quote, without := range map[string]string{"": "", "'": "'", `"`: "\"$`\\!"} {
		var want []string
		for _, name := range offered {
			if without == "" || !strings.ContainsAny(name, without) {
				want = append(want, name)
			}
		}
		var script strings.Builder
		for _, r := range replies(t, env, "ccpost", "send", "--to", quote) {
			script.WriteString("printf '%s %s\\n' " + quote + r + quote + " end\n")
		}
		got := strings.Split(strings.TrimSuffix(shell(t, env, script.String(), "bash", "--norc", "--noprofile", "-c"), "\n"), "\n")
		for i, g := range got {
			got[i], _ = strings.CutSuffix(g, " end")
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("within %q\n%s", quote, diff)
		}
	}
	for typed, want := range map[string]string{"my": `my\ session`, `my\ s`: `my\ session`, `'my s`: "my session", "a:": `a\:b\=c\@d`, `a\:b`: `a\:b\=c\@d`, "日": "日本", "xyz": ""} {
		if got := strings.Join(replies(t, env, "ccpost", "check", "--to", typed), "|"); got != want {
			t.Errorf("%s is completed with %s, want %s", typed, got, want)
		}
	}
	if got := replies(t, env, "ccpost", "hook", "--to", "=", "my"); !slices.Equal(got, []string{`my\ session`}) {
		t.Errorf("behind = it is completed with %q", got)
	}
}

// fish offers a line's completions, each with its description.
func fish(t *testing.T, env []string, line string) (words []string) {
	t.Helper()
	for _, l := range lines(shell(t, append(env, "FILE="+manual(t, "ccpost.fish"), "LINE="+line), `source $FILE; complete --escape -C $LINE`, "fish", "--no-config", "-c")) {
		word, _, _ := strings.Cut(l, "\t")
		words = append(words, word)
	}
	return words
}

func TestFishCompletion(t *testing.T) {
	t.Parallel()
	env := environ(t, "LC_ALL=C.UTF-8")
	for line, want := range map[string]string{
		"ccpost se":                           "send",
		"ccpost re":                           "rename",
		"ccpost send --pri":                   "--priority",
		"ccpost send --priority ":             "later next now",
		"ccpost send --priority=l":            "--priority=later",
		"ccpost hook --snippet Stop":          "Stop StopFailure",
		"ccpost hook --allow":                 "--allow-chain --allow-self",
		"ccpost policy ":                      "accept hold refuse show unset",
		"ccpost help exit":                    "exit-codes",
		"ccpost listen --behave ho":           "hold",
		"ccpost run --tai":                    "--tail",
		"ccpost run --to x ccpost send --pri": "--priority",
		"ccpost send --to sel":                "self",
		"ccpost send run --req":               "",
	} {
		got := fish(t, env, line)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s is completed with %q, want %s", line, got, want)
		}
	}
	if got := fish(t, env, "ccpost run --to x -- --tai"); slices.Contains(got, "--tail") {
		t.Errorf("a flag of ccpost's own is offered behind --: %q", got)
	}
	all := fish(t, env, "ccpost ")
	for _, n := range model(t).Children {
		if !slices.Contains(all, n.Name) {
			t.Errorf("%s is not among %q", n.Name, all)
		}
		flags := fish(t, env, "ccpost "+n.Name+" --")
		for _, f := range n.Flags {
			if !slices.ContainsFunc(flags, func(s string) bool { return strings.TrimSuffix(s, "=") == "--"+f.Name }) {
				t.Errorf("ccpost %s --%s is not among %q", n.Name, f.Name, flags)
			}
		}
	}
}

func TestFishCompletionOfSessions(t *testing.T) {
	t.Parallel()
	env := environ(t, "CLAUDE_CONFIG_DIR="+named(t, hostile...), "LC_ALL=C.UTF-8")
	got, want := fish(t, env, "ccpost send --to "), slices.Clone(offered)
	for i, g := range got {
		got[i] = strings.TrimSuffix(shell(t, env, "printf '%s\\n' "+g, "fish", "--no-config", "-c"), "\n")
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The files are right to their shells' own readers.
func TestCompletionSyntax(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"ccpost.bash": {"bash", "-n"}, "_ccpost": {"zsh", "-f", "-n"}, "ccpost.fish": {"fish", "--no-config", "-n"}} {
		t.Run(args[0], func(t *testing.T) { shell(t, environ(t), manual(t, name), args...) })
	}
}
