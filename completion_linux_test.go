package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// typist starts an interactive shell, whose start must bind ^Xd to writing its line
// to $LINE and emptying it, and make READY the prompt. Type gives the line that has
// come of keys.
func typist(t *testing.T, env []string, args ...string) (typed func(keys string) string) {
	t.Helper()
	path, err := exec.LookPath(args[0])
	if err != nil {
		t.Skipf("no %s here", args[0])
	}
	person, program := terminal(t)
	file, dir := filepath.Join(shortDir(t), "line"), shortDir(t)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(env), "TERM=dumb", "LINE="+file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	program.Close()
	if err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	var shown strings.Builder
	go func() {
		defer close(ended)
		b := make([]byte, 4096)
		for told := false; ; {
			n, err := person.Read(b)
			if err != nil {
				return
			}
			if shown.Write(b[:n]); !told && strings.Contains(shown.String(), "READY") {
				told = true
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		<-ended
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("a name was run: %v %v", files, err)
		}
		if t.Failed() {
			t.Logf("shown: %q", shown.String())
		}
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatal("the shell ended")
	}
	return func(keys string) string {
		t.Helper()
		if _, err := person.WriteString(keys + "\x18d"); err != nil {
			t.Fatal(err)
		}
		var line []byte
		await(t, "the shell writes its line", func() bool {
			line, err = os.ReadFile(file)
			return err == nil
		})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
}

// keystrokes are what is typed, and what both shells make of it; a bar is the tab key.
var keystrokes = map[string]string{
	"ccpost se|":                  "ccpost send ",
	"ccpost send --dry|":          "ccpost send --dry-run ",
	"ccpost send --priority lat|": "ccpost send --priority later ",
	"ccpost send --to ap|":        "ccpost send --to api ",
	"ccpost send --to my|":        `ccpost send --to my\ session `,
	`ccpost send --to 'my |`:      `ccpost send --to 'my session' `,
	"ccpost send --to=my|":        `ccpost send --to=my\ session `,
	`ccpost send --to \$|`:        `ccpost send --to \$\(touch\ pwned\) `,
	`ccpost send --to back|`:      `ccpost send --to back\\slash `,
	"ccpost check --to sel|":      "ccpost check --to self ",
	"ccpost help exit|":           "ccpost help exit-codes ",
	"ccpost policy acc|":          "ccpost policy accept ",
	"ccpost run --if|":            "ccpost run --if-present ",
}

func TestBashTyped(t *testing.T) {
	t.Parallel()
	env := environ(t, "CLAUDE_CONFIG_DIR="+named(t, hostile...), "LC_ALL=C.UTF-8", "FILE="+manual(t, "ccpost.bash"))
	start := filepath.Join(shortDir(t), "rc")
	if err := os.WriteFile(start, []byte(`
source "$FILE"
line() { printf %s "$READLINE_LINE" >"$LINE.new"; READLINE_LINE=; mv "$LINE.new" "$LINE"; }
bind -x '"\C-xd": line'
PS1=READY
`), 0o600); err != nil {
		t.Fatal(err)
	}
	typed := typist(t, env, "bash", "--noprofile", "--rcfile", start, "-i")
	for k, want := range keystrokes {
		if got := typed(strings.ReplaceAll(k, "|", "\t")); got != want {
			t.Errorf("%s is completed to %q, want %q", k, got, want)
		}
	}
	// Behind a colon readline would begin a new word.
	if got := typed("ccpost send --to a\\:\t"); got != `ccpost send --to a\:b\=c\@d ` {
		t.Errorf("a colon: %q", got)
	}
}

func TestZshCompletion(t *testing.T) {
	t.Parallel()
	home := shortDir(t)
	env := append(environ(t, "CLAUDE_CONFIG_DIR="+named(t, hostile...), "LC_ALL=C.UTF-8"), "ZDOTDIR="+home, "DIR="+filepath.Dir(manual(t, "_ccpost")))
	if err := os.WriteFile(filepath.Join(home, ".zshrc"), []byte(`
fpath=($DIR $fpath)
autoload -Uz compinit
compinit -u -D
setopt no_beep no_list_ambiguous
line() { print -rn -- "$BUFFER" >$LINE.new; BUFFER=; mv $LINE.new $LINE }
zle -N line
bindkey '^Xd' line
PS1=READY
`), 0o600); err != nil {
		t.Fatal(err)
	}
	typed := typist(t, env, "zsh", "-d", "-i")
	for k, want := range keystrokes {
		if got := typed(strings.ReplaceAll(k, "|", "\t")); got != want {
			t.Errorf("%s is completed to %q, want %q", k, got, want)
		}
	}
	for line, want := range map[string]string{
		"ccpost run ccpost se|":              "ccpost run ccpost send ",
		"ccpost run --to x -- ccpost se|":    "ccpost run --to x -- ccpost send ",
		"ccpost run true --if|":              "ccpost run true --if",
		"ccpost listen -- ccpost help exit|": "ccpost listen -- ccpost help exit-codes ",
		"ccpost send --to a:|":               `ccpost send --to a:b=c@d `,
	} {
		if got := typed(strings.ReplaceAll(line, "|", "\t")); got != want {
			t.Errorf("%s is completed to %q, want %q", line, got, want)
		}
	}
	for _, n := range model(t).Children {
		for _, f := range n.Flags {
			if f.Name == "all" && n.Name == "hook" {
				continue // others begin so
			}
			// Whole already: a space or an equals sign shows that it is known.
			if got := typed("ccpost " + n.Name + " --" + f.Name + "\t"); got != "ccpost "+n.Name+" --"+f.Name+" " && got != "ccpost "+n.Name+" --"+f.Name+"=" {
				t.Errorf("ccpost %s --%s becomes %q", n.Name, f.Name, got)
			}
		}
	}
}
