// Command ccpost puts one message into a running Claude Code session through
// the session's own inbox socket, and says truthfully what became of it.
//
// Every way it can end has one name, one sentence and one exit code: see the
// table in package inbox, which the README repeats. It keeps no state, no
// daemon and no configuration file, and it never exits with 1 or 2.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"ccpost/envtoken"
	"ccpost/inbox"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// grammar is the command line.
type grammar struct {
	Send    sendCmd    `cmd:"" help:"Post one message into a running session."`
	Hook    hookCmd    `cmd:"" help:"Post from a Claude Code hook: the event's JSON is on standard input."`
	List    listCmd    `cmd:"" help:"List the live sessions of this user."`
	Check   checkCmd   `cmd:"" help:"Can it be reached? Each check and its answer; nothing is sent."`
	Rename  renameCmd  `cmd:"" help:"Rename a running session."`
	Listen  listenCmd  `cmd:"" help:"Be a stand-in inbox and print what arrives; with a command, run it in that inbox's environment."`
	Demo    demoCmd    `cmd:"" help:"Post to a stand-in session, and show both lines on the wire and the outcome."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// app is what a command works with: nothing below run touches the process's own.
type app struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	stdin     *os.File
	environ   []string
	getenv    func(string) string
	sessionID string // the caller's own, where a hook's event names it
	ui        ui
}

// run is the whole program but for the process around it. It returns the exit code.
func run(ctx context.Context, args []string, stdin *os.File, stdout, stderr io.Writer, environ []string) (code int) {
	getenv := func(key string) string { return lookup(environ, key) }
	a := &app{stdin: stdin, environ: environ, getenv: getenv}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	defer a.cancel(nil)
	a.ui = ui{out: stdout, err: stderr, scrub: (&envtoken.Finder{Getenv: getenv}).Token().Scrub, debug: getenv("CCPOST_DEBUG") == "1", enabled: !a.off()}
	isHook := len(args) > 0 && args[0] == "hook"
	if isHook && slices.Contains(args, "--best-effort") {
		defer func() { code = 0 }()
	}
	defer func() {
		if r := recover(); r != nil {
			code = a.ui.fault(r)
		}
	}()
	if isHook {
		// Exit code 2 would block the event, and Go exits with 2 on these.
		signal.Ignore(syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGPIPE)
		var c hookCmd
		if c.read(args[1:]) {
			return c.run(a)
		}
	} else {
		defer a.watchSignals()()
	}
	return a.parse(args)
}

// ended is the exit code of a command that a signal may have cut short.
func (a *app) ended(code int) int {
	var s signalled
	if errors.As(context.Cause(a.ctx), &s) {
		return 128 + int(s.Signal)
	}
	return code
}

// parse lets kong read the command line, and runs the command.
func (a *app) parse(args []string) int {
	var g grammar
	a.ui.json = wantsJSON(args)
	done := false
	k, err := kong.New(&g,
		kong.Name("ccpost"),
		kong.Description("Puts one message into a running Claude Code session, and says what became of it."),
		kong.Vars{"behaviours": behaviours()},
		kong.Writers(a.ui.out, a.ui.err),
		kong.Exit(func(int) { done = true }), // after --help
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return a.ui.fault(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := k.Parse(args)
	switch {
	case done:
		return 0
	case err != nil:
		return a.ui.fail(inbox.Fail(inbox.Usage, "", err))
	}
	for _, f := range ctx.Flags() {
		if f.Name == "timeout" && f.Set && f.Target.Int() == 0 {
			return a.ui.fail(inbox.Fail(inbox.Usage, "", errTimeout))
		}
	}
	switch name, _, _ := strings.Cut(ctx.Command(), " "); name {
	case "send":
		return a.ended(g.Send.run(a))
	case "hook":
		return g.Hook.run(a)
	case "list":
		return g.List.run(a)
	case "check":
		return a.ended(g.Check.run(a))
	case "rename":
		return a.ended(g.Rename.run(a))
	case "listen":
		return g.Listen.run(a)
	case "demo":
		return a.ended(g.Demo.run(a))
	}
	return g.Version.run(a)
}

// wantsJSON looks for --json before kong does, so that a command line that kong
// refuses is still answered in the form that was asked for.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return len(args) > 0 && args[0] != "hook" && slices.Contains(args, "--json")
}

// signalled is why the context of a run is over: a signal asked for its end.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return "the signal " + s.Signal.String() }

// watchSignals ends the context on a signal that asks the program to end. The
// command then cleans up and says what became of the message so far.
func (a *app) watchSignals() (stop func()) {
	c := make(chan os.Signal, 1)
	// SIGPIPE is caught, not ignored, because a child would inherit that: a
	// reader that went away must not change what the exit code says.
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGPIPE)
	a.start(a.cancel, func() {
		for s := range c {
			if s != syscall.SIGPIPE {
				a.cancel(signalled{s.(syscall.Signal)})
			}
		}
	})
	return func() {
		signal.Stop(c)
		close(c)
	}
}

// start is the one place that starts goroutines. One that panics would end the
// process with 2; here it ends the context, and so the run, with its message.
func (a *app) start(cancel context.CancelCauseFunc, f func()) {
	go func() {
		defer func() {
			if r := recover(); r != nil {
				cancel(panicked{r})
			}
		}()
		f()
	}()
}

// panicked is why the context of a run is over: one of its goroutines panicked.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// off reports whether CCPOST switches posting off.
func (a *app) off() bool {
	switch strings.ToLower(a.getenv("CCPOST")) {
	case "0", "off", "no", "false":
		return true
	}
	return false
}

// lookup finds a variable; of two with one name the first counts, as in getenv(3).
func lookup(environ []string, key string) string {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, key+"="); ok {
			return v
		}
	}
	return ""
}
