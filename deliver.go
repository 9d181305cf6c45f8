package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ccpost/envtoken"
	"ccpost/inbox"
)

// target are the flags that say which session.
type target struct {
	To        []string `sep:"none" placeholder:"WHO" help:"Whose inbox: self, which is the default, a session's name, its id or the first 8 characters of it, its pid, the path of a socket, or dir:PATH for the sessions that work there. name:, id:, pid: and uds: settle what a word is. May be repeated."`
	ConfigDir []string `sep:"none" placeholder:"DIR" help:"Where the sessions' records are; may be repeated. Default: $CLAUDE_CONFIG_DIR, else ~/.claude."`
}

// posting are the flags of every command that posts.
type posting struct {
	target
	All       bool           `help:"Every session that matches, or every session where no --to is given; not the caller's own."`
	As        string         `placeholder:"NAME" help:"The sender that the session shows. Default: the command's name for run, else the session's own name inside a session, else ccpost."`
	Wait      *time.Duration `placeholder:"D" help:"How long to wait for a word on what became of the message; 0 is not at all, and then no word is known. Default: 250ms, for hook 100ms."`
	Timeout   time.Duration  `placeholder:"D" help:"The whole budget, at most 10m; for run from the command's end on. Default: 10s, for hook 1s."`
	Priority  string         `default:"next" enum:"next,later,now" placeholder:"P" help:"When it is read: next, later, or now, which aborts what the session is doing."`
	DryRun    bool           `help:"Check everything, connect to nothing, send nothing."`
	IfPresent bool           `help:"Skip silently, with exit code 0, where no session is there."`
	Verbose   bool           `short:"v" help:"Say more on standard error."`

	options inbox.Options `kong:"-"` // what a command asks for besides
}

const maxTimeout = 10 * time.Minute

var errTimeout = errors.New("--timeout must be more than 0 and at most 10m")

// Validate is called by kong, and by hook's own reader. Zero is the default;
// that it was asked for is seen where the flags are read.
func (p *posting) Validate() error {
	if p.Wait != nil && (*p.Wait < 0 || *p.Wait > maxTimeout) {
		return errors.New("--wait must be 0 to 10m")
	}
	if err := absolute(p.ConfigDir); err != nil {
		return err
	}
	return validTimeout(p.Timeout)
}

func validTimeout(d time.Duration) error {
	if d < 0 || d > maxTimeout {
		return errTimeout
	}
	return nil
}

// budget bounds a command that posts.
func (p *posting) budget(ctx context.Context, otherwise time.Duration) (context.Context, context.CancelFunc) {
	if p.Timeout == 0 {
		p.Timeout = otherwise
	}
	return withTimeout(ctx, p.Timeout)
}

// finder looks for inboxes as the flags say.
func (t *target) finder(a *app) *envtoken.Finder {
	return &envtoken.Finder{Getenv: a.getenv, ConfigDirs: t.ConfigDir, SessionID: a.sessionID}
}

// absolute takes directories that are named as seen from here.
func absolute(dirs []string) error {
	for i, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if dir == "" || err != nil {
			return fmt.Errorf("--config-dir is no directory: %q", dir)
		}
		dirs[i] = abs
	}
	return nil
}

// find resolves every WHO, each inbox once. What could not be resolved stands
// among the rest, so that each is reported in the order given.
func (t *target) find(ctx context.Context, f *envtoken.Finder, all bool) []envtoken.Match {
	to, find := t.To, f.Find
	if len(to) == 0 {
		to = []string{"self"}
		if all {
			find = func(ctx context.Context, _ string, _ bool) ([]envtoken.Match, error) { return f.Everyone(ctx) }
		}
	}
	var out []envtoken.Match
	seen := map[string]int{}
	for _, who := range to {
		matches, err := find(ctx, who, all)
		if err != nil {
			out = append(out, envtoken.Match{Err: err})
		}
		for _, m := range matches {
			path := m.Target.Path
			if i, ok := seen[path]; ok && path != "" {
				out[i].Self = out[i].Self || m.Self
				continue
			}
			seen[path] = len(out)
			out = append(out, m)
		}
	}
	return out
}

// ending is how one target's part ended.
type ending struct {
	target inbox.Target
	out    inbox.Outcome
	err    error
	twice  bool   // another one is to the same inbox, and says what became of it
	skip   bool   // nothing was posted, by request
	why    string // of a skip; "" is silent
	said   bool   // it was reported already

	confirmed *bool  // of a rename
	steps     []step // of a check
}

// parallel is how many targets are posted to at a time.
const parallel = 8

// deliver posts to every target, reports each, and gives the exit code of the
// first that failed. guard, where it is set, says why one must be left out.
func (p *posting) deliver(a *app, ctx context.Context, body string, raw bool, guard func(inbox.Target) (why string, skip bool)) int {
	// A bad message is refused before anything is touched, and is no matter of
	// who is there.
	if err := (inbox.Message{Body: body, From: p.As, Priority: p.Priority, Raw: raw}).Validate(); err != nil {
		return a.ui.fail(err)
	}
	f := p.finder(a)
	f.NoDial = p.DryRun
	matches := p.find(ctx, f, p.All)
	endings := make([]ending, len(matches))
	a.each(len(matches), func(i int) {
		endings[i] = p.one(a, ctx, f, matches, i, body, raw, guard)
	})
	return a.report(endings)
}

