package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"ccpost/golden/update"
	"ccpost/hook"
	"ccpost/inbox"
)

// manualDir holds what is made of the grammar for those who install ccpost: it
// is here and not in the program because the program has a limit.
const manualDir = "scripts/manual"

// The manual page and the completions are the grammar's and the table's.
func TestManual(t *testing.T) {
	app := model(t)
	for name, want := range map[string]string{
		"ccpost.1":    manualPage(app),
		"ccpost.bash": bashCompletion(app),
		"_ccpost":     zshCompletion(app),
		"ccpost.fish": fishCompletion(app),
	} {
		file := filepath.Join(manualDir, name)
		if *update.Golden {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("%s is not the grammar's; go test -update writes it: %v\n%s", file, err, diff)
		}
	}
}

// Each command and each flag of the grammar, and of the table by which hook reads
// its own, stands in each of the four.
func TestManualIsWhole(t *testing.T) {
	t.Parallel()
	var c hookCmd
	values, switches := c.flagTable()
	hooks := append(slices.Collect(maps.Keys(values)), slices.Collect(maps.Keys(switches))...)
	// What begins a command's part in each, and a flag there.
	for name, form := range map[string]struct{ part, end, flag string }{
		"ccpost.1":    {".It Xo\n.Nm Cm %s\n", ".Xc\n", `(?m)Fl -%s( |$)`},
		"ccpost.bash": {"\t%s) flags='", "'", `[ ']--%s[ ']`},
		"_ccpost":     {"\n\t%s)\n", "\n\t\t;;", `--%s[=\[,}]`},
		"ccpost.fish": {"\n# %s\n", "\n\n", `(?m) -l %s( |$)`},
	} {
		b, err := os.ReadFile(filepath.Join(manualDir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range model(t).Children {
			_, rest, begun := strings.Cut(string(b), fmt.Sprintf(form.part, n.Name))
			part, _, ended := strings.Cut(rest, form.end)
			if !begun || !ended {
				t.Errorf("%s: nothing on %s", name, n.Name)
				continue
			}
			flags := []string{}
			for _, f := range n.Flags {
				flags = append(flags, f.Name)
			}
			if n.Name == "hook" {
				flags = append(flags, hooks...)
			}
			for _, f := range flags {
				if !regexp.MustCompile(fmt.Sprintf(form.flag, f)).MatchString(part + form.end) {
					t.Errorf("%s: %s has no --%s in %q", name, n.Name, f, part)
				}
			}
		}
	}
}

// The manual page names every outcome, and every variable that the program reads.
func TestManualPageFacts(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(manualDir, "ccpost.1"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, r := range inbox.Table {
		if !strings.Contains(page, fmt.Sprintf(".It %d Cm %s\n", r.Exit, r.Name)) || !strings.Contains(page, mdoc(r.Sentence)) {
			t.Errorf("nothing on %s", r.Name)
		}
	}
	read := regexp.MustCompile(`(?:[gG]etenv\(|Env[A-Za-z]+ += )"([A-Z_]+)"`)
	found := 0
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range read.FindAllStringSubmatch(string(source), -1) {
				if found++; !strings.Contains(page, ".It Ev "+m[1]+"\n") {
					t.Errorf("%s reads %s, which the page doesn't name", file, m[1])
				}
			}
		}
	}
	if found < 7 {
		t.Errorf("only %d variables were found", found)
	}
}

// mandoc has nothing to say against the page, and shows it in 80 columns.
func TestManualPageLint(t *testing.T) {
	t.Parallel()
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("no mandoc here")
	}
	page := filepath.Join(manualDir, "ccpost.1")
	if out, err := exec.Command(mandoc, "-T", "lint", "-W", "warning", page).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := exec.Command(mandoc, "-T", "utf8", "-O", "width=80", page).Output()
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(".\b").ReplaceAllString(string(out), "")
	for line := range strings.Lines(text) {
		if textWidth(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("%q", line)
		}
	}
	for _, want := range []string{"ccpost send", "--to WHO", "EXIT STATUS", "closed-after-send", "--text TEMPLATE", "{tool_input.file_path|none}", "CCPOST_DEBUG", `"$HOME/bin/nightly"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page doesn't show %q", want)
		}
	}
}

// manualDate is the page's own, in mdoc's form.
const manualDate = "December 1, 2026"

// mdoc gives text for a line of the page.
func mdoc(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "–", `\(en`)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// flagMdoc is a flag and its value as macros.
func flagMdoc(f *kong.Flag) string {
	s := "Fl -" + f.Name
	if !f.IsBool() {
		s += " Ar " + valueName(f)
	}
	return s
}

func valueName(f *kong.Flag) string {
	if f.PlaceHolder == "" {
		return strings.ToUpper(f.Name)
	}
	return f.PlaceHolder
}

func manualPage(app *kong.Application) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say(`.\" Made from the grammar and the table of outcomes by go test -update.`)
	say(".Dd %s\n.Dt CCPOST 1\n.Os\n.Sh NAME\n.Nm ccpost\n.Nd post a message into a running Claude Code session", manualDate)
	say(".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar flag ...\n.Op Ar argument ...")
	say(".Sh DESCRIPTION\n.Nm\nputs one message into a running Claude Code session through the session's own\ninbox socket, and says what became of it.")
	say("It is run by Claude Code hooks, by cron, CI and git hooks, and by hand.\nIt keeps no state, no daemon and no configuration file.\n.Pp\nThe commands are:\n.Bl -tag -width Ds")
	type entry struct {
		flag     *kong.Flag
		commands []string
	}
	entries := []*entry{{flag: app.HelpFlag}}
	for _, n := range app.Children {
		say(".It Xo\n.Nm Cm %s", n.Name)
		for _, f := range n.Flags {
			say(".Op %s", flagMdoc(f))
			i := slices.IndexFunc(entries, func(e *entry) bool { return e.flag.Name == f.Name && e.flag.Help == f.Help })
			if i < 0 {
				i = len(entries)
				entries = append(entries, &entry{flag: f})
			}
			entries[i].commands = append(entries[i].commands, n.Name)
		}
		for _, p := range n.Positional {
			arg := "Ar " + p.Name
			if p.IsCumulative() {
				arg += " ..."
			}
			if !p.Required {
				arg = "Op " + arg
			}
			say(".%s", arg)
		}
		say(".Xc\n%s", mdoc(n.Help))
		text, _, _ := strings.Cut(strings.Replace(n.Detail, "For example:", "", 1), "\n\n    ")
		if text = strings.TrimSpace(text); text != "" {
			say("%s", mdoc(strings.ReplaceAll(text, ". ", ".\n")))
		}
		for _, p := range n.Positional {
			say(".br\n.Ar %s :\n%s", p.Name, mdoc(p.Help))
		}
	}
	say(".El\n.Pp\nThe flags are:\n.Bl -tag -width Ds")
	slices.SortStableFunc(entries, func(a, b *entry) int { return strings.Compare(a.flag.Name, b.flag.Name) })
	for _, e := range entries {
		of := ""
		if len(e.commands) > 0 {
			of = " Pq " + strings.Join(e.commands, ", ")
		}
		short := ""
		if e.flag.Short != 0 {
			short = "Fl " + string(e.flag.Short) + " , "
		}
		say(".It %s%s%s\n%s", short, flagMdoc(e.flag), of, mdoc(strings.ReplaceAll(e.flag.Help, ". ", ".\n")))
	}
	say(".El")
	b.WriteString(manualEnvironment)
	say(".Sh EXIT STATUS\n.Nm\nnever exits with 1 or 2.\nEvery end has one name and one code.\nResend says whether the same message may be sent again: never means that it may\nhave arrived already, and ask that its user is to be asked.\n.Bl -tag -width Ds")
	for _, r := range inbox.Table {
		say(".It %d Cm %s\n%s.", r.Exit, r.Name, mdoc(r.Sentence))
		if r.Resend != "–" {
			say("Resend: %s.", r.Resend)
		}
		if r.Hint != "" {
			say(".br\nWhat to do: %s.", mdoc(r.Hint))
		}
	}
	say(".El\n.Pp\n.Cm run ,\nand\n.Cm listen\nwith a command, exit with the command's own code: 128 and its number where a\nsignal ended it, 126 or 127 where it can't be started.")
	say("A signal that ends\n.Nm\ngives 128 and its number.\n.Cm hook Fl -best-effort\nalways exits with 0.")
	say(".Sh EXAMPLES")
	for _, n := range app.Children {
		_, example, _ := strings.Cut(n.Detail, "\n\n    ")
		say("%s\n.Bd -literal -offset indent\n%s\n.Ed\n.Pp", mdoc(n.Help), mdoc(example))
	}
	b.WriteString(manualEnd)
	return b.String()
}

const manualEnvironment = `.Sh ENVIRONMENT
No flag takes its value from a variable, and none takes a token.
.Bl -tag -width Ds
.It Ev CCPOST
.Cm 0 ,
.Cm off ,
.Cm no
and
.Cm false
switch posting off.
.It Ev CCPOST_DEBUG
.Cm 1
adds detail to standard error.
.It Ev CLAUDE_CODE_MESSAGING_SOCKET
The inbox of the session that started this process, which is
.Cm self .
.It Ev CLAUDE_CODE_MESSAGING_TOKEN
The token of that inbox.
It goes to that socket and to no other.
.It Ev CLAUDE_CODE_SESSION_ID
The id of that session, by which it is found where its socket is gone.
.It Ev CLAUDE_PID
The process of that session, which must be the one that answers.
.It Ev CLAUDE_CONFIG_DIR
Where the sessions' records are, in place of
.Pa ~/.claude .
.It Ev HOME
The home directory.
.It Ev PATH
Where
.Cm run
and
.Cm listen
find a command.
.It Ev TMPDIR
Where
.Cm listen
and
.Cm demo
put their stand-in session.
.El
.Sh FILES
.Bl -tag -width Ds
.It Pa ~/.claude/sessions/ Ns Ar PID Ns Pa .json
The record of a session.
.It Pa ~/.claude/sessions/ Ns Ar PID Ns \&. Ns Ar SHA256 Ns Pa .key
The key of its inbox.
.It Pa ~/.claude/projects
The transcripts, in which a message that was taken is seen.
.It Pa ~/.claude/settings.json
The user's settings, the only file that
.Cm policy
edits.
.El
`

const manualEnd = `A crontab, which has no session's variables:
.Bd -literal -offset indent
0 2 * * *  ccpost run --to api --on failure -- "$HOME/bin/nightly"
.Ed
.Sh SEE ALSO
.Xr unix 7 ,
.Xr cron 8
.Sh SECURITY CONSIDERATIONS
The directories on the way to the socket, the socket and the process behind it
are checked before the first byte is written.
The token appears in no output, file or argument.
This protects against other users, wrong sockets and mistakes; not against
processes that may act as the same user, nor against root.
`

// events are what --snippet is completed with.
var events = strings.Fields("ConfigChange CwdChanged DirectoryAdded Elicitation ElicitationResult FileChanged Notification " +
	"PermissionDenied PermissionRequest PostCompact PostToolBatch PostToolUse PostToolUseFailure PreCompact PreToolUse SessionEnd " +
	"SessionStart Stop StopFailure SubagentStart SubagentStop TaskCompleted TaskCreated TeammateIdle UserPromptSubmit WorktreeRemove")

func TestEventsAreKnown(t *testing.T) {
	for _, e := range events {
		if !hook.Known(e) {
			t.Errorf("%s is no event", e)
		}
	}
}

// What a flag's value is completed with, where it is no list of words.
const (
	ofSessions    = "sessions"
	ofDirectories = "directories"
)

// wordsOf gives the words that a flag or an argument takes, or where to look.
func wordsOf(v *kong.Value) (words []string, from string) {
	switch {
	case v.Name == "to":
		return nil, ofSessions
	case v.Name == "config-dir" || v.Name == "dir":
		return nil, ofDirectories
	case v.Name == "behave":
		return strings.Split(behaviours(), ", "), ""
	case v.Name == "snippet":
		return events, ""
	case v.Enum != "":
		return v.EnumSlice(), ""
	}
	return nil, ""
}

// argumentWords gives what a command's argument is completed with.
func argumentWords(app *kong.Application, n *kong.Node) (words []string) {
	if n.Name == "help" {
		words = []string{exitCodes}
		for _, c := range app.Children {
			words = append(words, c.Name)
		}
		return words
	}
	for _, p := range n.Positional {
		words, _ = wordsOf(p)
	}
	return words
}

// takesCommand reports whether what stands behind n is another command line.
func takesCommand(n *kong.Node) bool {
	return len(n.Positional) > 0 && n.Positional[0].Name == "command"
}

// flagsOf are a command's, with --help.
func flagsOf(app *kong.Application, n *kong.Node) []*kong.Flag {
	return append([]*kong.Flag{app.HelpFlag}, n.Flags...)
}

// brief is as much of a help text as a menu holds.
func brief(help string) string {
	for _, end := range []string{". ", "; ", ": "} {
		help, _, _ = strings.Cut(help, end)
	}
	return strings.TrimSuffix(help, ".")
}

// namesProgram is awk that takes the names of the sessions from the JSON of list,
// one a line. JSON escapes control characters, and those names are left out: no
// line of a shell has a place for them. A name that --to would take for
// something else gets name: before it.
const namesProgram = `{
	while (match($0, /[{]"name":"([^"\\]|\\["\\])+","status":/)) {
		json = substr($0, RSTART + 9, RLENGTH - 20)
		$0 = substr($0, RSTART + RLENGTH)
		name = ""
		for (i = 1; i <= length(json); i++) {
			if (substr(json, i, 1) == "\\") i++
			name = name substr(json, i, 1)
		}
		if (name ~ /^[-\/@\\~]|^(uds|dir|name|id|pid):|^self$/) name = "name:" name
		print name
	}
}`

const madeBy = "Made from the grammar by go test -update."

func bashCompletion(app *kong.Application) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# bash completion for ccpost(1). %s\n", madeBy)
	b.WriteString("_ccpost_names() {\n\tccpost list --json </dev/null 2>/dev/null | LC_ALL=C awk '" + namesProgram + "'\n}\n\n")
	b.WriteString(bashWho)
	say("_ccpost() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags= valued= words= start=0 IFS=$' \\t\\n'\n\tCOMPREPLY=()")
	var commands []string
	for _, n := range app.Children {
		commands = append(commands, n.Name)
	}
	say("\tif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W '%s --help -h' -- \"$cur\"))\n\t\treturn\n\tfi", strings.Join(commands, " "))
	say("\tcase ${COMP_WORDS[1]} in")
	values := map[string]string{} // what completes the value of a flag
	for _, n := range app.Children {
		var flags, valued []string
		for _, f := range flagsOf(app, n) {
			flags = append(flags, "--"+f.Name)
			if f.Short != 0 {
				flags = append(flags, "-"+string(f.Short))
			}
			if f.IsBool() {
				continue
			}
			valued = append(valued, "--"+f.Name)
			switch words, from := wordsOf(f.Value); {
			case from == ofSessions:
				values["--"+f.Name] = `_ccpost_who "$cur"`
			case from == ofDirectories:
				values["--"+f.Name] = `_ccpost_dirs "$cur"`
			case words != nil:
				values["--"+f.Name] = fmt.Sprintf("COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", strings.Join(words, " "))
			}
		}
		line := fmt.Sprintf("\t%s) flags='%s' valued=' %s '", n.Name, strings.Join(flags, " "), strings.Join(valued, " "))
		if words := argumentWords(app, n); words != nil {
			line += fmt.Sprintf(" words='%s'", strings.Join(words, " "))
		}
		if takesCommand(n) {
			line += " start=2"
		}
		say("%s ;;", line)
	}
	say("\t*) return ;;\n\tesac")
	b.WriteString(bashMiddle)
	say("\tcase $prev in")
	for _, flag := range slices.Sorted(maps.Keys(values)) {
		say("\t%s) %s; return ;;", flag, values[flag])
	}
	say("\tesac")
	b.WriteString(bashEnd)
	return b.String()
}

const bashWho = `# Sessions, quoted for the place that they stand in.
_ccpost_who() {
	local typed=$1 quote= name word
	case $typed in
	\"* | \'*) quote=${typed:0:1} typed=${typed:1} ;;
	esac
	while IFS= read -r name; do
		word=$name
		case $quote in
		\') [[ $name == *\'* ]] && continue ;;
		\") [[ $name == *[\"\\\$\` + "`" + `\!]* ]] && continue ;;
		*)
			printf -v word %q "$name"
			# Readline would begin a word behind these.
			if [[ $word != \$* ]]; then
				word=${word//:/\\:} word=${word//=/\\=} word=${word//@/\\@}
			fi
			;;
		esac
		if [[ $word == "$typed"* || $name == "$typed"* ]]; then
			COMPREPLY+=("$word")
		fi
	done < <(printf 'self\n'; _ccpost_names)
}

