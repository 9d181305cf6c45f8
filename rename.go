package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"ccpost/envtoken"
	"ccpost/inbox"
)

// confirmTime is how long the record may take to show the new name. An
// interactive session's does within 50 ms; one without a terminal ignores it.
const confirmTime = 500 * time.Millisecond

type renameCmd struct {
	target
	All       bool          `help:"Every session that matches; not the caller's own."`
	Timeout   time.Duration `default:"10s" placeholder:"D" help:"The whole budget, at most 10m. Default: 10s."`
	IfPresent bool          `help:"Skip silently, with exit code 0, where no session is there."`
	Verbose   bool          `short:"v" help:"Say more on standard error."`
	Quiet     bool          `short:"q" help:"Say nothing about success, and give no hints."`
	JSON      bool          `name:"json" help:"Print one JSON object instead."`
	Name      string        `arg:"" help:"The new name: at most 120 characters; white space is folded."`
}

func (c *renameCmd) Validate() error {
	return errors.Join(absolute(c.ConfigDir), validTimeout(c.Timeout))
}

func (c *renameCmd) run(a *app) int {
	a.ui.quiet, a.ui.verbose, a.ui.json = c.Quiet, c.Verbose, c.JSON
	if a.off() {
		return a.ui.fail(inbox.Fail(inbox.ChannelOff, "", nil))
	}
	// As with a message: whether a name is one is no matter of who is there.
	if err := inbox.CheckName(c.Name); err != nil {
		return a.ui.fail(err)
	}
	ctx, cancel := context.WithTimeout(a.ctx, c.Timeout)
	defer cancel()
	var endings []ending
	f := c.finder(a)
	matches := c.find(ctx, f, c.All)
	for i := range matches {
		endings = append(endings, c.one(a, ctx, f, matches, i))
	}
	return a.report(endings)
}

func (c *renameCmd) one(a *app, ctx context.Context, f *envtoken.Finder, matches []envtoken.Match, i int) ending {
	e := a.reach(ctx, f, matches, i, func(m envtoken.Match) (inbox.Outcome, error) {
		return inbox.Rename(ctx, m.Target, c.Name, inbox.Options{Logger: a.ui.logger()})
	})
	if e.err == nil && !e.twice {
		confirmed := c.confirm(ctx, f, e.target)
		e.confirmed = &confirmed
	}
	e.skip = c.IfPresent && absent(e.err)
	return e
}

// confirm waits for the record to show the name.
func (c *renameCmd) confirm(ctx context.Context, f *envtoken.Finder, t inbox.Target) bool {
	want := strings.Join(strings.Fields(c.Name), " ")
	ctx, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if name, ok := f.NameOf(ctx, t); ok && name == want {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}