// report says how each target's part ended.
func (a *app) report(endings []ending) int {
	endings = slices.DeleteFunc(endings, func(e ending) bool { return e.twice })
	code := 0
	for _, e := range endings {
		u := a.ui
		if len(endings) > 1 {
			u.about = label(e.target)
		}
		var c int
		switch {
		case e.said && e.err != nil && !e.skip:
			c = asError(e.err).Outcome.Exit()
		case e.said:
		case e.skip:
			c = u.skip(e)
		default:
			c = u.result(e)
		}
		if code == 0 {
			code = c
		}
	}
	return code
}

// label tells one target from the others.
func label(t inbox.Target) string {
	switch {
	case t.Name != "":
		return fmt.Sprintf("%q, pid %d", t.Name, t.PID)
	case t.PID != 0:
		return fmt.Sprintf("pid %d", t.PID)
	case t.Path != "":
		return fmt.Sprintf("%q", t.Path)
	}
	return ""
}

// one posts to one of the targets that were found.
func (p *posting) one(a *app, ctx context.Context, f *envtoken.Finder, matches []envtoken.Match, i int, body string, raw bool, guard func(inbox.Target) (string, bool)) ending {
	m := matches[i]
	e := ending{target: m.Target}
	if m.Err == nil && guard != nil {
		if e.why, e.skip = guard(m.Target); e.skip {
			return e
		}
	}
	e = a.reach(ctx, f, matches, i, func(m envtoken.Match) (inbox.Outcome, error) {
		return p.post(a, ctx, f, m.Target, body, raw)
	})
	if p.IfPresent && absent(e.err) {
		e.skip = true
	}
	return e
}

// reach calls the client with one of the targets that were found. Where self
// turns out to have its inbox no more, and nothing was written, the session may
// have another one now, which may be among the targets itself.
func (a *app) reach(ctx context.Context, f *envtoken.Finder, matches []envtoken.Match, i int, call func(envtoken.Match) (inbox.Outcome, error)) ending {
	m := matches[i]
	e := ending{target: m.Target, out: noOutcome, err: m.Err}
	if m.Err == nil {
		e.out, e.err = a.settle(ctx, func() (inbox.Outcome, error) { return call(m) })
	}
	if !m.Self || !gone(e.err) {
		return e
	}
	now := f.SelfByID(ctx)
	if now.Err != nil || now.Target.Path == m.Target.Path {
		return e
	}
	e.target = now.Target
	if e.twice = slices.ContainsFunc(matches, func(o envtoken.Match) bool { return o.Target.Path == now.Target.Path }); !e.twice {
		e.out, e.err = a.settle(ctx, func() (inbox.Outcome, error) { return call(now) })
	}
	return e
}

// post posts to an inbox, or checks it where --dry-run asks for that.
func (p *posting) post(a *app, ctx context.Context, f *envtoken.Finder, t inbox.Target, body string, raw bool) (inbox.Outcome, error) {
	from := p.As
	if from == "" {
		from = f.OwnName(ctx, t)
	}
	// What a session is told it keeps in a file: no token has a place there.
	m := inbox.Message{Body: a.ui.scrub(body), From: a.ui.scrub(from), Priority: p.Priority, Raw: raw}
	o := p.options
	o.Logger = a.ui.logger()
	o.HeldIsFinal = o.HeldIsFinal && f.Own(t)
	if p.Wait != nil {
		o.Wait = *p.Wait
		if o.Wait == 0 {
			o.Wait = inbox.NoWait
		}
	}
	post := inbox.Post
	if p.DryRun {
		post = inbox.Check
	}
	return post(ctx, t, m, o)
}

// settle calls the client. Where a goroutine of ours panicked meanwhile, the
// time didn't run out: that is internal.
func (a *app) settle(ctx context.Context, call func() (inbox.Outcome, error)) (inbox.Outcome, error) {
	out, err := call()
	if p := (panicked{}); outcome(err) == inbox.Timeout && errors.As(context.Cause(ctx), &p) {
		out.Name, out.Reason = inbox.Internal, inbox.ReasonPanic
		err = inbox.Fail(out.Name, out.Reason, p)
	}
	return out, err
}

// asError is err as every failure ends: nil where there is none.
func asError(err error) *inbox.Error {
	var e *inbox.Error
	if err != nil && !errors.As(err, &e) {
		e = inbox.Fail(inbox.Internal, "", err)
	}
	return e
}

// outcome is the name of a failure, "" where there is none.
func outcome(err error) inbox.Name {
	if e := asError(err); e != nil {
		return e.Outcome
	}
	return ""
}

// gone reports whether nobody is at a socket any more. Nothing was written then.
func gone(err error) bool {
	n := outcome(err)
	return n == inbox.SocketMissing || n == inbox.SocketRefused
}

// absent reports whether --if-present makes this failure a skip.
func absent(err error) bool {
	n := outcome(err)
	return gone(err) || n == inbox.NoSessionRecord || n == inbox.NotLive || n == inbox.NoSocketPath
}

// each calls f for 0 to n-1, several at a time.
func (a *app) each(n int, f func(int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range n {
		slots <- struct{}{}
		wg.Add(1)
		a.start(a.cancel, func() {
			defer func() { <-slots; wg.Done() }()
			f(i)
		})
	}
	wg.Wait()
}
