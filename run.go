package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ccpost/envtoken"
	"ccpost/hook"
	"ccpost/inbox"
)

const (
	maxTail = 1000

	// A message of less could not hold its first line; one of more could, escaped,
	// be longer than a session takes.
	minBytes, maxBytes = 256, 256 << 10

	// rawBytes is how much of the output is kept for each byte that is shown:
	// cleaned of colours it is less.
	rawBytes = 4

	// drainTime is how long the output is read after the command's end: what the
	// command left behind may hold the pipes for ever.
	drainTime = 200 * time.Millisecond

	// pipeSize is the most that a pipe can hold of an ordinary user, in bytes
	// (pipe(7)).
	pipeSize = 1 << 20

	// passSize is how much of the output is passed on at a time.
	passSize = 32 << 10
)

type runCmd struct {
	posting
	On          string   `default:"always" enum:"failure,success,always" placeholder:"WHEN" help:"Post on failure, on success, or always, which is the default."`
	Label       string   `placeholder:"TEXT" help:"What the message calls the command, in place of the command line."`
	Tail        int      `default:"20" placeholder:"N" help:"How many lines of output the message ends with, 0 to 1000. With 0 the command has our own standard output and error, and a terminal stays one. Default: 20."`
	MaxBytes    int      `default:"16384" placeholder:"N" help:"The length of the message, 256 to 262144 bytes. Default: 16384."`
	RequirePost bool     `help:"Where the command succeeded and the post did not, exit with the post's code."`
	Quiet       bool     `short:"q" help:"Say nothing about success, and give no hints; so it is without --verbose too."`
	Command     []string `arg:"" passthrough:"partial" help:"The command and its arguments."`
}

func (c *runCmd) Validate() error {
	switch {
	case c.Tail < 0 || c.Tail > maxTail:
		return fmt.Errorf("--tail must be 0 to %d", maxTail)
	case c.MaxBytes < minBytes || c.MaxBytes > maxBytes:
		return fmt.Errorf("--max-bytes must be %d to %d", minBytes, maxBytes)
	case len(c.Command) == 1 && c.Command[0] == "--":
		return errors.New("no command behind --")
	}
	return c.posting.Validate()
}

func (c *runCmd) run(a *app) (code int) {
	// kong leaves the -- that ends our flags.
	if c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if c.As == "" {
		c.As = filepath.Base(c.Command[0])
	}
	// Standard output is the command's.
	a.ui.out = a.ui.err
	a.ui.quiet, a.ui.verbose = c.Quiet || !c.Verbose && !c.DryRun, c.Verbose
	var endings []ending
	if a.off() {
		c.Tail = 0 // nobody is told, so the command may as well have our own
	} else if a.safely(func() { endings = c.look(a) }) != 0 {
		endings = []ending{{err: inbox.Fail(inbox.Internal, inbox.ReasonPanic, nil), said: true}}
	}
	var tail *hook.Tail
	if c.Tail > 0 {
		tail = hook.NewTail(c.Tail, rawBytes*c.MaxBytes)
	}
	ran, passed, err := c.command(a, tail)
	defer passed()
	var failed *startError
	switch code = ran.Code; {
	case errors.As(err, &failed):
		code = failed.code
		a.ui.warn(err.Error())
		ran.Err = failed.err
	case err != nil:
		return a.ui.fail(err)
	case ran.Signal != 0:
		code = 128 + int(ran.Signal)
	}
	if a.off() || c.On == "failure" && code == 0 || c.On == "success" && code != 0 {
		return code
	}
	posted := 0
	if fault := a.safely(func() { posted = c.tell(a, ran, tail, endings) }); fault != 0 {
		posted = fault
	}
	if code == 0 && c.RequirePost {
		return posted
	}
	return code
}

// safely calls f, and reports a fault in it with its code: none of ours keeps a
// command from running, or changes what it came to.
func (a *app) safely(f func()) (fault int) {
	defer func() {
		if r := recover(); r != nil {
			fault = a.ui.fault(r)
		}
	}()
	f()
	return 0
}

