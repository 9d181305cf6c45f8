// Command ccpost puts one message into a running Claude Code session through
// the session's own inbox socket, and says truthfully what became of it.
//
// Every way it can end has one name, one sentence and one exit code: see the
// table in package inbox, which the README repeats. It keeps no state, no
// daemon and no configuration file, and it never exits with 1 or 2.
//
// It ends before the number of CPUs changes, so nothing need watch that.
//
//go:debug updatemaxprocs=0
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"

	"ccpost/envtoken"
	"ccpost/hook"
	"ccpost/inbox"
)

func main() {
	growStack(len(os.Args))
	// An empty argument list, without even a name, is possible.
	args := os.Args[min(1, len(os.Args)):]
	os.Exit(run(context.Background(), args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// growStack makes the stack as deep as a post goes, in one step and before there
// is anything on it. Else it doubles four times, each time deeper down, and every
// time all of it is walked and copied.
//
//go:noinline
func growStack(args int) byte {
	if args >= 0 {
		return 0
	}
	var frame [16 << 10]byte // never touched: only the room for it is made
	frame[-args%len(frame)]++
	return frame[0]
}

// grammar is the command line.
type grammar struct {
	Send    sendCmd    `cmd:"" help:"Post one message into a running session."`
	Hook    hookCmd    `cmd:"" help:"Post from a Claude Code hook, whose event is on standard input."`
	Run     runCmd     `cmd:"" help:"Run a command, post how it ended, and exit with its code."`
	List    listCmd    `cmd:"" help:"List the live sessions of this user."`
	Check   checkCmd   `cmd:"" help:"Say whether a session can be reached, check by check."`
	Policy  policyCmd  `cmd:"" help:"Show or edit what sessions do with messages from other processes."`
	Rename  renameCmd  `cmd:"" help:"Rename a running session."`
	Listen  listenCmd  `cmd:"" help:"Be a stand-in inbox and print what arrives, to try hooks with."`
	Demo    demoCmd    `cmd:"" help:"Post to a stand-in session and show what went over the wire."`
	Version versionCmd `cmd:"" help:"Print the version."`
	Help    helpCmd    `cmd:"" help:"Show this help, a command's, or what the exit codes mean."`
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
	child     child

	bestEffort bool // hook: exit 0 whatever happens
}

// run is the whole program but for the process around it. It returns the exit code.
func run(ctx context.Context, args []string, stdin *os.File, stdout, stderr io.Writer, environ []string) (code int) {
	a := &app{stdin: stdin, environ: environ}
	a.getenv = func(key string) string { return lookup(environ, key) }
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.ui = ui{out: stdout, err: stderr, scrub: func(s string) string { return s }, exit: a.ended}
	isHook := len(args) > 0 && args[0] == "hook"
	a.bestEffort = isHook && asked(args, "--best-effort")
	defer func() {
		if r := recover(); r != nil {
			code = a.ui.fault(r)
		}
		if a.bestEffort {
			code = 0
		}
	}()
	if isHook {
		// Exit code 2 would block the event, and Go exits with 2 on these.
		signal.Ignore(syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGPIPE)
	}
	secrets := (&envtoken.Finder{Getenv: a.getenv}).Secrets()
	a.ui.scrub = func(s string) string {
		for _, t := range secrets {
			s = t.Scrub(s)
		}
		return s
	}
	a.ui.debug, a.ui.enabled = a.getenv("CCPOST_DEBUG") == "1", !a.off()
	if err := spare(); err != nil {
		return a.ui.fail(inbox.Fail(inbox.Internal, inbox.ReasonResource, err))
	}
	defer a.cancel(nil)
	if isHook {
		var c hookCmd
		if c.read(args[1:]) {
			return c.run(a)
		}
	} else {
		// SIGPIPE is caught, not ignored, because a child would inherit that: a
		// reader that went away must not change what the exit code says.
		defer a.watchSignals(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGPIPE)()
	}
	code = a.parse(args)
	if isHook && code != 0 && !isTerminal(stdin) {
		// Whoever writes the event is let finish also where the flags are wrong.
		ctx, cancel := context.WithTimeout(a.ctx, hookTimeout)
		defer cancel()
		hook.Drain(ctx, stdin, hook.Midway)
	}
	return code
}

// spare makes sure that a few descriptors are left. The runtime needs some for
// its first timer and its poller, and without them ends the process with 2.
func spare() error {
	for range 4 {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0) // os.Open would start the poller
		if err != nil {
			return err
		}
		defer unix.Close(fd)
	}
	return nil
}

// ended is the exit code of a command that may have been cut short: by a signal,
// 128 and its number, or by a goroutine of ours that panicked.
func (a *app) ended(code int) int {
	var s signalled
	var p panicked
	switch cause := context.Cause(a.ctx); {
	case errors.As(cause, &s):
		return 128 + int(s.Signal)
	case errors.As(cause, &p) && code == 0:
		return inbox.Internal.Exit()
	}
	return code
}

// calledOff is the failure of what was waiting when the run was ended.
func (a *app) calledOff() *inbox.Error {
	cause := context.Cause(a.ctx)
	if p := (panicked{}); errors.As(cause, &p) {
		return inbox.Fail(inbox.Internal, inbox.ReasonPanic, cause)
	}
	return inbox.Fail(inbox.Timeout, "", cause)
}

// parse lets kong read the command line, and runs the command.
func (a *app) parse(args []string) int {
	var g grammar
	// For a command line that is refused; one that is taken says it itself.
	a.ui.json = asked(args, "--json") && args[0] != "hook" && args[0] != "run"
	if asked(args, "--help=false") {
		return a.ui.fail(inbox.Fail(inbox.Usage, "", errors.New("--help takes no value")))
	}
	done := false
	k, err := g.parser(
		kong.Description("Puts one message into a running Claude Code session, and says what became of it."),
		// kong takes a write that fails for a usage error.
		kong.Writers(unfailing{a.ui.out}, unfailing{a.ui.err}),
		kong.Exit(func(int) { done = true }), // after --help
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: helpColumns}),
	)
	if err != nil {
		return a.ui.fault(err)
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case len(args) == 1 && args[0] == "--version": // as many programs have it
		args = []string{"version"}
	}
	for _, n := range k.Model.Children {
		if n.Name == args[0] {
			a.ui.command = n.Name + " "
		}
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
	case "run":
		return g.Run.run(a)
	case "list":
		return g.List.run(a)
	case "check":
		return a.ended(g.Check.run(a))
	case "policy":
		return g.Policy.run(a)
	case "rename":
		return a.ended(g.Rename.run(a))
	case "listen":
		return g.Listen.run(a)
	case "demo":
		return a.ended(g.Demo.run(a))
	case "help":
		return g.Help.run(a)
	}
	return g.Version.run(a)
}

