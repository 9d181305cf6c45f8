package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ccpost/envtoken"
	"ccpost/inbox"
)

type policyCmd struct {
	Action     string   `arg:"" optional:"" default:"show" enum:"show,accept,hold,refuse,unset" help:"Show what counts and why; or give the user's settings file the value accept, hold or refuse; unset takes it out."`
	Dir        []string `sep:"none" placeholder:"DIR" help:"The directory that a session is started in, for its project's settings. Default: the current one."`
	ConfigDir  []string `sep:"none" placeholder:"DIR" help:"Where the user's settings.json is. Default: $CLAUDE_CONFIG_DIR, else ~/.claude."`
	IfRevision []string `sep:"none" placeholder:"R" help:"Edit the file only where it is still at this revision, as show --json gives it."`
	Quiet      bool     `short:"q" help:"Say nothing about a successful edit, but for what accept opens."`
	JSON       bool     `name:"json" help:"Print one JSON object instead."`

	dir        string // the absolute one
	managedDir string // for tests
}

// opened says what accept opens. It is printed with every accept.
const opened = "accept opens every session that reads this file to every process that runs as you: its messages go in without asking, into sessions that bypass permissions too"

// noDirectory is what the system answers where no directory is, for its caller
// to mend. Whatever else it answers says nothing of the directory.
var noDirectory = []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.EPERM, syscall.ELOOP, syscall.ENAMETOOLONG}

// Validate refuses what is given twice, or empty as a variable that wasn't set.
func (c *policyCmd) Validate() error {
	for flag, values := range map[string][]string{"dir": c.Dir, "config-dir": c.ConfigDir, "if-revision": c.IfRevision} {
		if len(values) > 1 || len(values) == 1 && values[0] == "" {
			return fmt.Errorf("--%s takes one value, which is not empty", flag)
		}
	}
	return absolute(c.ConfigDir)
}

func (c *policyCmd) run(a *app) int {
	a.ui.json = c.JSON
	s, err := c.settings(a)
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno) && !slices.Contains(noDirectory, errno):
		return a.ui.fail(inbox.Fail(inbox.Internal, inbox.ReasonResource, err))
	case err != nil:
		return a.ui.fail(inbox.Fail(inbox.Usage, "", err))
	}
	if c.Action == "show" {
		c.show(a, s.Policy())
		return 0
	}
	v := envtoken.Inbound(c.Action)
	if c.Action == "unset" {
		v = envtoken.Unset
	}
	changed, err := s.Set(v, strings.Join(c.IfRevision, ""))
	if err != nil {
		return a.ui.fail(err)
	}
	switch p := s.Policy(); {
	case a.ui.json:
		c.object(a, p, &changed)
	case !c.Quiet:
		c.edited(a, s, p, v, changed)
	case v == envtoken.Accept:
		a.ui.say(opened)
	}
	return 0
}

func (c *policyCmd) settings(a *app) (envtoken.Settings, error) {
	var s envtoken.Settings
	if c.Action == "show" && c.IfRevision != nil {
		return s, errors.New("--if-revision goes with an edit")
	}
	dir, err := filepath.Abs(strings.Join(c.Dir, ""))
	if err != nil {
		return s, err
	}
	info, err := os.Stat(dir)
	var errno syscall.Errno
	if errors.As(err, &errno) && !slices.Contains(noDirectory, errno) {
		return s, err
	}
	if err != nil || !info.IsDir() {
		return s, fmt.Errorf("--dir: %q is not a directory", dir)
	}
	f := &envtoken.Finder{Getenv: a.getenv, ConfigDirs: c.ConfigDir}
	if s, err = f.Settings(dir); err != nil {
		return s, fmt.Errorf("there is no --config-dir, and %w", err)
	}
	c.dir, s.ManagedDir = dir, c.managedDir
	return s, nil
}

func (c *policyCmd) show(a *app, p envtoken.Policy) {
	if a.ui.json {
		c.object(a, p, nil)
		return
	}
	say := func(format string, args ...any) { a.ui.say(printable(fmt.Sprintf(format, args...))) }
	say("crossSessionInbound for a session started in %s; the first value counts, project and local only where stricter:", c.dir)
	for i := range p.Sources {
		src := &p.Sources[i]
		where := src.Path
		if src.Scope == envtoken.Flag {
			where = "--settings of a running session"
		}
		text := sourceText(src)
		switch {
		case src == p.By:
			text += "; decides"
		case src.Value != envtoken.Unset:
			text += "; doesn't count"
		}
		say("  %-8s %s: %s", src.Scope, where, text)
	}
	if p.By == nil {
		say("so it is not set")
	} else {
		say("so it is %s, by %s", p.Value, p.By.Path)
	}
	say("a session that prompts for permissions %s", meaning(p.Prompting()))
	say("a session that bypasses permissions %s", meaning(p.Bypassing()))
	say("not seen from here: --settings of a running session, and managed settings that a server or a device manager delivers")
}

