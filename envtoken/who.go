package envtoken

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ccpost/inbox"
)

// minPrefix is how much of a session id must be given, in characters.
const minPrefix = 8

// Match is one inbox that WHO means, or why it can't be posted to.
type Match struct {
	Target inbox.Target
	Err    error // an *inbox.Error
}

// Ambiguous is the cause of an ambiguous-target: the sessions that match.
type Ambiguous struct{ Sessions []*Session }

func (a *Ambiguous) Error() string {
	var list []string
	for _, s := range a.Sessions {
		list = append(list, fmt.Sprintf("%q pid %d id %s in %q", s.Name, s.PID, s.ShortID(), s.Cwd))
	}
	return strings.Join(list, ", ")
}

// ShortID is as much of the session id as tells it from others.
func (s *Session) ShortID() string { return s.ID[:min(len(s.ID), minPrefix)] }

// Find resolves WHO: self, a session's name, its id or 8 or more characters of
// it, its pid, the absolute path of a socket, or dir:PATH for the sessions that
// work inside a directory; name:, id:, pid: and uds: before it settle what it
// is. More than one match is an error, unless all is set or a directory was
// asked for; both leave out the caller's own session. "" with all is every
// session.
//
// It connects only where several live records bear one session id: each that
// passes the checks is asked for an answer, and sent nothing.
func (f *Finder) Find(ctx context.Context, who string, all bool) ([]Match, error) {
	switch kind, value := split(who); {
	case who == "" && all:
		return f.match(ctx, who, nil, true, func(*Session) bool { return true })
	case who == "self":
		return one(f.Self(ctx))
	case kind == "uds":
		return one(f.Path(ctx, value))
	case kind == "dir":
		inside, err := f.inside(value)
		if err != nil {
			return nil, err
		}
		return f.match(ctx, who, nil, true, inside)
	case kind == "name":
		return f.match(ctx, who, (*Session).named, all, func(s *Session) bool { return s.Name == value })
	case kind == "id":
		return f.match(ctx, who, nil, all, func(s *Session) bool { return hasID(s, value) })
	case kind == "pid":
		pid, err := strconv.Atoi(value)
		if err != nil || pid <= 0 {
			return nil, inbox.Fail(inbox.Usage, "", fmt.Errorf("%q is not a process id", value))
		}
		return f.match(ctx, who, nil, all, func(s *Session) bool { return s.PID == pid })
	}
	return f.word(ctx, who, all)
}

// word is a WHO that doesn't say what it is: an exact name wins, then an id,
// then a pid. What is left may be a path that isn't absolute.
func (f *Finder) word(ctx context.Context, word string, all bool) ([]Match, error) {
	m, err := f.match(ctx, word, (*Session).named, all, func(s *Session) bool { return s.Name == word })
	if !nobody(err) {
		return m, err
	}
	m, idErr := f.match(ctx, word, nil, all, func(s *Session) bool { return hasID(s, word) })
	if !nobody(idErr) {
		return m, idErr
	}
	if pid, atoi := strconv.Atoi(word); atoi == nil {
		return f.match(ctx, word, nil, all, func(s *Session) bool { return s.PID == pid })
	}
	if strings.Contains(word, "/") || strings.HasSuffix(word, ".sock") {
		return one(f.Path(ctx, word))
	}
	return nil, err
}