// look finds who is to be told, and says at once who can't be: the command may
// run for hours.
func (c *runCmd) look(a *app) (endings []ending) {
	ctx, cancel := c.budget(a.ctx, sendTimeout)
	defer cancel()
	f := c.finder(a)
	f.NoDial = c.DryRun
	matches := c.find(ctx, f, c.All)
	for i := range matches {
		e := a.reach(ctx, f, matches, i, func(m envtoken.Match) (inbox.Outcome, error) { return a.look(ctx, m) })
		if e.twice {
			continue
		}
		e.skip = c.IfPresent && absent(e.err)
		e.said = e.err == nil // that is told when it is posted to
		endings = append(endings, e)
	}
	if a.ctx.Err() != nil {
		return nil // which is said once
	}
	a.report(endings)
	for i, e := range endings {
		endings[i].said = e.err != nil
	}
	return endings
}

// tell posts how the command ended to those that were found when it began, and
// gives the code of the first that failed.
func (c *runCmd) tell(a *app, ran hook.Command, tail *hook.Tail, endings []ending) int {
	ctx, cancel := c.budget(a.ctx, sendTimeout)
	defer cancel()
	clean := func(s string) string { return a.ui.scrub(inbox.Clean(s)) }
	ran.Label = clean(c.Label)
	for _, arg := range c.Command {
		ran.Args = append(ran.Args, clean(arg))
	}
	if tail != nil && ran.Err == nil {
		ran.Output = tail.Output(clean)
	}
	body := ran.Text(c.MaxBytes)
	a.each(len(endings), func(i int) {
		if e := &endings[i]; !e.said {
			c.post(a, ctx, e, body)
		}
	})
	return a.report(endings)
}

// post posts to the very session that was found: where there is another one by
// now that WHO means, that one isn't told.
func (c *runCmd) post(a *app, ctx context.Context, e *ending, body string) {
	e.out, e.err = a.settle(ctx, func() (inbox.Outcome, error) {
		return c.posting.post(a, ctx, c.finder(a), e.target, body, false)
	})
	switch {
	case !absent(e.err):
	case c.IfPresent:
		e.skip = true
	default:
		if now, ok := c.successor(a, ctx, e.target); ok {
			e.err = inbox.Fail(inbox.SessionChanged, "", inbox.Changed(fmt.Sprintf("pid %d was meant, pid %d is there now", e.target.PID, now.PID)))
			e.out.Name = inbox.SessionChanged
		}
	}
}

// successor is a session that has taken the place of one that is gone: its
// name, or its id, in another process.
func (c *runCmd) successor(a *app, ctx context.Context, gone inbox.Target) (inbox.Target, bool) {
	f := c.finder(a)
	records, _ := f.Records(ctx)
	for _, r := range records {
		if r.Err == nil && r.Socket != gone.Path && (r.Name != "" && r.Name == gone.Name || r.ID == gone.SessionID) {
			return inbox.Target{PID: r.PID}, true
		}
	}
	return inbox.Target{}, false
}

// command runs the command to its end, and has tail, where it isn't nil, follow
// its output. passed waits until all of the output is where it would have gone:
// who reads it may be slow, and the command's end can be told before. The error
// is a *startError where it could not be started.
func (c *runCmd) command(a *app, tail *hook.Tail) (ran hook.Command, passed func(), err error) {
	out := []*os.File{os.Stdout, os.Stderr}
	var pipes []*passing
	await := func(ends func(*passing) chan struct{}) {
		for _, p := range pipes {
			select {
			case <-ends(p):
			case <-a.ctx.Done():
			}
		}
	}
	passed = func() { await(func(p *passing) chan struct{} { return p.passed }) }
	for i, to := range out {
		if tail == nil {
			break
		}
		read, write, err := os.Pipe()
		if err != nil {
			return ran, func() {}, inbox.Fail(inbox.Internal, inbox.ReasonResource, err)
		}
		out[i] = write
		pipes = append(pipes, newPassing(read, to, tail.Stream()))
	}
	began := time.Now()
	err = a.startCommand(c.Command, a.environ, a.stdin, out[0], out[1])
	for i, p := range pipes {
		_ = out[i].Close()
		if err == nil {
			a.start(a.cancel, p.read)
			a.start(a.cancel, func() { p.write(a) })
		}
	}
	if failed := (*startError)(nil); err != nil && !errors.As(err, &failed) {
		err = a.calledOff()
	}
	if err != nil {
		return ran, func() {}, err
	}
	status, err := a.waitCommand()
	ran.Took = time.Since(began)
	for _, p := range pipes {
		p.finish()
	}
	await(func(p *passing) chan struct{} { return p.ended })
	if err != nil {
		return ran, passed, inbox.Fail(inbox.Internal, "", err)
	}
	if ran.Code = status.ExitStatus(); status.Signaled() {
		ran.Signal = status.Signal()
	}
	return ran, passed, nil
}
