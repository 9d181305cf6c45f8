package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"ccpost/hook"
	"ccpost/inbox"
)

const (
	// hookTimeout leaves room in the 1.5 s that all SessionEnd hooks share.
	hookTimeout = time.Second

	// hookWait is enough for nearly every word on a message that an idle
	// session takes (45 to 91 ms), and a hook delays its session by it.
	hookWait = 100 * time.Millisecond
)

type hookCmd struct {
	posting
	Text       string `placeholder:"TEMPLATE" help:"The message, with fields of the event in braces: {tool_name}, {tool_input.file_path|none}, {{ for a brace."`
	AllowSelf  bool   `help:"Post also where the message goes to the session that the event is from, and could go round for ever."`
	AllowChain bool   `help:"Post also from a turn that a message from another process started, and could go back and forth for ever."`
	BestEffort bool   `help:"Exit 0 whatever happens, after the one line."`

	Snippet *string `placeholder:"EVENT" help:"Print the entry for settings.json that runs this hook, with the other flags given here, at EVENT. Nothing is read, edited or posted."`
}

// flagTable says where hook's flags go. It is a table beside kong's grammar
// because hook runs at every tool call, and building a grammar by reflection
// costs more than the whole post does. A test holds the two against each other.
func (c *hookCmd) flagTable() (values map[string]func(string) error, switches map[string]*bool) {
	set := func(dst *string) func(string) error {
		return func(s string) error { *dst = s; return nil }
	}
	add := func(dst *[]string) func(string) error {
		return func(s string) error { *dst = append(*dst, s); return nil }
	}
	return map[string]func(string) error{
			"to":   add(&c.To),
			"as":   set(&c.As),
			"text": set(&c.Text),
			"timeout": func(s string) (err error) {
				if c.Timeout, err = time.ParseDuration(s); err == nil && c.Timeout == 0 {
					err = errors.New("zero")
				}
				return err
			},
			"wait": func(s string) error {
				d, err := time.ParseDuration(s)
				c.Wait = &d
				return err
			},
			"priority": func(s string) error {
				c.Priority = s
				if s != "next" && s != "later" && s != "now" {
					return errors.New("unknown")
				}
				return nil
			},
			"config-dir": add(&c.ConfigDir),
			"snippet":    func(s string) error { c.Snippet = &s; return nil },
		}, map[string]*bool{
			"all":         &c.All,
			"dry-run":     &c.DryRun,
			"if-present":  &c.IfPresent,
			"verbose":     &c.Verbose,
			"allow-self":  &c.AllowSelf,
			"allow-chain": &c.AllowChain,
			"best-effort": &c.BestEffort,
		}
}

// read reads hook's flags. False means that kong should: for what it doesn't
// know, for what is wrong, and for --help.
func (c *hookCmd) read(args []string) bool {
	c.Priority = "next"
	values, switches := c.flagTable()
	for len(args) > 0 {
		name, ok := strings.CutPrefix(args[0], "--")
		args = args[1:]
		if !ok {
			return false
		}
		if on, ok := switches[name]; ok {
			*on = true
			continue
		}
		name, value, ok := strings.Cut(name, "=")
		if !ok {
			if len(args) == 0 || strings.HasPrefix(args[0], "-") {
				return false
			}
			value, args = args[0], args[1:]
		}
		if set := values[name]; set == nil || set(value) != nil {
			return false
		}
	}
	return c.Validate() == nil
}

func (c *hookCmd) run(a *app) (code int) {
	if c.Snippet != nil {
		return c.snippet(a)
	}
	// Standard output can become the model's context.
	a.ui.out = a.ui.err
	a.ui.quiet, a.ui.verbose = !c.DryRun, c.Verbose
	a.bestEffort = c.BestEffort
	ctx, cancel := c.budget(a.ctx, hookTimeout)
	defer cancel()
	code = a.ended(c.fire(a, ctx))
	// What became of the message is said; nothing that happens now unsays it.
	defer func() { _ = recover() }()
	hook.Drain(ctx, a.stdin, hook.AfterValue)
	return code
}

// fire posts what the event on standard input comes to.
func (c *hookCmd) fire(a *app, ctx context.Context) int {
	if a.off() {
		return a.ui.skip(ending{})
	}
	if err := hook.CheckTemplate(c.Text); err != nil {
		return a.ui.fail(inbox.Fail(inbox.Usage, inbox.Reason(hook.BadTemplate), err))
	}
	ev, err := readEvent(a, ctx)
	if err != nil {
		return a.ui.fail(err)
	}
	a.sessionID = ev.SessionID
	guard := func(own bool) (string, bool) { return ev.Guard(own && !c.AllowSelf) }
	// To itself, and nowhere else, it is guarded also where no inbox is there.
	if why, skip := guard(len(c.To) == 0 && !c.All); skip {
		return a.ui.skip(ending{why: why})
	}
	if !c.AllowChain {
		why, skip := ev.Chain(ctx, func() (*os.File, error) { return inbox.OpenTranscript(ev.TranscriptPath) })
		if skip {
			return a.ui.skip(ending{why: why})
		}
	}
	text := ev.Text()
	if c.Text != "" {
		if text, err = ev.Expand(c.Text); err != nil {
			return a.ui.fail(inbox.Fail(inbox.Usage, inbox.Reason(hook.BadTemplate), err))
		}
	}
	f := c.finder(a)
	c.options = inbox.Options{
		Wait: hookWait,
		// A SessionStart hook would wait for itself: its session lets messages in
		// once the hooks have returned.
		HeldIsFinal: ev.Name == "SessionStart",
		// Not before: it costs a fifth of a millisecond.
		OnBind: sync.OnceFunc(func() { a.watchSignals(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) }),
	}
	return c.deliver(a, ctx, text, false, func(t inbox.Target) (string, bool) { return guard(f.Own(t)) })
}

// readEvent takes the event from standard input.
func readEvent(a *app, ctx context.Context) (hook.Event, error) {
	if isTerminal(a.stdin) {
		return hook.Event{}, inbox.Fail(inbox.NoInput, "", errTerminal)
	}
	raw, err := hook.Read(ctx, a.stdin)
	var ev hook.Event
	if err == nil {
		ev, err = hook.Parse(raw)
	}
	var e *hook.Error
	switch {
	case err == nil:
		return ev, nil
	case errors.As(err, &e) && e.Reason == hook.NotJSON && errors.Is(err, context.DeadlineExceeded):
		return ev, inbox.Fail(inbox.Timeout, "", err) // the writer was slow
	case e != nil && e.Reason == hook.NoInput:
		return ev, inbox.Fail(inbox.NoInput, inbox.Reason(e.Reason), err)
	case e != nil:
		return ev, inbox.Fail(inbox.BadRequest, inbox.Reason(e.Reason), err)
	}
	return ev, inbox.Fail(inbox.Internal, "", err)
}
