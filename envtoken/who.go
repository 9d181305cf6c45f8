package envtoken

import (
	"context"
	"fmt"
	"os"
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
	Target  inbox.Target // as far as it is known, where Err is set
	Session *Session     // its record; nil where only the environment or a path tells of it
	Err     error        // an *inbox.Error
	Self    bool         // it was asked for as self: where its inbox is gone, SelfByID may know another
}

// Ambiguous is the cause of an ambiguous-target: the sessions that match.
type Ambiguous struct{ Sessions []*Session }

// Error lists the sessions in one line: name, pid, short id, directory.
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
// is. More than one match is an error, with [*Ambiguous] as its cause, unless all
// is set or a directory was asked for; both leave out the caller's own session.
// A session that is known and can't be posted to is a Match with its Err.
//
// It connects only where several live records bear one session id: each that
// passes the checks is asked for an answer, and sent nothing.
func (f *Finder) Find(ctx context.Context, who string, all bool) ([]Match, error) {
	kind, value := split(who)
	switch {
	case who == "self":
		return []Match{f.Self(ctx)}, nil
	case kind == "uds":
		return []Match{f.Path(ctx, value)}, nil
	case kind == "dir":
		inside, err := f.inside(value)
		if err != nil {
			return nil, err
		}
		return f.match(ctx, who, true, reading{is: inside})
	case value == "":
		return nil, inbox.Fail(inbox.Usage, "", fmt.Errorf("nothing stands behind %q", kind+":"))
	case kind == "name":
		return f.match(ctx, who, all, byName(value))
	case kind == "id":
		return f.match(ctx, who, all, byID(value), byPrefix(value))
	case kind == "pid":
		if _, ok := parsePID(value); !ok {
			return nil, inbox.Fail(inbox.Usage, "", fmt.Errorf("%q is not a process id", value))
		}
		return f.match(ctx, who, all, byPID(value))
	}
	m, err := f.match(ctx, who, all, byName(who), byID(who), byPrefix(who), byPID(who))
	if err != nil && outcome(err) == inbox.NoSessionRecord && (strings.Contains(who, "/") || strings.HasSuffix(who, ".sock")) {
		return []Match{f.Path(ctx, who)}, nil // a path that isn't absolute, which says so
	}
	return m, err
}

// Everyone is every live session but the caller's own.
func (f *Finder) Everyone(ctx context.Context) ([]Match, error) {
	return f.match(ctx, "", true, reading{is: func(*Session) bool { return true }})
}

// reading is one thing that WHO can mean. current is what says later that a
// session is still the one that was meant, where its id alone doesn't.
type reading struct {
	is      func(*Session) bool
	current func(*Session) (string, error)
}

func byName(name string) reading {
	return reading{func(s *Session) bool { return s.Name == name }, (*Session).named}
}

func byID(id string) reading { return reading{is: func(s *Session) bool { return s.ID == id }} }

func byPrefix(id string) reading {
	return reading{is: func(s *Session) bool { return len(id) >= minPrefix && strings.HasPrefix(s.ID, id) }}
}

func byPID(word string) reading {
	pid, ok := parsePID(word)
	return reading{is: func(s *Session) bool { return ok && s.PID == pid }}
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

// parsePID takes a pid as the system prints it.
func parsePID(s string) (int, bool) {
	pid, err := strconv.Atoi(s)
	return pid, err == nil && pid > 0 && strconv.Itoa(pid) == s
}

// inside matches the sessions that work in a directory or below it, links
// resolved on both sides.
func (f *Finder) inside(path string) (func(*Session) bool, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		home := f.Getenv("HOME")
		if !filepath.IsAbs(home) {
			return nil, inbox.Fail(inbox.Usage, "", fmt.Errorf("dir:%s: HOME is not set to an absolute path", shown(path)))
		}
		path = home + path[1:]
	}
	dir, err := os.Getwd()
	if filepath.IsAbs(path) {
		dir, err = path, nil
	} else {
		dir += "/" + path
	}
	if err == nil {
		// Not cleaned before: behind a link, .. is another directory.
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil || path == "" {
		return nil, inbox.Fail(inbox.Usage, "", fmt.Errorf("dir:%s is no directory", shown(path)))
	}
	return func(s *Session) bool {
		if !filepath.IsAbs(s.Cwd) {
			return false
		}
		cwd := resolved(s.Cwd)
		return cwd == dir || strings.HasPrefix(cwd, strings.TrimSuffix(dir, "/")+"/")
	}, nil
}

// resolved follows the links in an absolute path, as far as there is something:
// a session's directory may be gone.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	at := "/"
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		next, err := filepath.EvalSymlinks(at + "/" + name)
		if err != nil {
			return filepath.Join(at, name, path)
		}
		at = next
	}
	return at
}

