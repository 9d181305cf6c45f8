package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"ccpost/envtoken"
	"ccpost/golden"
	"ccpost/hook"
	"ccpost/inbox"
)

type listenCmd struct {
	Name    string   `default:"stand-in" help:"The stand-in session's name."`
	Behave  string   `default:"accept" placeholder:"HOW" help:"How it takes messages: ${behaviours}."`
	Command []string `arg:"" optional:"" help:"What to run in that inbox's environment; the exit code is then the command's own."`
}

func (c *listenCmd) Validate() error {
	if !slices.Contains(golden.Behaviours(), golden.Behaviour(c.Behave)) {
		return fmt.Errorf("--behave is one of %s, not %q", behaviours(), c.Behave)
	}
	return nil
}

func behaviours() string {
	var names []string
	for _, b := range golden.Behaviours() {
		names = append(names, string(b))
	}
	return strings.Join(names, ", ")
}

func (c *listenCmd) run(a *app) int {
	s, end, err := standIn(golden.Config{Name: c.Name, Behaviour: golden.Behaviour(c.Behave)}, a.ui.say)
	if err != nil {
		return a.ui.fail(err)
	}
	defer end()
	if len(c.Command) > 0 {
		return a.command(c.Command, s.Environ())
	}
	a.ui.warn(fmt.Sprintf("post to it with: ccpost send --config-dir %s --to %s MESSAGE",
		hook.Quote(lookup(s.Environ(), envtoken.EnvConfigDir)), hook.Quote(s.Path())))
	<-a.ctx.Done()
	if failed := a.calledOff(); failed.Outcome == inbox.Internal {
		return a.ui.fail(failed)
	}
	return a.ended(0)
}

// command runs a command to its end with more in its environment, and gives its
// exit code as a shell does: 128 and the signal, 126 or 127 where it can't be
// started.
func (a *app) command(args, environ []string) int {
	var failed *startError
	switch err := a.startCommand(args, overlay(a.environ, environ), a.stdin, os.Stdout, os.Stderr); {
	case errors.As(err, &failed):
		a.ui.warn(err.Error())
		return failed.code
	case err != nil:
		return a.ui.fail(a.calledOff())
	}
	status, err := a.waitCommand()
	if err != nil {
		return a.ui.fail(inbox.Fail(inbox.Internal, "", err))
	}
	return exitCode(status)
}

// overlay gives environ with its variables of the same names replaced: readers
// differ in which of two equal names they take.
func overlay(environ, over []string) []string {
	out := slices.Clone(over)
	for _, e := range environ {
		key, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(over, func(o string) bool { return strings.HasPrefix(o, key+"=") }) {
			out = append(out, e)
		}
	}
	return out
}
