package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

// Help is what kong shows under the usage.
func (*runCmd) Help() string {
	return "The exit code is the command's own, 128 and its number where a signal ended it, 126 or 127 where it can't be started. Standard output is the command's alone. --dry-run runs the command, and sends nothing."
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
	ran, err := c.command(a, tail)
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
	ran.Label = a.ui.scrub(c.Label)
	for _, arg := range c.Command {
		ran.Args = append(ran.Args, a.ui.scrub(arg))
	}
	if tail != nil && ran.Err == nil {
		ran.Output = tail.Output(func(line string) string { return a.ui.scrub(inbox.Clean(line)) })
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
// its output. The error is a *startError where it could not be started.
func (c *runCmd) command(a *app, tail *hook.Tail) (ran hook.Command, err error) {
	out := []*os.File{os.Stdout, os.Stderr}
	var pipes []*passing
	for i, to := range out {
		if tail == nil {
			break
		}
		read, write, err := os.Pipe()
		if err != nil {
			return ran, inbox.Fail(inbox.Internal, inbox.ReasonResource, err)
		}
		out[i] = write
		pipes = append(pipes, &passing{from: read, to: to, tail: tail.Stream(), done: make(chan struct{})})
	}
	began := time.Now()
	err = a.startCommand(c.Command, a.environ, a.stdin, out[0], out[1])
	for i, p := range pipes {
		_ = out[i].Close()
		if err == nil {
			a.start(a.cancel, p.copy)
		}
	}
	if failed := (*startError)(nil); err != nil && !errors.As(err, &failed) {
		err = a.calledOff()
	}
	if err != nil {
		return ran, err
	}
	status, err := a.waitCommand()
	ran.Took = time.Since(began)
	for _, p := range pipes {
		_ = p.from.SetReadDeadline(time.Now().Add(drainTime))
	}
	for _, p := range pipes {
		select {
		case <-p.done:
		case <-a.ctx.Done(): // who reads our output may have stopped to
		}
	}
	if err != nil {
		return ran, inbox.Fail(inbox.Internal, "", err)
	}
	if ran.Code = status.ExitStatus(); status.Signaled() {
		ran.Signal = status.Signal()
	}
	return ran, nil
}

// passing takes what a command prints to where it would have gone.
type passing struct {
	from, to *os.File
	tail     *hook.Stream
	done     chan struct{} // closed at the end
}

// copy passes on until the end of the output or the deadline for it. Then the
// pipe is closed, so that a command that goes on gets what it would have got
// without us: SIGPIPE or EPIPE.
func (p *passing) copy() {
	defer close(p.done)
	defer p.from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := p.from.Read(buf)
		if !p.pass(buf[:n]) {
			return
		}
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				p.rest(buf)
			}
			return
		}
	}
}

// rest passes on what the pipe holds at the deadline: the command's own words
// may be among it, where those who read our output are slow.
func (p *passing) rest(buf []byte) {
	raw, err := p.from.SyscallConn()
	if err != nil || p.from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for left := pipeSize; left > 0; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf[:min(left, len(buf))])
			return true
		})
		if err != nil || n <= 0 || !p.pass(buf[:n]) {
			return
		}
		left -= n
	}
}

// pass reports whether all of b was taken.
func (p *passing) pass(b []byte) bool {
	_, _ = p.tail.Write(b)
	_, err := p.to.Write(b)
	return err == nil
}
