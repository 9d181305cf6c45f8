package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ccpost/envtoken"
	"ccpost/inbox"
	"ccpost/precheck"
)

type checkCmd struct {
	target
	All     bool          `help:"Every session that matches, or every session where no --to is given; not the caller's own."`
	Connect bool          `help:"Also connect, and see which process answers. Nothing is written."`
	Timeout time.Duration `default:"10s" placeholder:"D" help:"The whole budget, at most 10m. Default: 10s."`
	Quiet   bool          `short:"q" help:"Say nothing about success, and give no hints."`
	JSON    bool          `name:"json" help:"Print one JSON object instead."`
}

func (c *checkCmd) Validate() error {
	return errors.Join(absolute(c.ConfigDir), validTimeout(c.Timeout))
}

// step is one check and its answer.
type step struct {
	Check  string `json:"check"`
	Answer string `json:"answer"` // ok, no, or "" where it wasn't reached
	Detail string `json:"detail"`
}

// The checks, in their order.
const (
	stepRecord = iota
	stepLive
	stepDirectories
	stepSocket
	stepKey
	stepSandbox
	stepConnection
)

var stepNames = []string{"record", "live", "directories", "socket", "key", "sandbox", "connection"}

// failedStep says at which check an outcome arises.
func failedStep(m envtoken.Match, e *inbox.Error) int {
	var pe *precheck.Error
	switch {
	case m.Target.Path == "" && m.Session == nil:
		return stepRecord // nobody was found
	case m.Err != nil && (e.Outcome == inbox.Timeout || e.Outcome == inbox.Internal || e.Reason == inbox.ReasonPeerPID):
		return stepRecord // nothing was connected to yet
	case e.Outcome == inbox.SocketMissing && errors.As(e, &pe) && pe.Path != m.Target.Path:
		return stepDirectories
	}
	switch e.Outcome {
	case inbox.NoSessionRecord, inbox.AmbiguousTarget, inbox.SessionChanged, inbox.Usage:
		return stepRecord
	case inbox.NotLive:
		return stepLive
	case inbox.NoAuthKey:
		return stepKey
	case inbox.SocketRefused, inbox.Timeout, inbox.Internal:
		return stepConnection
	}
	switch e.Reason {
	case inbox.ReasonDirOwner, inbox.ReasonDirMode, inbox.ReasonDirSymlink, inbox.ReasonStat:
		return stepDirectories
	case inbox.ReasonBadToken, inbox.ReasonBadPID:
		return stepKey
	case inbox.ReasonSandbox:
		return stepSandbox
	case inbox.ReasonPeerUID, inbox.ReasonPeerPID, inbox.ReasonNotStream:
		return stepConnection
	}
	return stepSocket
}

func (c *checkCmd) run(a *app) int {
	a.ui.quiet, a.ui.json = c.Quiet, c.JSON
	ctx, cancel := context.WithTimeout(a.ctx, c.Timeout)
	defer cancel()
	if len(c.To) == 0 && !c.All && a.getenv(envtoken.EnvSocket) == "" && a.getenv(envtoken.EnvSession) == "" {
		return c.channel(a, ctx)
	}
	var endings []ending
	f := c.finder(a)
	f.NoDial = !c.Connect
	matches := c.find(ctx, f, c.All)
	for i := range matches {
		endings = append(endings, c.one(a, ctx, f, matches, i))
	}
	return a.report(endings)
}

// one takes the way of a post to just before its first byte.
func (c *checkCmd) one(a *app, ctx context.Context, f *envtoken.Finder, matches []envtoken.Match, i int) ending {
	m := matches[i] // who was called last
	e := a.reach(ctx, f, matches, i, func(called envtoken.Match) (inbox.Outcome, error) {
		m = called
		if c.Connect {
			return inbox.Probe(ctx, m.Target, inbox.Options{Logger: a.ui.logger()})
		}
		return a.look(ctx, m)
	})
	e.steps = c.steps(a, m, asError(e.err))
	if a.off() {
		e.err = inbox.Fail(inbox.ChannelOff, "", nil) // as a send would say
	}
	return e
}