_ccpost_dirs() {
	local dir
	compopt -o filenames 2>/dev/null
	while IFS= read -r dir; do
		COMPREPLY+=("$dir")
	done < <(compgen -d -- "$1")
}

`

const bashMiddle = `	# The = of --flag=value is a word of its own.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	# Behind its own flags, run and listen take another command line.
	if ((start)); then
		while ((start < COMP_CWORD)); do
			case ${COMP_WORDS[start]} in
			--)
				((start++))
				break
				;;
			-*)
				if [[ ${COMP_WORDS[start+1]} == = ]]; then
					((start += 3))
				elif [[ $valued == *" ${COMP_WORDS[start]} "* ]]; then
					((start += 2))
				else
					((start++))
				fi
				;;
			*) break ;;
			esac
		done
		if ((start < COMP_CWORD)); then
			declare -F _command_offset >/dev/null && _command_offset "$start"
			return
		elif ((start == COMP_CWORD)) && [[ $cur != -* || ${COMP_WORDS[start-1]} == -- ]]; then
			COMPREPLY=($(compgen -c -- "$cur"))
			return
		fi
	fi
`

const bashEnd = `	if [[ $valued == *" $prev "* ]]; then
		return
	fi
	if [[ $cur == -* ]]; then
		words=$flags
	fi
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}

