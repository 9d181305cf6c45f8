package envtoken

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
	"ccpost/precheck"
)

// sessionsDir is the registry's folder in a config dir.
const sessionsDir = "sessions"

// Record is one file of the registry that is named like a record.
type Record struct {
	*Session
	Err error // why it doesn't count as a live session; an *inbox.Error
}

// Records lists the registry, every record with its reason where it doesn't
// count: one bad record hides no good one. errs are the registries that could
// not be read or trusted, each with the outcome of who is looked for there; one
// that doesn't exist holds no sessions and is no error, but that there is none
// to look into is one. Once ctx is done it stops, with an error that says so.
func (f *Finder) Records(ctx context.Context) (records []Record, errs []*inbox.Error) {
	if err := f.noConfigDir(); err != nil {
		return nil, []*inbox.Error{inbox.Fail(inbox.NoSessionRecord, "", err)}
	}
	domain, left := ownPIDDomain(), patience
	for _, dir := range f.registries() {
		pids, err := f.pids(dir)
		if err != nil {
			errs = append(errs, unusable(err))
		}
		for _, pid := range pids {
			if ctx.Err() != nil {
				return records, append(errs, inbox.Fail(inbox.Timeout, "", fmt.Errorf("while reading %q: %w", dir, context.Cause(ctx))))
			}
			s, err := f.read(dir, pid, &left)
			switch {
			case exhausted(err):
				errs = append(errs, inbox.Fail(inbox.Internal, inbox.ReasonResource, err))
				continue
			case err != nil:
				records = append(records, Record{s, inbox.Fail(inbox.NoSessionRecord, inbox.ReasonBadRecord, err)})
				continue
			}
			records = append(records, Record{s, s.alive(domain)})
		}
	}
	return records, errs
}

// unusable is the outcome of who is looked for in a registry that can't be read or
// trusted.
func unusable(err error) *inbox.Error {
	var pe *precheck.Error
	switch {
	case !errors.As(err, &pe):
		return inbox.Fail(inbox.Internal, inbox.ReasonResource, err)
	case pe.Reason == precheck.Missing: // a file, where a directory should be
		return inbox.Fail(inbox.NoSessionRecord, "", err)
	}
	return inbox.FailPrecheck(err)
}

// registries are the config dirs whose registries are looked into, each once,
// however often and by whatever links it is named.
func (f *Finder) registries() []string {
	dirs := f.configDirs()
	if len(dirs) < 2 {
		return dirs
	}
	var out []string
	var infos []fs.FileInfo
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, sessionsDir))
		if err == nil && slices.ContainsFunc(infos, func(i fs.FileInfo) bool { return os.SameFile(i, info) }) ||
			slices.Contains(out, filepath.Clean(dir)) {
			continue
		}
		if err == nil {
			infos = append(infos, info)
		}
		out = append(out, filepath.Clean(dir))
	}
	return out
}

// pids lists the pids that have a file named like a record, in order.
func (f *Finder) pids(configDir string) ([]int, error) {
	dir, err := precheck.OpenDir(filepath.Join(configDir, sessionsDir), precheck.FileOptions{UID: f.Precheck.UID})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".json")
		// Only the canonical spelling: 007.json is no record of pid 7.
		if pid, canonical := parsePID(digits); ok && canonical {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, err
}

// Alive reports whether the session's process runs.
func (s *Session) Alive() error { return s.alive(ownPIDDomain()) }

func (s *Session) alive(domain string) error {
	err := s.running(domain)
	switch {
	case err == nil:
		return nil
	// Another user's process may not be looked at everywhere. Whatever else the
	// system answers says nothing of the process.
	case errors.As(err, new(unix.Errno)) && !errors.Is(err, fs.ErrPermission):
		return inbox.Fail(inbox.Internal, inbox.ReasonResource, err)
	}
	return inbox.Fail(inbox.NotLive, "", err)
}

// here reports whether the session's pid is of this process's own pid namespace,
// whatever the machine is called: the session's socket is on no other. A sandbox
// has a namespace of its own, in which nobody outside has a pid.
func (s *Session) here() bool {
	ns := ownPIDNamespace()
	return ns != "" && strings.HasSuffix(s.pidDomain, ":"+ns)
}

