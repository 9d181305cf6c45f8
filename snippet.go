package main

import (
	"errors"
	"os"
	"strings"
	"unicode/utf8"

	"ccpost/hook"
	"ccpost/inbox"
)

// entry is what settings.json says of one event's hooks.
type entry struct {
	Hooks map[string][]matcher `json:"hooks"`
}

type matcher struct {
	Hooks []hookEntry `json:"hooks"`
}

// hookEntry is a hook in exec form: no shell reads its arguments.
type hookEntry struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// snippet prints the entry that runs this hook at an event. It goes to standard
// output: no session reads that.
func (c *hookCmd) snippet(a *app) int {
	event := *c.Snippet
	usage := func(reason inbox.Reason, err error) int {
		return a.ui.fail(inbox.Fail(inbox.Usage, reason, err))
	}
	if event == "" || strings.Trim(event, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return usage("", errors.New("--snippet takes the name of an event, such as Stop"))
	}
	if err := hook.CheckTemplate(c.Text); err != nil {
		return usage(inbox.Reason(hook.BadTemplate), err)
	}
	ev := hook.Event{Name: event}
	if why, never := ev.Guard(false); never {
		return usage("", errors.New(why))
	}
	args := c.args()
	if !utf8.ValidString(strings.Join(args, "")) {
		return usage("", errors.New("settings.json can't hold what is not UTF-8"))
	}
	binary, err := os.Executable()
	if err != nil {
		return a.ui.fail(err)
	}
	a.ui.indented(entry{map[string][]matcher{event: {{[]hookEntry{{"command", binary, args}}}}}})
	if !hook.Known(event) {
		a.ui.warn(event + " is no event that this version knows of")
	}
	if why, skip := ev.Guard(len(c.To) == 0 && !c.All && !c.AllowSelf); skip {
		a.ui.warn("this hook would post nothing: " + why)
	}
	return 0
}

// args is the command line that these flags are.
func (c *hookCmd) args() []string {
	args := []string{"hook"}
	value := func(flag, v string) { args = append(args, "--"+flag+"="+v) }
	for _, who := range c.To {
		value("to", who)
	}
	for _, dir := range c.ConfigDir {
		value("config-dir", dir)
	}
	if c.As != "" {
		value("as", c.As)
	}
	if c.Text != "" {
		value("text", c.Text)
	}
	if c.Wait != nil {
		value("wait", c.Wait.String())
	}
	if c.Timeout != 0 {
		value("timeout", c.Timeout.String())
	}
	if c.Priority != "next" {
		value("priority", c.Priority)
	}
	c.IfPresent = true // in a session without an inbox there is nothing to say
	_, switches := c.flagTable()
	for _, flag := range []string{"all", "if-present", "dry-run", "verbose", "allow-self", "allow-chain", "best-effort"} {
		if *switches[flag] {
			args = append(args, "--"+flag)
		}
	}
	return args
}
