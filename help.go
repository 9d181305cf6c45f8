package main

import (
	"fmt"
	"strings"

	"ccpost/inbox"
)

// helpColumns is how wide help is, on a terminal of any width and off one.
const helpColumns = 80

// exitCodes is the topic of help that is no command.
const exitCodes = "exit-codes"

type helpCmd struct {
	Topic string `arg:"" optional:"" help:"A command, or exit-codes for every outcome and what it means."`
}

// details is what the help of each command says under its first line, in the
// grammar's order, with an example. kong reflows all but what is indented.
var details = [...]string{
	"For example:\n\n    make 2>&1 | tail -n 20 | ccpost send --as make --to api -",
	"It prints nothing to standard output. For example:\n\n    ccpost hook --if-present --to api --text '{tool_name}: {error}'",
	"The exit code is the command's own, 128 and its number where a signal ended it, 126 or 127 where it can't be started. " +
		"Standard output is the command's alone. --dry-run runs the command, and sends nothing. For example:\n\n    ccpost run --to api --on failure -- make test",
	"For example:\n\n    ccpost list --verbose",
	"Nothing is sent. Without --to, outside of a session, it says whether any session has an inbox. For example:\n\n    ccpost check --to api --connect",
	"The setting is the user's crossSessionInbound. For example:\n\n    ccpost policy show --dir ~/src/api",
	"For example:\n\n    ccpost rename --to api 'api (red)'",
	"For example:\n\n    ccpost listen --behave hold -- ccpost send hello",
	"For example:\n\n    ccpost demo",
	"For example:\n\n    ccpost version",
	"For example:\n\n    ccpost help exit-codes",
}

func (c *helpCmd) run(a *app) int {
	args := []string{c.Topic, "--help"}
	switch c.Topic {
	case exitCodes:
		a.ui.exitCodes()
		return 0
	case "":
		args = args[1:]
	}
	return a.parse(args)
}

// Around the table of outcomes.
const (
	beforeCodes = `Every end has one name and one exit code; 1 and 2 are never used. "resend" says
whether the same message may be sent again; never: it may have arrived already.

exit  outcome            resend       what it says`
	afterCodes = `
run, and listen with a command, exit with the command's own code: 128 and its
number where a signal ended it, 126 or 127 where it can't be started. A signal
that ends ccpost gives 128 and its number. hook --best-effort always exits with
0.`
)

// exitCodes prints the table of outcomes.
func (u ui) exitCodes() {
	const left = 4 + 2 + 17 + 2 + 11 + 1
	text := beforeCodes
	for i := range inbox.Table {
		r := &inbox.Table[i]
		text += fmt.Sprintf("\n%4d  %-17s  %-11s ", r.Exit, r.Name, r.Resend)
		at := left
		for _, word := range strings.Fields(r.Sentence) {
			if at += 1 + len(word); at > helpColumns {
				text += "\n" + strings.Repeat(" ", left)
				at = left + 1 + len(word)
			}
			text += " " + word
		}
	}
	for _, line := range strings.Split(text+"\n"+afterCodes, "\n") {
		u.say(line)
	}
}
