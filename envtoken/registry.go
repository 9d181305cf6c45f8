package envtoken

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
// not be read; one that doesn't exist holds no sessions and is no error.
func (f *Finder) Records() (records []Record, errs []error) {
	domain := ownPIDDomain()
	for _, dir := range f.configDirs() {
		pids, err := f.pids(dir)
		if err != nil {
			errs = append(errs, err)
		}
		for _, pid := range pids {
			s, err := f.read(dir, pid)
			if err != nil {
				records = append(records, Record{s, inbox.Fail(inbox.NoSessionRecord, inbox.ReasonBadRecord, err)})
				continue
			}
			records = append(records, Record{s, s.alive(domain)})
		}
	}
	return records, errs
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
		if pid, err := strconv.Atoi(digits); ok && err == nil && pid > 0 && strconv.Itoa(pid) == digits {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, err
}

// Alive reports whether the session's process runs.
func (s *Session) Alive() error { return s.alive(ownPIDDomain()) }

func (s *Session) alive(domain string) error {
	if err := s.running(domain); err != nil {
		return inbox.Fail(inbox.NotLive, "", err)
	}
	return nil
}

// Target makes the inbox of a session that Records gave: its path vouched for,
// then its key. The path came from a record, so that it must be named <pid>.sock.
func (s *Session) Target() (inbox.Target, error) {
	o := s.finder.Precheck
	o.RecordPID = s.PID
	return s.target(o)
}

func (s *Session) target(o precheck.Options) (inbox.Target, error) {
	t := inbox.Target{Path: s.Socket, FromKey: true, SessionID: s.ID, PID: s.PID, Name: s.Name, Version: s.Version, Current: s.current}
	if s.Socket == "" {
		return t, inbox.Fail(inbox.NoSocketPath, "", fmt.Errorf("pid %d", s.PID))
	}
	held, err := precheck.Path(s.Socket, o)
	if err != nil {
		return t, inbox.FailPrecheck(err)
	}
	_ = held.Close()
	if t.Token, err = s.token(); err != nil {
		return t, inbox.Fail(inbox.NoAuthKey, "", err)
	}
	return t, nil
}

// RecordOf finds the record behind a target; ok is false where only the
// environment tells of it.
func (f *Finder) RecordOf(t inbox.Target) (s *Session, ok bool) {
	return f.own().recordOf(t.Path, t.PID)
}

// NameOf is the name that the target's record shows now.
func (f *Finder) NameOf(t inbox.Target) (name string, ok bool) {
	s, ok := f.RecordOf(t)
	if !ok {
		return "", false
	}
	return s.Name, true
}

// recordOf finds the record that names path; hint is a pid that it may have. A
// session names its socket by its pid, so that the record is nearly always where
// the path or the hint says, and the folder need not be listed. Of several that
// name one path a live one counts first.
func (f *Finder) recordOf(path string, hint int) (*Session, bool) {
	if path == "" {
		return nil, false
	}
	named, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".sock"))
	for _, dir := range f.configDirs() {
		if precheck.Dir(filepath.Join(dir, sessionsDir), precheck.FileOptions{UID: f.Precheck.UID}) != nil {
			continue
		}
		for _, pid := range []int{named, hint} {
			if pid <= 0 {
				continue
			}
			if s, err := f.read(dir, pid); err == nil && s.Socket == path {
				return s, true
			}
		}
	}
	records, _ := f.Records()
	// A stable sort: live ones first.
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(rank(a), rank(b)) })
	for _, r := range records {
		if r.Socket == path && validID(r.ID) {
			return r.Session, true
		}
	}
	return nil, false
}

func rank(r Record) int {
	if r.Err == nil {
		return 0
	}
	return 1
}