// split takes the prefix off WHO that says what it is.
func split(who string) (kind, value string) {
	kind, value, ok := strings.Cut(who, ":")
	if ok && slices.Contains([]string{"uds", "dir", "name", "id", "pid"}, kind) {
		return kind, value
	}
	// A path is never taken for a name, so that no session can pass for one.
	if who == "" || strings.ContainsRune(`/@\`, rune(who[0])) || strings.Contains(who, "\x00") {
		return "uds", who
	}
	return "", who
}

func hasID(s *Session, id string) bool {
	return s.ID == id || len(id) >= minPrefix && strings.HasPrefix(s.ID, id)
}

func one(t inbox.Target, err error) ([]Match, error) {
	return []Match{{t, err}}, nil
}

// nobody reports whether err says that no record matches at all.
func nobody(err error) bool {
	var e *inbox.Error
	return errors.As(err, &e) && e.Outcome == inbox.NoSessionRecord
}

// inside matches the sessions that work in a directory or below it, links
// resolved on both sides.
func (f *Finder) inside(path string) (func(*Session) bool, error) {
	if home := f.Getenv("HOME"); path == "~" || strings.HasPrefix(path, "~/") {
		path = home + path[1:]
	}
	dir, err := filepath.Abs(path)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil || path == "" {
		return nil, inbox.Fail(inbox.Usage, "", fmt.Errorf("dir:%s is no directory", path))
	}
	return func(s *Session) bool {
		if !filepath.IsAbs(s.Cwd) {
			return false
		}
		cwd, err := filepath.EvalSymlinks(s.Cwd)
		if err != nil {
			cwd = filepath.Clean(s.Cwd) // it may be gone since
		}
		return cwd == dir || strings.HasPrefix(cwd, strings.TrimSuffix(dir, "/")+"/")
	}, nil
}

// match finds the live sessions that match. current is what says later that a
// session is still the one that was meant, where its id alone doesn't.
func (f *Finder) match(ctx context.Context, who string, current func(*Session) (string, error), all bool, matches func(*Session) bool) ([]Match, error) {
	records, errs := f.Records()
	var live []*Session
	var dead []error
	for _, r := range records {
		switch {
		case r.Err == nil && matches(r.Session):
			live = append(live, r.Session)
		case r.Err != nil && matches(r.Session):
			dead = append(dead, r.Err)
		}
	}
	if all {
		live = slices.DeleteFunc(live, f.isOwn)
	}
	live = f.oneEach(ctx, live)
	switch {
	case len(live) > 1 && !all:
		return nil, inbox.Fail(inbox.AmbiguousTarget, "", &Ambiguous{live})
	case len(live) == 0 && len(dead) > 0 && !all:
		return nil, dead[0]
	case len(live) == 0:
		return nil, inbox.Fail(inbox.NoSessionRecord, "", f.nowhere(who, errs))
	}
	var found []Match
	for _, s := range live {
		t, err := s.Target()
		if current != nil {
			t.Current = func() (string, error) { return current(s) }
		}
		found = append(found, Match{t, err})
	}
	return found, nil
}

// nowhere says where nobody was found, and what could not be looked into.
func (f *Finder) nowhere(who string, errs []error) error {
	err := fmt.Errorf("no live session is %q, in %s", who, f.Where())
	if who == "" {
		err = fmt.Errorf("no live session in %s", f.Where())
	}
	for _, e := range errs {
		err = fmt.Errorf("%w; %w", err, e)
	}
	return err
}

// Where names the registries that are looked into.
func (f *Finder) Where() string {
	var dirs []string
	for _, d := range f.configDirs() {
		dirs = append(dirs, filepath.Join(d, sessionsDir))
	}
	if len(dirs) == 0 {
		return "any registry: HOME is not set"
	}
	return strings.Join(dirs, " or ")
}

// oneEach settles the case of several live records for one session id: the one
// that answers counts. Where more than one does, or none, they all stay.
func (f *Finder) oneEach(ctx context.Context, live []*Session) []*Session {
	var out []*Session
	for i, s := range live {
		same := slices.DeleteFunc(slices.Clone(live), func(o *Session) bool { return o.ID != s.ID })
		if len(same) == 1 {
			out = append(out, s)
			continue
		}
		if slices.ContainsFunc(live[:i], func(o *Session) bool { return o.ID == s.ID }) {
			continue // settled with the first of them
		}
		var answer []*Session
		for _, o := range same {
			t, err := o.Target()
			if err == nil {
				_, err = inbox.Probe(ctx, t, inbox.Options{Stat: f.Precheck.Stat, UID: f.Precheck.UID})
			}
			if err == nil {
				answer = append(answer, o)
			}
		}
		if len(answer) == 0 {
			answer = same
		}
		out = append(out, answer...)
	}
	return out
}

// isOwn reports whether s is the session in whose environment the caller runs.
func (f *Finder) isOwn(s *Session) bool {
	return f.Own(inbox.Target{Path: s.Socket, SessionID: s.ID, PID: s.PID})
}