// gone reports whether no process has this id. One that isn't ours to signal is
// one.
func gone(pid int) bool {
	err := unix.Kill(pid, 0)
	return err != nil && err != unix.EPERM
}

// exhausted reports whether the system ran out of something, which says nothing
// about what was asked.
func exhausted(err error) bool {
	var pe *precheck.Error
	return errors.As(err, &pe) && pe.Reason == precheck.Resource ||
		errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// projects is where sessions keep their transcripts.
func (s *Session) projects() string { return filepath.Join(s.ConfigDir, "projects") }

// Target makes the inbox of a session that Records gave: its path vouched for,
// then its key. The path came from a record, so that it must be named <pid>.sock.
func (s *Session) Target() (inbox.Target, error) {
	o := s.finder.Precheck
	o.RecordPID = s.PID
	return s.target(o)
}

// known is a target with all but its token.
func (s *Session) known() inbox.Target {
	return inbox.Target{
		Path: s.Socket, FromKey: true, SessionID: s.ID, PID: s.PID, Name: s.Name, Version: s.Version,
		Current: s.current, Here: s.here, Projects: s.projects(), Cwd: s.Cwd,
	}
}

func (s *Session) target(o precheck.Options) (inbox.Target, error) {
	t := s.known()
	if s.Socket == "" {
		return t, inbox.Fail(inbox.NoSocketPath, "", fmt.Errorf("pid %d", s.PID))
	}
	held, err := precheck.Path(s.Socket, o)
	if err != nil {
		return t, inbox.FailPrecheck(err)
	}
	_ = held.Close()
	t.Token, err = s.token()
	switch {
	case exhausted(err):
		return t, inbox.Fail(inbox.Internal, inbox.ReasonResource, err)
	case err != nil:
		return t, inbox.Fail(inbox.NoAuthKey, "", err)
	}
	return t, nil
}

// RecordOf finds the record behind a target; ok is false where only the
// environment tells of it.
func (f *Finder) RecordOf(ctx context.Context, t inbox.Target) (s *Session, ok bool) {
	s, err := f.own().recordOf(ctx, t.Path, t.PID)
	return s, err == nil
}

// NameOf is the name that the target's record shows now.
func (f *Finder) NameOf(ctx context.Context, t inbox.Target) (name string, ok bool) {
	s, ok := f.RecordOf(ctx, t)
	if !ok {
		return "", false
	}
	return s.Name, true
}

// recordOf finds the record that names path; hint is a pid that it may have. A
// session names its socket by its pid, so that the record is nearly always where
// the path or the hint says, and the folder need not be listed. Of several that
// name one path a live one counts first. The error says why there is none: a
// record that is there and doesn't count is part of it.
func (f *Finder) recordOf(ctx context.Context, path string, hint int) (*Session, error) {
	none := func() error { return fmt.Errorf("no record in %s names %q", f.Where(), path) }
	if path == "" {
		return nil, none()
	}
	named, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".sock"))
	dirs, left := f.registries(), patience
	for _, dir := range dirs {
		err := precheck.Dir(filepath.Join(dir, sessionsDir), precheck.FileOptions{UID: f.Precheck.UID})
		for _, pid := range []int{named, hint} {
			if err != nil || pid <= 0 {
				continue
			}
			s, err := f.read(dir, pid, &left)
			switch {
			case err == nil && s.Socket == path && (len(dirs) == 1 || s.Alive() == nil):
				return s, nil
			case exhausted(err):
				return nil, err
			}
		}
	}
	records, errs := f.Records(ctx)
	if i := slices.IndexFunc(records, func(r Record) bool { return r.Socket == path && r.Err == nil }); i >= 0 {
		return records[i].Session, nil
	}
	why := none()
	for _, r := range records {
		switch {
		case r.Socket == path && outcome(r.Err) == inbox.NotLive:
			return r.Session, nil
		case (r.PID == named || r.PID == hint) && r.Err != nil:
			why = fmt.Errorf("%w; %w", why, r.Err)
		}
	}
	for _, err := range errs {
		why = fmt.Errorf("%w; %w", why, err.Err)
	}
	return nil, why
}

func outcome(err error) inbox.Name {
	var e *inbox.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Outcome
}
