// Package envtoken finds an inbox: from a session's environment, or from the
// registry in which every running session writes a record and a key.
//
// A [Finder] makes an inbox.Target, which says where the socket is, who must
// answer there, and with which token. There are three ways in: [Finder.Self] is
// the inbox of the session in whose environment the caller runs, [Finder.Find]
// that of a session known by its name, id, pid or directory, [Finder.Path] the
// one at an explicit path. Each gives a [Match], whose Err says why there is
// nothing to post to.
//
// The environment's token goes to the environment's socket, byte for byte, and
// to no other; every other socket takes the key of the record that names it,
// read only after package precheck has passed the path. Records, keys and their
// folder must be this user's own.
//
// [Finder.Settings] is about what happens behind the socket: [Settings.Policy]
// says what a session lets in, and which file decides.
//
// The package sends nothing. It connects only where several live records bear one
// session id, to see which of them answers, and [Settings.Set] alone writes. Its
// errors are *inbox.Error.
package envtoken

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"ccpost/inbox"
	"ccpost/precheck"
	"ccpost/redact"
)

// The variables that a session gives to its hooks and commands (PROTOCOL.md,
// Where the inbox is). The first two can be unset in a session's first minutes.
const (
	EnvSocket    = "CLAUDE_CODE_MESSAGING_SOCKET"
	EnvToken     = "CLAUDE_CODE_MESSAGING_TOKEN"
	EnvSession   = "CLAUDE_CODE_SESSION_ID"
	EnvPID       = "CLAUDE_PID"
	EnvConfigDir = "CLAUDE_CONFIG_DIR"
)

// Finder looks where its fields say. Getenv must be set, to os.Getenv as a rule;
// the zero value of all others is the production setting.
type Finder struct {
	Getenv     func(string) string
	ConfigDirs []string         // where registries are; none is $CLAUDE_CONFIG_DIR, else ~/.claude
	SessionID  string           // the caller's own session, for when the environment doesn't name it
	NoDial     bool             // connect to nothing, not even to tell which of two records answers
	Precheck   precheck.Options // for tests
}

// Socket is the environment's inbox, "" where it names none.
func (f *Finder) Socket() string { return f.Getenv(EnvSocket) }

// Secrets are what must not be printed of the environment: its token, and what
// stands in the place of the socket or the pid and is no path and no number, for
// the variables may have been mixed up.
func (f *Finder) Secrets() []redact.Token {
	values := []string{f.Getenv(EnvToken)}
	if s := f.Socket(); !strings.HasPrefix(s, "/") {
		values = append(values, s)
	}
	if s := f.Getenv(EnvPID); strings.Trim(s, "0123456789") != "" {
		values = append(values, s)
	}
	var secrets []redact.Token
	for _, v := range values {
		if t, err := redact.Parse(v); err == nil {
			secrets = append(secrets, t)
		}
	}
	return secrets
}

// Self is the inbox of the session in whose environment the caller runs.
func (f *Finder) Self(ctx context.Context) Match {
	m := f.self(ctx)
	m.Self = true
	return m
}

func (f *Finder) self(ctx context.Context) Match {
	path := f.Socket()
	if path == "" {
		return f.SelfByID(ctx)
	}
	pid, err := f.pid()
	if err != nil {
		return Match{Target: inbox.Target{Path: path}, Err: err}
	}
	m := f.ownInbox(ctx, path, pid)
	if s := m.Session; m.Err == nil && s != nil && pid != 0 && pid != s.PID && s.Alive() == nil {
		m.Err = inbox.Fail(inbox.ForeignSocket, inbox.ReasonPeerPID, fmt.Errorf("%s is %d, and the socket is that of pid %d", EnvPID, pid, s.PID))
		m.Target.Token = redact.Token{}
	}
	return m
}

// ownInbox is the environment's inbox, with its token where it has one.
func (f *Finder) ownInbox(ctx context.Context, path string, pid int) Match {
	if f.Getenv(EnvToken) == "" {
		return f.own().registered(ctx, path, pid)
	}
	var err error
	m := Match{Target: inbox.Target{Path: path, PID: pid}}
	t := &m.Target
	t.Token, err = redact.Parse(f.Getenv(EnvToken))
	if err != nil {
		m.Err = inbox.Fail(inbox.BadEnvironment, inbox.ReasonBadToken, fmt.Errorf("%s: %w", EnvToken, err))
		return m
	}
	s, err := f.own().recordOf(ctx, path, pid)
	if err != nil {
		m.Err = unread(ctx, err)
		return m
	}
	m.Session = s
	t.Name, t.Version, t.Current, t.Here = s.Name, s.Version, s.current, s.here
	t.Projects, t.Cwd = s.projects(), s.Cwd
	if t.PID == 0 {
		t.PID = s.PID
	}
	// The environment's id is held against the record's: after /clear they differ.
	if t.SessionID = f.Getenv(EnvSession); t.SessionID == "" {
		t.SessionID = s.ID
	}
	return m
}