complete -o default -F _ccpost ccpost
`

// single quotes text for bash and zsh.
func single(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func zshCompletion(app *kong.Application) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("#compdef ccpost\n# zsh completion for ccpost(1). %s\n", madeBy)
	b.WriteString("_ccpost_names() {\n\tccpost list --json </dev/null 2>/dev/null | LC_ALL=C awk '" + namesProgram + "'\n}\n\n")
	say("_ccpost_who() {\n\tlocal -a names\n\tnames=(self ${(f)\"$(_ccpost_names)\"})\n\tcompadd \"$@\" -a names\n}\n")
	say("_ccpost_commands() {\n\tlocal -a commands\n\tcommands=(")
	for _, n := range app.Children {
		say("\t\t%s", single(n.Name+":"+strings.ReplaceAll(brief(n.Help), ":", `\:`)))
	}
	say("\t)\n\t_describe command commands\n}\n")
	say("_ccpost() {\n\tlocal curcontext=$curcontext state line\n\ttypeset -A opt_args")
	say("\t_arguments -C '(- *)'{-h,--help}'[%s]' '1:command:_ccpost_commands' '*::argument:->argument'", brief(app.HelpFlag.Help))
	say("\t[[ $state == argument ]] || return\n\tcase $words[1] in")
	for _, n := range app.Children {
		start := "\t\t_arguments -s -S"
		if takesCommand(n) {
			start += ` -A '-*'`
		}
		say("\t%s)", n.Name)
		if takesCommand(n) {
			// _arguments loses count where -- is the first word.
			say("\t\tlocal -i dashes=${words[(i)--]}\n\t\tif ((dashes < CURRENT)); then\n\t\t\tshift dashes words\n\t\t\t((CURRENT -= dashes))\n\t\t\t_normal\n\t\t\treturn\n\t\tfi")
		}
		say("%s \\", start)
		for _, f := range flagsOf(app, n) {
			help := "[" + strings.NewReplacer("[", `\[`, "]", `\]`).Replace(brief(f.Help)) + "]"
			value := ""
			if !f.IsBool() {
				value = ":" + valueName(f) + ":"
				switch words, from := wordsOf(f.Value); {
				case from == ofSessions:
					value += "_ccpost_who"
				case from == ofDirectories:
					value += "_directories"
				case words != nil:
					value += "(" + strings.Join(words, " ") + ")"
				default:
					value += " "
				}
				help = "=" + help
			}
			many := ""
			if f.IsCumulative() {
				many = "*"
			}
			if f.Short == 0 {
				say("\t\t\t%s \\", single(many+"--"+f.Name+help+value))
			} else {
				say("\t\t\t'(-%c --%s)'{-%c,--%s}%s \\", f.Short, f.Name, f.Short, f.Name, single(help+value))
			}
		}
		switch words := argumentWords(app, n); {
		case takesCommand(n):
			say("\t\t\t'(-)1:command: _command_names -e' '*::argument: _normal'")
		case words != nil:
			say("\t\t\t%s", single("1:"+n.Positional[0].Name+":("+strings.Join(words, " ")+")"))
		case len(n.Positional) > 0:
			say("\t\t\t%s", single("1:"+n.Positional[0].Name+":()"))
		default:
			say("\t\t\t&& return")
		}
		say("\t\t;;")
	}
	say("\tesac\n}\n\nif [[ $funcstack[1] == _ccpost ]]; then\n\t_ccpost \"$@\"\nelse\n\tcompdef _ccpost ccpost\nfi")
	return b.String()
}

func fishCompletion(app *kong.Application) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	say("# fish completion for ccpost(1). %s\n", madeBy)
	say("function __ccpost_names\n\tccpost list --json </dev/null 2>/dev/null | LC_ALL=C awk %s\nend\n", quote(namesProgram))
	say("function __ccpost_is\n\tset -l words (commandline -opc)\n\ttest (count $words) -gt 1; and test $words[2] = $argv[1]; and not contains -- -- $words\nend\n")
	say("complete -c ccpost -f\ncomplete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -s h -l help -d %s", quote(brief(app.HelpFlag.Help)))
	for _, n := range app.Children {
		say("complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a %s -d %s", n.Name, quote(brief(n.Help)))
	}
	for _, n := range app.Children {
		say("\n# %s", n.Name)
		var valued []string
		for _, f := range flagsOf(app, n) {
			line := fmt.Sprintf("complete -c ccpost -n '__ccpost_is %s'", n.Name)
			if f.Short != 0 {
				line += " -s " + string(f.Short)
			}
			line += " -l " + f.Name
			if !f.IsBool() {
				valued = append(valued, "--"+f.Name)
				line += " -x"
				switch words, from := wordsOf(f.Value); {
				case from == ofSessions:
					line += " -a 'self (__ccpost_names)'"
				case from == ofDirectories:
					line += " -a '(__fish_complete_directories)'"
				case words != nil:
					line += " -a " + quote(strings.Join(words, " "))
				}
			}
			say("%s -d %s", line, quote(brief(f.Help)))
		}
		if words := argumentWords(app, n); words != nil {
			say("complete -c ccpost -n '__ccpost_is %s' -a %s", n.Name, quote(strings.Join(words, " ")))
		}
		if takesCommand(n) {
			// The empty word ends fish's own flags.
			say("complete -c ccpost -n 'test (count (commandline -opc)) -gt 1; and test (commandline -opc)[2] = %s' -a \"(__fish_complete_subcommand --fcs-skip=2 '' %s)\"", n.Name, strings.Join(valued, " "))
		}
	}
	say("")
	return b.String()
}