// parser is kong's for this grammar.
func (g *grammar) parser(options ...kong.Option) (*kong.Kong, error) {
	k, err := kong.New(g, append(options,
		kong.Name("ccpost"),
		kong.Vars{"behaviours": behaviours()},
		kong.KindMapper(reflect.String, kong.MapperFunc(asGiven)),
	)...)
	if err != nil {
		return nil, err
	}
	k.Model.HelpFlag.Help = "Show this help."
	for i, n := range k.Model.Children {
		n.Detail = details[i]
	}
	return k, nil
}

// asGiven takes an argument with its very bytes. kong's own way is through JSON,
// which has no bytes that aren't UTF-8, and a path may have some.
func asGiven(ctx *kong.DecodeContext, target reflect.Value) error {
	t, err := ctx.Scan.PopValue("string")
	if err == nil {
		target.SetString(fmt.Sprint(t.Value))
	}
	return err
}

// asked looks for a flag before kong does, so that a command line that kong
// refuses is still answered in the form that was asked for.
func asked(args []string, flag string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	if len(args) > 0 && args[0] == "run" {
		// What stands behind the command is the command's own.
		if i := slices.IndexFunc(args[1:], func(s string) bool { return !strings.HasPrefix(s, "-") }); i >= 0 {
			args = args[:1+i]
		}
	}
	return slices.Contains(args, flag)
}

type unfailing struct{ io.Writer }

func (w unfailing) Write(b []byte) (int, error) {
	_, _ = w.Writer.Write(b)
	return len(b), nil
}

// signalled is why the context of a run is over: a signal asked for its end.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return "the signal " + s.Signal.String() }

// watchSignals ends the context on a signal that asks the program to end, where
// it isn't for a command that we run. Our own command then cleans up and says
// what became of the message so far.
func (a *app) watchSignals(signals ...os.Signal) (stop func()) {
	// One that was ignored when we were started, by nohup or in the background
	// of a script, stays so.
	signals = slices.DeleteFunc(signals, signal.Ignored)
	c := make(chan os.Signal, 1)
	signal.Notify(c, signals...)
	a.start(a.cancel, func() {
		for s := range c {
			if s := s.(syscall.Signal); s != syscall.SIGPIPE && !a.child.takes(s) {
				a.cancel(signalled{s})
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
		if n := len(key); len(e) > n && e[n] == '=' && e[:n] == key {
			return e[n+1:]
		}
	}
	return ""
}
