// Command ccpost-doctor says whether ccpost still works with a given Claude Code.
//
//	ccpost-doctor --claude PATH [--ccpost PATH]
//
// It starts scratch sessions of that executable in an empty HOME, against a
// stand-in Messages API on loopback: no account, no model, and none of the
// user's sessions or settings are touched. See package drift for what is tried.
// It prints `pass` and the version, or every difference from what was captured,
// the first one first. A new field is a note and no failure.
//
// It ends within 5 minutes, mostly in less than one, with one of these codes:
//
//	0    pass
//	64   the command line is not right
//	69   no session with an inbox came up: not Claude Code, or none that ccpost can post to
//	70   it could not be tried here
//	76   something is missing or changed
//	128+n  the signal n ended it
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ccpost/scripts/drift"
	"ccpost/scripts/scratch"
)

// limit is a bound on everything: each step has its own.
const limit = 5 * time.Minute

const (
	exitUsage     = 64
	exitNoSession = 69
	exitInternal  = 70
	exitDrift     = 76
)

func main() {
	os.Exit(run(os.Args[min(1, len(os.Args)):], os.Stdout, os.Stderr))
}

// run is the whole program but for the process around it. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) (code int) {
	fail := func(code int, format string, args ...any) int {
		fmt.Fprintln(stderr, "ccpost-doctor: "+scratch.Redact(fmt.Sprintf(format, args...)))
		return code
	}
	defer func() {
		if r := recover(); r != nil { // a crash would exit with 2
			code = fail(exitInternal, "panic: %v", r)
		}
	}()
	flags := flag.NewFlagSet("ccpost-doctor", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	claude := flags.String("claude", "", "")
	ccpost := flags.String("ccpost", "", "")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected %q", flags.Arg(0))
	}
	if err == nil && *claude == "" {
		err = errors.New("missing --claude PATH")
	}
	if err != nil {
		return fail(exitUsage, "%v\n%s", err, strings.TrimSpace(usage))
	}
	var o drift.Options
	if o.Claude, err = program(*claude); err != nil {
		return fail(exitUsage, "--claude: %v", err)
	}
	if *ccpost == "" {
		*ccpost = beside()
	}
	if *ccpost != "" {
		if o.Ccpost, err = program(*ccpost); err != nil {
			return fail(exitUsage, "--ccpost: %v", err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("it takes more than %v", limit))
	defer cancel()
	ctx, stop := signalled(ctx)
	defer stop()

	report, err := drift.Run(ctx, o)
	for _, d := range report.Differences {
		if !d.New() {
			fmt.Fprintln(stderr, "ccpost-doctor: "+scratch.Redact(d.String()))
		}
	}
	var s ended
	switch {
	case errors.As(context.Cause(ctx), &s):
		return fail(128+int(s.Signal), "%v", s)
	case errors.Is(err, drift.ErrNoSession):
		return fail(exitNoSession, "%v", err)
	case errors.Is(err, drift.ErrSetup):
		return fail(exitInternal, "%v", err)
	case err != nil:
		return fail(exitDrift, "%v", err)
	}
	for _, d := range report.Differences {
		if d.New() {
			fmt.Fprintln(stdout, "note: "+scratch.Redact(d.String()))
		}
	}
	if report.Drift() {
		return fail(exitDrift, "Claude Code %s differs from what ccpost was made for", report.Version)
	}
	if o.Ccpost == "" {
		fmt.Fprintln(stdout, "note: no ccpost beside this program, and no --ccpost: a hook that posts was not tried")
	}
	fmt.Fprintf(stdout, "pass: Claude Code %s: %s\n", report.Version, strings.Join(report.Shown, ", "))
	return 0
}

const usage = `usage: ccpost-doctor --claude PATH [--ccpost PATH]

Runs that Claude Code in an empty HOME without a model, and says whether ccpost
still works with it.

  --claude PATH   the executable of Claude Code
  --ccpost PATH   the ccpost whose hook is tried (default: the one beside this program)
`

// program is the absolute path of an executable, which may be named as for a shell.
func program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// beside is the ccpost in this program's directory, "" where there is none.
func beside() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(self), "ccpost")
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	return path
}

// ended is why the context is over: a signal asked for it.
type ended struct{ syscall.Signal }

func (e ended) Error() string { return "ended by the signal " + e.Signal.String() }

// signalled ends the context on a signal, so that what was started is taken
// away. Go would exit with 2 on some of them.
func signalled(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
	go func() {
		for s := range c {
			cancel(ended{s.(syscall.Signal)})
		}
	}()
	return ctx, func() {
		signal.Stop(c)
		close(c)
		cancel(nil)
	}
}
