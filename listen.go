package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"ccpost/envtoken"
	"ccpost/golden"
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
	s, end, err := standIn(golden.Config{Name: c.Name, Behaviour: golden.Behaviour(c.Behave), Transcript: true}, a.ui.say)
	if err != nil {
		return a.ui.fail(err)
	}
	defer end()
	if len(c.Command) > 0 {
		return a.command(c.Command, s.Environ())
	}
	a.ui.warn(fmt.Sprintf("post to it with: ccpost send --config-dir %s --to %s MESSAGE",
		quote(lookup(s.Environ(), envtoken.EnvConfigDir)), quote(s.Path())))
	<-a.ctx.Done()
	if failed := a.calledOff(); failed.Outcome == inbox.Internal {
		return a.ui.fail(failed)
	}
	return a.ended(0)
}

// quote makes one word of a path for a shell.
func quote(path string) string {
	if strings.IndexFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// command runs a command to its end with more in its environment, and gives its
// exit code as a shell does: 128 and the signal, 126 or 127 where it can't be
// started.
func (a *app) command(args, environ []string) int {
	path, err := exec.LookPath(args[0])
	if err != nil {
		a.ui.warn(err.Error())
		if errors.Is(err, fs.ErrPermission) {
			return 126
		}
		return 127
	}
	// Not os/exec's Cmd: the command takes our own descriptors, and it would
	// add 135 kB to the binary.
	p, err := os.StartProcess(path, args, &os.ProcAttr{
		Env:   overlay(a.environ, environ),
		Files: []*os.File{a.stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		a.ui.warn(err.Error())
		return 126
	}
	// TERM and HUP are passed on. What a terminal's keys send reaches the
	// command by itself.
	defer context.AfterFunc(a.ctx, func() {
		var s signalled
		if errors.As(context.Cause(a.ctx), &s) && (s.Signal == syscall.SIGTERM || s.Signal == syscall.SIGHUP) {
			_ = p.Signal(s.Signal)
		}
	})()
	state, err := p.Wait()
	if err != nil {
		return a.ui.fail(inbox.Fail(inbox.Internal, "", err))
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
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
