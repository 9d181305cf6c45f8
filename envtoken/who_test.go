package envtoken

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ccpost/golden"
	"ccpost/inbox"
)

// town is a world with several sessions, under a name each.
type town struct {
	world
	pids map[string]int
	ls   map[string]*listener
}

func (w town) add(as string, change fields) {
	w.t.Helper()
	w.pids[as], w.ls[as] = w.session(change)
}

func newTown(t testing.TB) town { return town{newWorld(t), map[string]int{}, map[string]*listener{}} }

// who gives the sessions that WHO means, or the outcome.
func (w town) who(f *Finder, who string, all bool) string {
	find := f.Find
	if who == "" && all {
		find = func(ctx context.Context, _ string, _ bool) ([]Match, error) { return f.Everyone(ctx) }
	}
	matches, err := find(w.t.Context(), who, all)
	var e *inbox.Error
	if errors.As(err, &e) {
		return string(e.Outcome)
	}
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, m := range matches {
		if errors.As(m.Err, &e) {
			names = append(names, string(e.Outcome))
			continue
		}
		for name, pid := range w.pids {
			if pid == m.Target.PID && m.Target.Path == w.socket(pid) && !m.Target.Token.IsZero() {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// untouched holds every socket to having seen no connection.
func (w town) untouched() {
	w.t.Helper()
	for name, l := range w.ls {
		if n := l.connections(w.t); n > 0 {
			w.t.Errorf("%s was connected to %d times", name, n)
		}
	}
}

const (
	idA = "aaaaaaaa-1111-4000-8000-000000000000"
	idB = "aaaaaaaa-2222-4000-8000-000000000000"
	idC = "cccccccc-3333-4000-8000-000000000000"
)

func TestFind(t *testing.T) {
	w := newTown(t)
	w.add("a", fields{"name": "build", "sessionId": idA})
	w.add("b", fields{"name": "twin", "sessionId": idB})
	w.add("c", fields{"name": "twin", "sessionId": idC})
	w.add("short", fields{"name": "s", "sessionId": "shortid"})
	w.add("exact", fields{"name": "e", "sessionId": "exactly8"})
	w.add("longer", fields{"name": "l", "sessionId": "exactly8-and-more"})
	// Names that look like something else.
	w.add("like id", fields{"name": idC, "sessionId": "x1"})
	w.add("like prefix", fields{"name": "cccccccc", "sessionId": "x2"})
	w.add("like pid", fields{"name": strconv.Itoa(w.pids["a"]), "sessionId": "x3"})
	w.add("like self", fields{"name": "self", "sessionId": "x4"})
	w.add("like a prefix word", fields{"name": "name:x", "sessionId": "x5"})
	w.add("like a path", fields{"name": "/etc/passwd", "sessionId": "x6"})
	w.add("like a socket", fields{"name": "b.sock", "sessionId": "x7"})
	w.add("like a dir", fields{"name": "dir:/", "sessionId": "x8"})
	w.add("branch", fields{"name": "feature/x", "sessionId": "x9"})
	w.add("colon", fields{"name": "fix: it", "sessionId": "x10"})
	w.add("nameless", fields{"name": nil, "sessionId": "x11"})
	// An id that is a number, as another's pid.
	w.add("id like pid", fields{"name": "n", "sessionId": strconv.Itoa(w.pids["b"])})
	dead := fields{"procStart": "1", "pidDomain": "linux:0:pid:[1]"}
	w.add("dead", fields{"name": "dead", "sessionId": "deadbeef-1", "procStart": dead["procStart"], "pidDomain": dead["pidDomain"]})
	w.add("dead twin", fields{"name": "build", "sessionId": "deadbeef-2", "procStart": dead["procStart"], "pidDomain": dead["pidDomain"]})
	w.add("bare", fields{"name": "bare", "sessionId": "x12", "messagingSocketPath": nil})

	pid := func(name string) string { return strconv.Itoa(w.pids[name]) }
	names := map[string]string{
		"spaces": "two words  and three ", "comma": "a,b", "newline": "a\nb", "wide": "日本語の会話", "emoji": "👩‍👩‍👧 x", "quote": `"q" 'r' <b>`,
		"500": strings.Repeat("n", 500), "control": "a\x1b[31mb", "dash": "--all", "glob": "*", "zero": "0", "minus": "-5",
	}
	n := 20
	for as, name := range names {
		n++
		w.add(as, fields{"name": name, "sessionId": fmt.Sprint("x", n)})
	}
	for _, c := range []struct{ who, want string }{
		{"build", "a"}, {"name:build", "a"}, {"Build", "no-session-record"}, {"buil", "no-session-record"}, {" build", "no-session-record"},
		{idA, "a"}, {"id:" + idA, "a"}, {"name:" + idA, "no-session-record"},
		{"aaaaaaaa-1", "a"}, {"aaaaaaaa", "ambiguous-target"}, {"id:aaaaaaaa", "ambiguous-target"}, {"aaaaaaa", "no-session-record"}, {"id:aaaaaaa", "no-session-record"},
		{"id:aaaaaaaa-2", "b"}, {strings.ToUpper(idA), "no-session-record"}, {idA + "x", "no-session-record"},
		{"shortid", "short"}, {"id:shortid", "short"}, {"shorti", "no-session-record"},
		{"exactly8", "exact"}, {"id:exactly8", "exact"}, {"exactly8-", "longer"},
		{"twin", "ambiguous-target"}, {"name:twin", "ambiguous-target"},
		{pid("c"), "c"}, {"pid:" + pid("c"), "c"}, {"id:" + pid("c"), "no-session-record"}, {"name:" + pid("c"), "no-session-record"},

		{idC, "like id"}, {"name:" + idC, "like id"}, {"id:" + idC, "c"},
		{"cccccccc", "like prefix"}, {"id:cccccccc", "c"},
		{pid("a"), "like pid"}, {"name:" + pid("a"), "like pid"}, {"pid:" + pid("a"), "a"},
		{pid("b"), "id like pid"}, {"id:" + pid("b"), "id like pid"}, {"pid:" + pid("b"), "b"},
		{"name:self", "like self"}, {"self", "no-session-record"},
		{"name:name:x", "like a prefix word"}, {"name:x", "no-session-record"},
		{"name:/etc/passwd", "like a path"}, {"/etc/passwd", "not-a-socket foreign-socket"}, {"uds:/etc/passwd", "not-a-socket foreign-socket"},
		{"b.sock", "like a socket"}, {"name:b.sock", "like a socket"}, {"c.sock", "bad-environment"}, {"./build", "bad-environment"},
		{"name:dir:/", "like a dir"}, {"feature/x", "branch"}, {"fix: it", "colon"}, {"name:fix: it", "colon"},

		{"dead", "not-live"}, {"deadbeef-1", "not-live"}, {"pid:" + pid("dead"), "not-live"}, {pid("dead"), "not-live"},
		{"bare", "no-socket-path"}, {"pid:" + pid("bare"), "no-socket-path"},
		{"nobody", "no-session-record"}, {"pid:4194305", "no-session-record"},
		{"pid:0", "usage"}, {"pid:-1", "usage"}, {"pid:x", "usage"}, {"pid:", "usage"}, {"pid:1.5", "usage"}, {"pid:99999999999999999999", "usage"},
		{"uds:" + w.socket(w.pids["a"]), "a"}, {w.socket(w.pids["a"]), "a"}, {"uds:" + w.socket(w.pids["dead"]), "not-live"},
		{"uds:" + w.socket(1), "socket-missing"}, {"uds:", "bad-environment"}, {"", "bad-environment"}, {"@abstract", "bad-environment"}, {`\\.\pipe\x`, "unsupported"},
		{"a\x00b", "bad-environment"}, {w.socket(w.pids["a"]) + "/", "bad-environment"},

		// An empty value is a variable that wasn't set, not the session without a name.
		{"name:", "no-session-record usage bad-environment"}, {"id:", "no-session-record usage bad-environment"}, {"dir:", "usage"},
		// Only one spelling of a pid is one.
		{"pid:+" + pid("c"), "usage"}, {"pid:0" + pid("c"), "usage"}, {"0" + pid("c"), "no-session-record"}, {"+" + pid("c"), "no-session-record"},
	} {
		got := w.who(w.finder(), c.who, false)
		want := []string{c.want}
		if strings.Contains(c.want, "-") || strings.Contains(c.want, "usage") {
			want = strings.Split(c.want, " ") // any of these
		}
		if !slices.Contains(want, got) {
			t.Errorf("%q is %q, want %q", c.who, got, c.want)
		}
	}
	for as, name := range names {
		if got := w.who(w.finder(), "name:"+name, false); got != as {
			t.Errorf("name:%q is %q, want %q", name, got, as)
		}
		if got := w.who(w.finder(), name, false); got != as {
			t.Errorf("%q is %q, want %q", name, got, as)
		}
	}
	w.untouched()
}

// TestAmbiguous says which sessions it could be.
func TestAmbiguous(t *testing.T) {
	w := newTown(t)
	w.add("b", fields{"name": "twin", "sessionId": idB, "cwd": "/home/dev/a, b"})
	w.add("c", fields{"name": "twin", "sessionId": idC, "cwd": "/home/dev/\n"})
	w.add("d", fields{"name": "other"})
	_, err := w.finder().Find(t.Context(), "twin", false)
	wantError(t, err, inbox.AmbiguousTarget, "",
		fmt.Sprintf(`"twin" pid %d id aaaaaaaa in "/home/dev/a, b"`, w.pids["b"]), fmt.Sprintf(`"twin" pid %d id cccccccc in "/home/dev/\n"`, w.pids["c"]))
	var many *Ambiguous
	if !errors.As(err, &many) || len(many.Sessions) != 2 {
		t.Errorf("%v", err)
	}
	if strings.Contains(err.Error(), "other") {
		t.Errorf("it names one that doesn't match: %v", err)
	}
	w.untouched()
}

func TestFindDir(t *testing.T) {
	w := newTown(t)
	for _, dir := range []string{"a/b/c", "a/bc", "a/b c", "home/p", "gone", "far/x"} {
		w.mkdir(filepath.Join(w.root, dir))
	}
	at := func(dir string) string { return filepath.Join(w.root, dir) }
	w.check(os.Symlink(at("a"), at("link")))
	w.check(os.Symlink(at("far/x"), at("a/b/away")))
	w.add("deleted", fields{"cwd": at("a/b/away/d/e"), "sessionId": "del"})
	w.add("far", fields{"cwd": at("far"), "sessionId": "far"})
	w.add("b", fields{"cwd": at("a/b"), "sessionId": "b"})
	w.add("c", fields{"cwd": at("a/b/c"), "sessionId": "c"})
	w.add("bc", fields{"cwd": at("a/bc"), "sessionId": "bc"})
	w.add("space", fields{"cwd": at("a/b c"), "sessionId": "s"})
	w.add("by link", fields{"cwd": at("link/b"), "sessionId": "l"})
	w.add("slash", fields{"cwd": at("home/p") + "/", "sessionId": "h"})
	w.add("gone", fields{"cwd": at("gone/x/../y"), "sessionId": "g"})
	w.add("nowhere", fields{"cwd": nil, "sessionId": "n"})
	w.add("relative", fields{"cwd": "a/b", "sessionId": "r"})
	w.add("dead", fields{"cwd": at("a/b"), "sessionId": "d", "procStart": "1", "pidDomain": "linux:0:pid:[1]"})
	w.check(os.Remove(at("gone")))
	w.mkdir(at("gone"))
	t.Chdir(at("a/b"))
	f := w.finder("HOME=" + at("home"))
	for _, c := range []struct{ who, want string }{
		{"dir:" + at("a/b"), "b by link c"},
		{"dir:" + at("a/b") + "/", "b by link c"},
		{"dir:" + at("a/b") + "/.", "b by link c"},
		{"dir:" + at("a/b/c/.."), "b by link c"},
		{"dir:" + at("link/b"), "b by link c"},
		{"dir:" + at("link/b/"), "b by link c"},
		{"dir:" + at("link"), "b bc by link c space"},
		{"dir:" + at("a"), "b bc by link c space"},
		{"dir:" + at("a/bc"), "bc"},
		{"dir:" + at("a/b c"), "space"},
		{"dir:" + at("a/b/c"), "c"},
		{"dir:.", "b by link c"},
		{"dir:./", "b by link c"},
		{"dir:..", "b bc by link c space"},
		{"dir:c", "c"},
		{"dir:~", "slash"},
		{"dir:~/", "slash"},
		{"dir:~/p", "slash"},
		{"dir:" + at("gone"), "gone"},
		{"dir:" + w.root, "b bc by link c deleted far gone slash space"},
		{"dir:/", "b bc by link c deleted far gone slash space"},
		// Behind a link .. is another directory; and of a directory that is gone
		// what is above it may be behind one.
		{"dir:" + at("a/b/away") + "/..", "deleted far"},
		{"dir:away/..", "deleted far"},
		{"dir:away/../../a/bc", "bc"},
		{"dir:" + at("far/x"), "deleted"},
		{"dir:" + at("home/p/none"), "usage"},
		{"dir:~nobody", "usage"},
		{"dir:" + w.sockets, "no-session-record"},
		{"dir:", "usage"},
		{"dir:a\x00b", "usage"},
	} {
		for _, all := range []bool{false, true} {
			if got := w.who(f, c.who, all); got != c.want {
				t.Errorf("%q is %q, want %q", c.who, got, c.want)
			}
		}
	}
	for _, who := range []string{"dir:~", "dir:~/", "dir:~/tmp", "dir:~/c"} {
		for _, f := range []*Finder{w.finder(), w.finder("HOME="), w.finder("HOME=."), w.finder("HOME=..")} {
			if got := w.who(f, who, false); got != "usage" {
				t.Errorf("%s with HOME=%q is %q", who, f.Getenv("HOME"), got)
			}
		}
	}
	// The current one is a link's.
	t.Chdir(at("a/b/away"))
	t.Setenv("PWD", at("a/b/away"))
	for who, want := range map[string]string{"dir:.": "deleted", "dir:..": "deleted far"} {
		if got := w.who(f, who, false); got != want {
			t.Errorf("%q is %q, want %q", who, got, want)
		}
	}
	w.untouched()
}

func TestFindAll(t *testing.T) {
	w := newTown(t)
	w.add("own", fields{"name": "twin", "sessionId": idA})
	w.add("b", fields{"name": "twin", "sessionId": idB})
	w.add("c", fields{"name": "c", "sessionId": idC})
	w.add("bare", fields{"name": "twin", "sessionId": "bare", "messagingSocketPath": nil})
	w.add("dead", fields{"name": "twin", "sessionId": "dead", "procStart": "1", "pidDomain": "linux:0:pid:[1]"})
	own := w.pids["own"]
	inside := map[string]*Finder{
		"by socket": w.finder("CLAUDE_CODE_MESSAGING_SOCKET=" + w.socket(own)),
		"by id":     w.finder("CLAUDE_CODE_SESSION_ID=" + idA),
		"by pid":    w.finder("CLAUDE_PID=" + strconv.Itoa(own)),
		"by event":  {Getenv: getenv(), ConfigDirs: []string{w.config}, SessionID: idA},
	}
	for _, c := range []struct{ who, outside, inside string }{
		{"", "b c no-socket-path own", "b c no-socket-path"},
		{"twin", "b no-socket-path own", "b no-socket-path"},
		{"name:twin", "b no-socket-path own", "b no-socket-path"},
		{"aaaaaaaa", "b own", "b"},
		{"dir:" + w.root, "b c no-socket-path own", "b c no-socket-path"},
		{"c", "c", "c"},
		{"pid:" + strconv.Itoa(own), "own", "no-session-record"},
		{"nobody", "no-session-record", "no-session-record"},
	} {
		if got := w.who(w.finder(), c.who, true); got != c.outside {
			t.Errorf("outside %q is %q, want %q", c.who, got, c.outside)
		}
		for how, f := range inside {
			if got := w.who(f, c.who, true); got != c.inside {
				t.Errorf("inside %s %q is %q, want %q", how, c.who, got, c.inside)
			}
		}
	}
	// Without all it may be named; in a directory it is left out all the same.
	for how, f := range inside {
		if got := w.who(f, "id:"+idA, false); got != "own" {
			t.Errorf("inside %s: %q", how, got)
		}
		if got := w.who(f, "dir:"+w.root, false); got != "b c no-socket-path" {
			t.Errorf("inside %s: %q", how, got)
		}
	}
	w.untouched()
}

// TestPlanted: what a record may not name never gets a connect, whatever leads
// to it, and neither where two records bear one id and would be asked.
func TestPlanted(t *testing.T) {
	for _, c := range []struct {
		name string
		// plant puts a listening socket somewhere and gives its path, as pid's record names it.
		plant  func(w world, pid int) (string, *listener)
		want   inbox.Name
		reason inbox.Reason
	}{
		{"another name", func(w world, pid int) (string, *listener) {
			path := filepath.Join(w.sockets, "x.sock")
			return path, listen(w.t, path)
		}, inbox.ForeignSocket, inbox.ReasonRecordPath},
		{"another pid's name", func(w world, pid int) (string, *listener) {
			path := w.socket(pid + 1)
			return path, listen(w.t, path)
		}, inbox.ForeignSocket, inbox.ReasonRecordPath},
		{"the name with a zero", func(w world, pid int) (string, *listener) {
			path := filepath.Join(w.sockets, fmt.Sprintf("0%d.sock", pid))
			return path, listen(w.t, path)
		}, inbox.ForeignSocket, inbox.ReasonRecordPath},
		{"a writable directory", func(w world, pid int) (string, *listener) {
			dir := filepath.Join(w.root, "w")
			w.mkdir(dir)
			w.check(os.Chmod(dir, 0o777))
			path := filepath.Join(dir, fmt.Sprintf("%d.sock", pid))
			return path, listen(w.t, path)
		}, inbox.ForeignSocket, inbox.ReasonDirMode},
		{"a directory like /tmp", func(w world, pid int) (string, *listener) {
			dir := filepath.Join(w.root, "w")
			w.mkdir(dir)
			w.check(os.Chmod(dir, 0o777|os.ModeSticky))
			path := filepath.Join(dir, fmt.Sprintf("%d.sock", pid))
			return path, listen(w.t, path)
		}, inbox.ForeignSocket, inbox.ReasonDirMode},
		{"another user's directory", func(w world, pid int) (string, *listener) {
			if os.Geteuid() != 0 {
				w.t.(*testing.T).Skip("only root can give a directory away")
			}
			dir := filepath.Join(w.root, "w")
			w.mkdir(dir)
			path := filepath.Join(dir, fmt.Sprintf("%d.sock", pid))
			l := listen(w.t, path)
			w.check(os.Chown(dir, 12345, -1))
			return path, l
		}, inbox.ForeignSocket, inbox.ReasonDirOwner},
		{"a directory that is a link", func(w world, pid int) (string, *listener) {
			w.mkdir(filepath.Join(w.root, "w"))
			w.check(os.Symlink("w", filepath.Join(w.root, "v")))
			path := filepath.Join(w.root, "v", fmt.Sprintf("%d.sock", pid))
			return path, listen(w.t, path)
		}, inbox.ForeignSocket, inbox.ReasonDirSymlink},
		{"a link", func(w world, pid int) (string, *listener) {
			real := filepath.Join(w.root, "x.sock")
			w.check(os.Symlink(real, w.socket(pid)))
			return w.socket(pid), listen(w.t, real)
		}, inbox.ForeignSocket, inbox.ReasonSymlink},
		{"another user's", func(w world, pid int) (string, *listener) {
			if os.Geteuid() != 0 {
				w.t.(*testing.T).Skip("only root can give a socket away")
			}
			l := listen(w.t, w.socket(pid))
			w.check(os.Chown(w.socket(pid), 12345, -1))
			return w.socket(pid), l
		}, inbox.ForeignSocket, inbox.ReasonForeignUID},
		{"open to others", func(w world, pid int) (string, *listener) {
			l := listen(w.t, w.socket(pid))
			w.check(os.Chmod(w.socket(pid), 0o666))
			return w.socket(pid), l
		}, inbox.ForeignSocket, inbox.ReasonMode},
		{"not the shortest spelling", func(w world, pid int) (string, *listener) {
			return fmt.Sprintf("%s/./%d.sock", w.sockets, pid), listen(w.t, w.socket(pid))
		}, inbox.BadEnvironment, inbox.ReasonRelative},
		{"by way of a directory and back", func(w world, pid int) (string, *listener) {
			return fmt.Sprintf("%s/../s/%d.sock", w.sockets, pid), listen(w.t, w.socket(pid))
		}, inbox.BadEnvironment, inbox.ReasonRelative},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			plant := func(id string) (int, string, *listener) {
				pid := process(t)
				path, l := c.plant(w, pid)
				w.put(w.file(pid), w.record(pid, fields{"messagingSocketPath": path, "sessionId": id, "name": "planted"}), 0o644)
				w.put(w.keyFile(pid, path), w.key(pid, nil), 0o600)
				return pid, path, l
			}
			pid, path, l := plant(idA)
			for _, who := range []string{"planted", idA, "pid:" + strconv.Itoa(pid), "dir:" + w.root, "self", "uds:" + path} {
				f := w.finder("CLAUDE_CODE_SESSION_ID=" + idA)
				if strings.HasPrefix(who, "dir:") {
					f = w.finder()
				}
				m, err := f.Find(t.Context(), who, false)
				if err != nil || len(m) != 1 {
					t.Fatalf("%s: %v %v", who, m, err)
				}
				// An explicit path may have any name: the caller vouches for it.
				if strings.HasPrefix(who, "uds:") && c.reason == inbox.ReasonRecordPath {
					continue
				}
				wantError(t, m[0].Err, c.want, c.reason)
				if !m[0].Target.Token.IsZero() {
					t.Errorf("%s has a token", who)
				}
			}
			if n := l.connections(t); n > 0 {
				t.Errorf("it was connected to %d times", n)
			}
			// A real one bears the same id: that one answers, and only that one is asked.
			s := start(t, w, golden.Config{SessionID: idA, Name: "real"})
			m, err := w.finder().Find(t.Context(), idA, false)
			if err != nil || len(m) != 1 || m[0].Target.Path != s.Path() || m[0].Err != nil {
				t.Errorf("%v %v", m, err)
			}
			if n := l.connections(t); n > 0 {
				t.Errorf("it was connected to %d times", n)
			}
		})
	}
}

// start starts a stand-in session in this process, registered in the world.
func start(t testing.TB, w world, c golden.Config) *golden.Session {
	t.Helper()
	c.ConfigDir, c.SocketDir = w.config, w.sockets
	s, err := golden.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestOneIDTwice: `claude --resume ID` while the first still runs.
func TestOneIDTwice(t *testing.T) {
	two := func(t *testing.T) (town, *golden.Session) {
		w := newTown(t)
		// Two processes may have one id; the one at this listener is not who its
		// record says, so that it doesn't pass for an answer.
		w.add("other", fields{"name": "first", "sessionId": idA})
		return w, start(t, w.world, golden.Config{SessionID: idA, Name: "first"})
	}
	t.Run("the peer of one is another process", func(t *testing.T) {
		w, s := two(t)
		for _, who := range []string{idA, "first", "aaaaaaaa", "id:" + idA} {
			m, err := w.finder().Find(t.Context(), who, false)
			if err != nil || len(m) != 1 || m[0].Err != nil || m[0].Target.Path != s.Path() || m[0].Target.PID != os.Getpid() {
				t.Errorf("%s: %v %v", who, m, err)
			}
		}
		// A pid is one process's.
		if m, err := w.finder().Find(t.Context(), "pid:"+strconv.Itoa(w.pids["other"]), false); err != nil || len(m) != 1 || m[0].Target.PID != w.pids["other"] {
			t.Errorf("%v %v", m, err)
		}
	})
	t.Run("nobody listens at one", func(t *testing.T) {
		w, s := two(t)
		l := w.ls["other"]
		l.SetUnlinkOnClose(false)
		l.Close()
		if _, err := os.Lstat(w.socket(w.pids["other"])); err != nil {
			t.Fatal(err)
		}
		m, err := w.finder().Find(t.Context(), "first", false)
		if err != nil || len(m) != 1 || m[0].Target.Path != s.Path() {
			t.Errorf("%v %v", m, err)
		}
	})
	t.Run("one has no socket", func(t *testing.T) {
		w, s := two(t)
		w.put(w.file(w.pids["other"]), w.record(w.pids["other"], fields{"sessionId": idA, "messagingSocketPath": nil}), 0o644)
		m, err := w.finder().Find(t.Context(), idA, false)
		if err != nil || len(m) != 1 || m[0].Target.Path != s.Path() {
			t.Errorf("%v %v", m, err)
		}
	})
	t.Run("one is dead", func(t *testing.T) {
		w, s := two(t)
		w.put(w.file(w.pids["other"]), w.record(w.pids["other"], fields{"sessionId": idA, "procStart": "1", "pidDomain": "linux:0:pid:[1]"}), 0o644)
		m, err := w.finder().Find(t.Context(), idA, false)
		if err != nil || len(m) != 1 || m[0].Target.Path != s.Path() {
			t.Errorf("%v %v", m, err)
		}
		w.untouched()
	})
	t.Run("none answers", func(t *testing.T) {
		w := newTown(t)
		w.add("a", fields{"sessionId": idA})
		w.add("b", fields{"sessionId": idA})
		if got := w.who(w.finder(), idA, false); got != "ambiguous-target" {
			t.Error(got)
		}
		if got := w.who(w.finder(), idA, true); got != "a b" {
			t.Error(got)
		}
	})
	t.Run("both answer", func(t *testing.T) {
		w, s := two(t)
		standin := standinProcess(t, w.world, golden.Config{SessionID: idA, Name: "second"})
		_, err := w.finder().Find(t.Context(), idA, false)
		wantError(t, err, inbox.AmbiguousTarget, "", "second", "first")
		var many *Ambiguous
		if !errors.As(err, &many) || len(many.Sessions) != 2 {
			t.Errorf("the one that doesn't answer is among them: %v", err)
		}
		m, err := w.finder().Find(t.Context(), idA, true)
		if err != nil || len(m) != 2 {
			t.Errorf("%v %v", m, err)
		}
		// Another word settles it.
		for who, want := range map[string]int{"second": standin, "pid:" + strconv.Itoa(os.Getpid()): os.Getpid()} {
			if m, err := w.finder().Find(t.Context(), who, false); err != nil || len(m) != 1 || m[0].Target.PID != want {
				t.Errorf("%s: %v %v", who, m, err)
			}
		}
		// Asked, but sent nothing.
		if lines := s.Lines(); len(lines) > 0 {
			t.Errorf("%q", lines)
		}
	})
}

// TestPath: an explicit path takes the key of the live record that names it.
func TestPath(t *testing.T) {
	w := newTown(t)
	w.add("a", fields{"sessionId": idA})
	path := w.socket(w.pids["a"])
	t.Run("a dead record beside a live one", func(t *testing.T) {
		// A session of another config dir was killed, and its pid is used again.
		other := w.in("other")
		other.t = t
		other.put(other.file(w.pids["a"]), other.record(w.pids["a"], fields{"sessionId": idB, "procStart": "1"}), 0o644)
		other.put(other.keyFile(w.pids["a"], path), other.key(w.pids["a"], fields{"procStart": "1"}), 0o600)
		for _, dirs := range [][]string{{w.config, other.config}, {other.config, w.config}} {
			f := &Finder{Getenv: getenv(), ConfigDirs: dirs}
			target, err := both(f.Path(t.Context(), path))
			if err != nil || target.SessionID != idA {
				t.Errorf("%v %v", target, err)
			}
			if s, ok := f.RecordOf(context.Background(), target); !ok || s.ID != idA {
				t.Errorf("%v %v", s, ok)
			}
		}
	})
	t.Run("a record of another pid names it too", func(t *testing.T) {
		thief := process(t)
		w := w
		w.t = t
		w.put(w.file(thief), w.record(thief, fields{"sessionId": idC, "messagingSocketPath": path}), 0o644)
		w.put(w.keyFile(thief, path), w.key(thief, nil), 0o600)
		defer os.Remove(w.file(thief))
		target, err := both(w.finder().Path(t.Context(), path))
		if err != nil || target.SessionID != idA || target.PID != w.pids["a"] {
			t.Errorf("%v %v", target, err)
		}
	})
	t.Run("any name", func(t *testing.T) {
		w := w
		w.t = t
		any := filepath.Join(w.sockets, "any")
		l := listen(t, any)
		pid := process(t)
		w.put(w.file(pid), w.record(pid, fields{"sessionId": idB, "messagingSocketPath": any}), 0o644)
		w.put(w.keyFile(pid, any), w.key(pid, nil), 0o600)
		target, err := both(w.finder().Path(t.Context(), any))
		if err != nil || target.SessionID != idB || target.PID != pid {
			t.Errorf("%v %v", target, err)
		}
		if l.connections(t) > 0 {
			t.Error("it was connected to")
		}
	})
	w.untouched()
}

// TestNoDescriptorStays: a thousand looks leave nothing open.
func TestNoDescriptorStays(t *testing.T) {
	w := newTown(t)
	w.add("a", fields{"sessionId": idA})
	w.add("b", fields{"sessionId": idA})
	look := func() {
		_, _ = w.finder().Find(t.Context(), idA, false)
		_ = w.finder().Path(t.Context(), w.socket(w.pids["a"]))
		_, _ = w.finder().Find(t.Context(), "dir:"+w.root, false)
	}
	next := func() int {
		fd, err := unix.Dup(0)
		w.check(err)
		unix.Close(fd)
		return fd
	}
	look()
	before := next()
	for range 50 {
		look()
	}
	w.untouchedBy()
	if after := next(); after != before {
		t.Errorf("the next descriptor was %d, and is %d", before, after)
	}
}

// untouchedBy takes what the listeners hold.
func (w town) untouchedBy() {
	for _, l := range w.ls {
		l.connections(w.t)
	}
}

// What breaks a line in a path is quoted wherever an error shows one.
func TestPathsInErrors(t *testing.T) {
	const bad = "/no\x1b[31m\nwhere"
	for _, c := range []struct {
		who    string
		finder Finder
	}{
		{"dir:" + bad, Finder{Getenv: getenv("HOME=/tmp")}},
		{"dir:~/" + bad, Finder{Getenv: getenv()}},
		{"nobody", Finder{Getenv: getenv("HOME=" + bad)}},
		{"nobody", Finder{Getenv: getenv("CLAUDE_CONFIG_DIR=" + bad)}},
		{"nobody", Finder{Getenv: getenv("CLAUDE_CONFIG_DIR=x" + bad)}},
		{"nobody", Finder{Getenv: getenv(), ConfigDirs: []string{bad}}},
		{"uds:" + bad, Finder{Getenv: getenv("HOME=/tmp")}},
	} {
		m, err := c.finder.Find(t.Context(), c.who, false)
		if err == nil {
			err = m[0].Err
		}
		if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") || !strings.Contains(err.Error(), `\x1b[31m`) {
			t.Errorf("%q: %q", c.who, err)
		}
	}
}