// look checks a target without connecting to it.
func (a *app) look(ctx context.Context, m envtoken.Match) (inbox.Outcome, error) {
	if m.Session != nil {
		// Nobody answers at a socket that a dead session has left. Not asked of
		// a session that is: only the connection tells.
		if err := m.Session.Alive(); err != nil {
			return noOutcome, err
		}
	}
	return inbox.Check(ctx, m.Target, inbox.Message{Body: "check"}, inbox.Options{Logger: a.ui.logger()})
}

// steps says what each check found: what was looked at before the one that failed
// is well, and behind it nothing is known.
func (c *checkCmd) steps(a *app, m envtoken.Match, failed *inbox.Error) []step {
	t, s := m.Target, m.Session
	found, unknown := make([]string, len(stepNames)), make([]string, len(stepNames))
	switch {
	case s != nil:
		found[stepRecord] = a.tilde(s.File())
		found[stepLive] = fmt.Sprintf("pid %d", s.PID)
	case m.Err == nil:
		unknown[stepRecord] = "none: only the environment names this inbox"
		unknown[stepLive] = "not known without a record"
	default:
		unknown[stepRecord], unknown[stepLive] = "not known", "not known"
	}
	last := len(stepNames)
	if failed != nil {
		last = failedStep(m, failed)
		switch {
		case failed.Outcome == inbox.BadEnvironment, failed.Outcome == inbox.Unsupported, failed.Outcome == inbox.NoSocketPath, failed.Reason == inbox.ReasonRecordPath:
			// What a path or a variable says is judged before anything is looked at.
			unknown[stepDirectories], unknown[stepSocket] = "not looked at", "not looked at"
		}
	}
	found[stepSocket] = t.Path
	found[stepKey] = "from the environment"
	if t.FromKey {
		found[stepKey] = "from the key file beside the record"
	}
	found[stepSandbox] = "sockets may be made"
	var steps []step
	for i, name := range stepNames {
		st := step{name, "ok", found[i]}
		switch {
		case i < last && unknown[i] != "":
			st.Answer, st.Detail = "", unknown[i]
		case i == stepConnection && !c.Connect && i != last:
			st.Answer, st.Detail = "", "not tried without --connect"
		case i < last:
		case i == last:
			st.Answer, st.Detail = "no", string(failed.Outcome)
			if failed.Err != nil {
				st.Detail = failed.Err.Error()
			}
		default:
			st.Answer, st.Detail = "", "not reached"
		}
		steps = append(steps, st)
		if i == stepKey {
			steps = append(steps, c.policy(a, s), version(t))
		}
	}
	return steps
}

// policy says what the session's settings let in. It is no check: a session
// that holds or refuses can be reached.
func (c *checkCmd) policy(a *app, s *envtoken.Session) step {
	if s == nil {
		return step{"policy", "", "not known without a record"}
	}
	p := envtoken.Settings{ConfigDir: s.ConfigDir, Dir: s.Cwd, Home: a.getenv("HOME")}.Policy()
	by := "no settings file sets crossSessionInbound"
	if p.By != nil {
		by = a.tilde(p.By.Path)
	}
	for i := range p.Sources {
		if src := &p.Sources[i]; src.Err != nil {
			by += "; " + a.tilde(src.Path) + " " + sourceText(src)
		}
	}
	return step{"policy", "ok", fmt.Sprintf("%s when it prompts, %s when it bypasses permissions (%s)", p.Prompting(), p.Bypassing(), by)}
}

func version(t inbox.Target) step {
	if t.Version == "" {
		return step{"version", "", "not known"}
	}
	return step{"version", "ok", t.Version}
}

// channel says whether this machine has any session that can be reached, and
// which one it found.
func (c *checkCmd) channel(a *app, ctx context.Context) int {
	f := c.finder(a)
	records, errs := f.Records(ctx)
	err := error(f.Nowhere(inbox.NoSocketPath, "no record names a socket that would be dialled,", errs))
	var target inbox.Target
	for _, r := range records {
		if r.Err != nil {
			continue
		}
		t, e := r.Target()
		if e != nil {
			continue
		}
		if target, err = t, nil; c.Connect {
			_, err = inbox.Probe(ctx, t, inbox.Options{Logger: a.ui.logger()})
		}
		if err == nil {
			break
		}
	}
	if a.off() {
		err = inbox.Fail(inbox.ChannelOff, "", nil)
	}
	out := noOutcome
	out.Name = inbox.Reachable
	return a.report([]ending{{target: target, out: out, err: err, why: label(target), steps: []step{}}})
}