// SelfByID is the caller's own session by its id, wherever its inbox is now:
// for when the environment names no socket, or one that is gone.
func (f *Finder) SelfByID(ctx context.Context) Match {
	id := f.Getenv(EnvSession)
	if id == "" {
		id = f.SessionID
	}
	if id == "" {
		return Match{Err: inbox.Fail(inbox.NoSessionRecord, "", errors.New(EnvSocket+" is not set"))}
	}
	m, err := f.own().match(ctx, "id:"+id, false, byID(id))
	if err != nil {
		return Match{Err: err}
	}
	return m[0]
}

// pid is the environment's CLAUDE_PID, 0 where it isn't set.
func (f *Finder) pid() (int, error) {
	s := f.Getenv(EnvPID)
	if s == "" {
		return 0, nil
	}
	pid, err := strconv.Atoi(s)
	if err != nil || pid < 0 {
		return 0, inbox.Fail(inbox.BadEnvironment, inbox.ReasonBadPID, fmt.Errorf("%s is %q, not a process id", EnvPID, s))
	}
	return pid, nil
}

// Path is the inbox at an explicit path. Where it is the environment's own, that
// is Self; any other takes the key of the record that names it.
func (f *Finder) Path(ctx context.Context, path string) Match {
	if path != "" && path == f.Socket() {
		return f.self(ctx)
	}
	return f.registered(ctx, path, 0)
}

// registered is the inbox at path with the key of the live record that names it.
func (f *Finder) registered(ctx context.Context, path string, hint int) Match {
	m := Match{Target: inbox.Target{Path: path}}
	// What the caller named is judged before anybody is asked about it.
	held, err := precheck.Path(path, f.Precheck)
	if err != nil {
		m.Err = inbox.FailPrecheck(err)
		return m
	}
	_ = held.Close()
	s, err := f.recordOf(ctx, path, hint)
	if err != nil {
		if m.Err = unread(ctx, err); m.Err == nil {
			m.Err = inbox.Fail(inbox.NoAuthKey, inbox.ReasonNoRecord, err)
		}
		return m
	}
	if err := s.Alive(); err != nil {
		return Match{Target: s.known(), Session: s, Err: err}
	}
	// An explicit path may have any name.
	t, err := s.target(f.Precheck)
	return Match{Target: t, Session: s, Err: err}
}

// unread is what kept a record from being looked for, nil where there is none.
func unread(ctx context.Context, err error) error {
	switch {
	case exhausted(err):
		return inbox.Fail(inbox.Internal, inbox.ReasonResource, err)
	case ctx.Err() != nil:
		return inbox.Fail(inbox.Timeout, "", err)
	}
	return nil
}

// Own reports whether t is the caller's own session: the one whose inbox, id or
// process the environment names, or whose id is SessionID.
func (f *Finder) Own(t inbox.Target) bool {
	pid, _ := f.pid()
	return t.Path != "" && t.Path == f.Socket() ||
		t.SessionID != "" && (t.SessionID == f.SessionID || t.SessionID == f.Getenv(EnvSession)) ||
		t.PID != 0 && t.PID == pid
}

// OwnName is the registered name of the session in whose environment the caller
// runs, "" where it isn't known. t is a target that may be that session.
func (f *Finder) OwnName(ctx context.Context, t inbox.Target) string {
	if f.Own(t) {
		return t.Name
	}
	pid, _ := f.pid()
	if s, err := f.own().recordOf(ctx, f.Socket(), pid); err == nil {
		return s.Name
	}
	return ""
}

// configDirs are those whose registries are looked into.
func (f *Finder) configDirs() []string {
	if len(f.ConfigDirs) > 0 {
		return f.ConfigDirs
	}
	return f.ownConfigDirs()
}

// ownConfigDirs is where the session in whose environment the caller runs
// keeps its record, whatever else is asked for.
func (f *Finder) ownConfigDirs() []string {
	// A relative one would take the records of whatever folder this is.
	if dir := f.Getenv(EnvConfigDir); dir != "" && filepath.IsAbs(dir) {
		return []string{dir}
	}
	if home := f.Getenv("HOME"); f.Getenv(EnvConfigDir) == "" && filepath.IsAbs(home) {
		return []string{filepath.Join(home, ".claude")}
	}
	return nil
}

// noConfigDir says why there is no config dir to look into; nil where there is one.
func (f *Finder) noConfigDir() error {
	switch dir, home := f.Getenv(EnvConfigDir), f.Getenv("HOME"); {
	case len(f.configDirs()) > 0:
		return nil
	case dir != "":
		return fmt.Errorf("%s is %q, which is no absolute path", EnvConfigDir, dir)
	case home != "":
		return fmt.Errorf("%s is not set, and HOME is %q, which is no absolute path", EnvConfigDir, home)
	}
	return fmt.Errorf("neither %s nor HOME is set", EnvConfigDir)
}

// own is a Finder for the environment's session.
func (f *Finder) own() *Finder {
	own := *f
	own.ConfigDirs = append(f.ownConfigDirs(), f.ConfigDirs...)
	return &own
}