// match finds the sessions that WHO means: those that fit the first reading that
// a live session fits. Where none does, a dead one that fits says that it is dead.
func (f *Finder) match(ctx context.Context, who string, all bool, readings ...reading) ([]Match, error) {
	records, errs := f.Records(ctx)
	for _, err := range errs {
		if err.Outcome == inbox.Internal || err.Outcome == inbox.Timeout {
			return nil, err // who was not read can't be left out
		}
	}
	var live []*Session
	var current func(*Session) (string, error)
	var dead *Record
	for _, reading := range readings {
		for i, r := range records {
			switch {
			case !reading.is(r.Session):
			case r.Err == nil:
				live = append(live, r.Session)
			case dead == nil:
				dead = &records[i]
			}
		}
		if len(live) > 0 {
			current = reading.current
			break
		}
	}
	own := false
	if all {
		n := len(live)
		live = slices.DeleteFunc(live, f.isOwn)
		own = len(live) < n
	}
	live = f.oneEach(ctx, live)
	switch {
	case len(live) > 1 && !all:
		return nil, inbox.Fail(inbox.AmbiguousTarget, "", &Ambiguous{live})
	case len(live) == 0 && dead != nil && !all:
		return []Match{{Target: dead.known(), Session: dead.Session, Err: dead.Err}}, nil
	case len(live) == 0:
		err := f.Nowhere(inbox.NoSessionRecord, noneIs(who, own, records), errs)
		if !own && err.Outcome == inbox.NoSessionRecord {
			err.Near = near(who, records)
		}
		return nil, err
	}
	var found []Match
	for _, s := range live {
		t, err := s.Target()
		if current != nil {
			t.Current = func() (string, error) { return current(s) }
		}
		found = append(found, Match{Target: t, Session: s, Err: err})
	}
	return found, nil
}

// noneIs says that nobody is who was asked for: own, nobody but the caller.
func noneIs(who string, own bool, records []Record) string {
	id := strings.TrimPrefix(who, "id:")
	short := 0 < len(id) && len(id) < minPrefix && slices.ContainsFunc(records, func(r Record) bool { return strings.HasPrefix(r.ID, id) })
	switch {
	case own:
		return "nobody matches but the caller's own session (which is left out),"
	case who == "":
		return "no live session"
	case short:
		return fmt.Sprintf("no live session is %q (the beginning of an id takes %d or more characters),", who, minPrefix)
	}
	return fmt.Sprintf("no live session is %q,", who)
}

// Nowhere is the error of a search that found nothing: what wasn't found, where,
// and, by errs as Records gives them, what could not be looked into. Where there
// is such a registry, the first one's outcome stands in the place of the one
// given, since the session may be in there.
func (f *Finder) Nowhere(outcome inbox.Name, what string, errs []*inbox.Error) *inbox.Error {
	var reason inbox.Reason
	why := fmt.Errorf("%s in %s", what, f.Where())
	for _, e := range errs {
		why = fmt.Errorf("%w; %w", why, e.Err)
		if reason == "" && e.Outcome != inbox.NoSessionRecord {
			outcome, reason = e.Outcome, e.Reason
		}
	}
	return inbox.Fail(outcome, reason, why)
}

// Where names the registries that are looked into, for an error of who finds
// nothing there.
func (f *Finder) Where() string {
	var dirs []string
	for _, d := range f.configDirs() {
		dirs = append(dirs, shown(filepath.Join(d, sessionsDir)))
	}
	if len(dirs) == 0 {
		return "any registry"
	}
	return strings.Join(dirs, " or ")
}

// shown is a path as it can stand in a line: quoted where it would break that.
func shown(path string) string {
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

// oneEach settles the case of several live records for one session id: the one
// that answers counts. Where more than one does, or none, they all stay.
func (f *Finder) oneEach(ctx context.Context, live []*Session) []*Session {
	var out []*Session
	for i, s := range live {
		if f.NoDial {
			return live
		}
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
