// Package envtoken finds an inbox: from a session's environment, or from the
// registry in which every running session writes a record and a key.
//
// It makes an inbox.Target, which says where the socket is, who must answer
// there, and with which token. The environment's token goes to the
// environment's socket, byte for byte, and to no other; every other socket
// takes the key of the record that names it, read only after package precheck
// has passed the path. Records, keys and their folder must be this user's own.
//
// It connects to nothing and writes nothing. Its errors are *inbox.Error.
package envtoken

import (
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

// Finder looks where its fields say. The zero value of all but Getenv is the
// production setting.
type Finder struct {
	Getenv     func(string) string
	ConfigDirs []string         // where registries are; none is $CLAUDE_CONFIG_DIR, else ~/.claude
	Precheck   precheck.Options // for tests
}

// Socket is the environment's inbox, "" where it names none.
func (f *Finder) Socket() string { return f.Getenv(EnvSocket) }

// Token is the environment's token, the zero Token where there is none or it is
// not well formed.
func (f *Finder) Token() redact.Token {
	t, _ := redact.Parse(f.Getenv(EnvToken))
	return t
}

// Self is the inbox of the session in whose environment the caller runs.
func (f *Finder) Self() (inbox.Target, error) {
	path := f.Socket()
	if path == "" {
		return inbox.Target{}, inbox.Fail(inbox.NoSessionRecord, "", errors.New(EnvSocket+" is not set"))
	}
	pid, err := f.pid()
	if err != nil {
		return inbox.Target{}, err
	}
	if f.Getenv(EnvToken) == "" {
		return f.own().registered(path, pid)
	}
	token, err := redact.Parse(f.Getenv(EnvToken))
	if err != nil {
		return inbox.Target{}, inbox.Fail(inbox.BadEnvironment, inbox.ReasonBadToken, fmt.Errorf("%s: %w", EnvToken, err))
	}
	t := inbox.Target{Path: path, Token: token, PID: pid}
	rec, ok := f.own().recordOf(path, pid)
	if !ok {
		return t, nil
	}
	t.Name, t.Version = rec.Name, rec.Version
	if t.PID == 0 {
		t.PID = rec.PID
	}
	t.SessionID = f.Getenv(EnvSession)
	if t.SessionID == "" {
		t.SessionID = rec.SessionID
	}
	t.Current = rec.current
	return t, nil
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

// Path is the inbox at an explicit path, with or without the prefix uds:. Where
// it is the environment's own, that is Self.
func (f *Finder) Path(path string) (inbox.Target, error) {
	path = strings.TrimPrefix(path, "uds:")
	if path != "" && path == f.Socket() {
		return f.Self()
	}
	return f.registered(path, 0)
}

// Own reports whether t is the caller's own session: the one whose inbox, id or
// process the environment names, or whose id is sessionID.
func (f *Finder) Own(t inbox.Target, sessionID string) bool {
	pid, _ := f.pid()
	return t.Path == f.Socket() ||
		t.SessionID != "" && (t.SessionID == sessionID || t.SessionID == f.Getenv(EnvSession)) ||
		t.PID != 0 && t.PID == pid
}

// OwnName is the registered name of the session in whose environment the caller
// runs, "" where it isn't known. t is a target that may be that session.
func (f *Finder) OwnName(t inbox.Target) string {
	path := f.Socket()
	switch path {
	case "":
		return ""
	case t.Path:
		return t.Name
	}
	pid, _ := f.pid()
	rec, _ := f.own().recordOf(path, pid)
	return rec.Name
}

// registered is the inbox at path with the key of the live record that names it.
func (f *Finder) registered(path string, hint int) (inbox.Target, error) {
	held, err := precheck.Path(path, f.Precheck)
	if err != nil {
		return inbox.Target{}, inbox.FailPrecheck(err)
	}
	_ = held.Close()
	rec, ok := f.recordOf(path, hint)
	if !ok {
		return inbox.Target{}, inbox.Fail(inbox.NoAuthKey, "", fmt.Errorf("no record in %s names %q", strings.Join(f.sessionsDirs(), " or "), path))
	}
	if err := rec.alive(); err != nil {
		return inbox.Target{}, inbox.Fail(inbox.NotLive, "", err)
	}
	token, err := rec.key(f.Precheck)
	if err != nil {
		return inbox.Target{}, inbox.Fail(inbox.NoAuthKey, "", err)
	}
	return inbox.Target{
		Path: path, Token: token, FromKey: true,
		SessionID: rec.SessionID, PID: rec.PID, Name: rec.Name, Version: rec.Version,
		Current: rec.current,
	}, nil
}

// sessionsDirs are the registries to look into.
func (f *Finder) sessionsDirs() []string {
	dirs := f.ConfigDirs
	if len(dirs) == 0 {
		dirs = f.ownConfigDirs()
	}
	var out []string
	for _, d := range dirs {
		out = append(out, filepath.Join(d, "sessions"))
	}
	return out
}

// ownConfigDirs is where the session in whose environment the caller runs
// keeps its record, whatever else is asked for.
func (f *Finder) ownConfigDirs() []string {
	if dir := f.Getenv(EnvConfigDir); dir != "" {
		return []string{dir}
	}
	if home := f.Getenv("HOME"); home != "" {
		return []string{filepath.Join(home, ".claude")}
	}
	return nil
}

// own is a Finder for the environment's session.
func (f *Finder) own() *Finder {
	return &Finder{f.Getenv, append(f.ownConfigDirs(), f.ConfigDirs...), f.Precheck}
}

// recordOf finds the record that names path. A session names its socket by its
// pid, so that the record is nearly always where the path or the hint says, and
// the folder need not be listed.
func (f *Finder) recordOf(path string, hint int) (*record, bool) {
	for _, dir := range f.sessionsDirs() {
		if precheck.Dir(dir, precheck.FileOptions{UID: f.Precheck.UID}) != nil {
			continue
		}
		for _, pid := range []int{pidOfSocket(path), hint} {
			if rec, err := readRecord(dir, pid, f.Precheck); pid > 0 && err == nil && rec.SocketPath == path {
				return rec, true
			}
		}
		for _, pid := range recordPIDs(dir) {
			if rec, err := readRecord(dir, pid, f.Precheck); err == nil && rec.SocketPath == path {
				return rec, true
			}
		}
	}
	return &record{}, false
}

// pidOfSocket reads the pid out of /dir/<pid>.sock, 0 where it isn't one.
func pidOfSocket(path string) int {
	pid, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".sock"))
	return pid
}