// sourceText says what one source sets.
func sourceText(src *envtoken.Source) string {
	switch {
	case src.Scope == envtoken.Flag:
		return "can't be seen from here"
	case src.Err != nil && src.Scope == envtoken.Managed:
		return "can't be read, and may keep Claude Code from starting: " + src.Err.Error()
	case src.Err != nil:
		return "can't be read, and so counts as absent: " + src.Err.Error()
	case src.Missing:
		return "absent"
	case src.Unknown != "":
		return fmt.Sprintf("%s, which is none of accept, hold, refuse and counts as %s", src.Unknown, src.Value)
	}
	return word(src.Value)
}

// meaning says what a session does with the messages of other processes.
func meaning(v envtoken.Inbound) string {
	switch v {
	case envtoken.Accept:
		return "accepts messages without asking"
	case envtoken.Refuse:
		return "refuses messages"
	case envtoken.HoldUnlessChild:
		return "holds messages until its user approves, but for those of its own child processes"
	}
	return "holds messages until its user approves"
}

// word is a value for people and programs.
func word(v envtoken.Inbound) string {
	if v == envtoken.Unset {
		return "unset"
	}
	return string(v)
}

func (c *policyCmd) edited(a *app, s envtoken.Settings, p envtoken.Policy, v envtoken.Inbound, changed bool) {
	file := s.UserFile()
	text := fmt.Sprintf("%s has crossSessionInbound at %s already; nothing was written", file, v)
	switch {
	case changed && v == envtoken.Unset:
		text = fmt.Sprintf("%s no longer sets crossSessionInbound", file)
	case changed:
		text = fmt.Sprintf("%s has crossSessionInbound at %s now", file, v)
	case v == envtoken.Unset:
		text = fmt.Sprintf("%s doesn't set crossSessionInbound; nothing was written", file)
	}
	a.ui.say(printable(text))
	if v == envtoken.Accept {
		a.ui.say(opened)
	}
	if p.By != nil && p.By.Scope != envtoken.User {
		a.ui.say(printable(fmt.Sprintf("in %s another file decides: %s, by %s", c.dir, p.Value, p.By.Path)))
	}
}

// policyReport is the object of --json.
type policyReport struct {
	Changed   *bool              `json:"changed,omitempty"` // of an edit
	Opens     string             `json:"opens,omitempty"`   // of accept
	Revision  string             `json:"revision"`
	Dir       string             `json:"dir"`
	Effective string             `json:"effective"`
	DecidedBy string             `json:"decided_by"`
	Prompting string             `json:"prompting"`
	Bypassing envtoken.Inbound   `json:"bypassing"`
	Sources   []policySourceJSON `json:"sources"`
}

type policySourceJSON struct {
	Scope   envtoken.Scope   `json:"scope"`
	Path    string           `json:"path"`
	State   string           `json:"state"` // set, unset, absent, unreadable, unseen
	Value   envtoken.Inbound `json:"value"`
	Detail  string           `json:"detail"`
	Decides bool             `json:"decides"`
}

func (c *policyCmd) object(a *app, p envtoken.Policy, changed *bool) {
	r := policyReport{
		Changed: changed, Revision: p.Revision, Dir: c.dir, Effective: word(p.Value),
		Prompting: string(p.Prompting()), Bypassing: p.Bypassing(),
	}
	if c.Action == string(envtoken.Accept) {
		r.Opens = opened
	}
	if p.By != nil {
		r.DecidedBy = p.By.Path
	}
	for i := range p.Sources {
		src := &p.Sources[i]
		state := "unset"
		switch {
		case src.Scope == envtoken.Flag:
			state = "unseen"
		case src.Err != nil:
			state = "unreadable"
		case src.Missing:
			state = "absent"
		case src.Value != envtoken.Unset:
			state = "set"
		}
		r.Sources = append(r.Sources, policySourceJSON{src.Scope, src.Path, state, src.Value, sourceText(src), src == p.By})
	}
	a.ui.object(r)
}
