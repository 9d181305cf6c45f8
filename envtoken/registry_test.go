package envtoken

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	_ "ccpost/golden/update"
	"ccpost/inbox"
)

// The token in the key files of these tests. No run of a few characters of it
// stands in anything else that is said.
const keyToken = "Uf3+Zk8~Xo5.Bq1=Js7/Vw4_Ge9-Pi2Ta6D"

// world is a registry and a folder for sockets.
type world struct {
	t               testing.TB
	root            string
	config, sockets string
}

func newWorld(t testing.TB) world {
	t.Helper()
	// The path of a socket has at most 107 bytes, and t.TempDir's may have more.
	root, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if root, err = filepath.EvalSymlinks(root); err != nil { // macOS: /tmp is a link
		t.Fatal(err)
	}
	w := world{t, root, filepath.Join(root, "c"), filepath.Join(root, "s")}
	w.mkdir(filepath.Join(w.config, sessionsDir))
	w.mkdir(w.sockets)
	return w
}

// in is the same world with another registry.
func (w world) in(config string) world {
	w.config = filepath.Join(w.root, config)
	w.mkdir(filepath.Join(w.config, sessionsDir))
	return w
}

func (w world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w world) mkdir(dir string) {
	w.t.Helper()
	w.check(os.MkdirAll(dir, 0o700))
}

// finder looks into this world's registry, from outside of any session but for vars.
func (w world) finder(vars ...string) *Finder {
	return &Finder{Getenv: getenv(vars...), ConfigDirs: []string{w.config}}
}

func getenv(vars ...string) func(string) string {
	return func(key string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, key+"="); ok {
				return value
			}
		}
		return ""
	}
}

// fields are members of a record or a key: nil leaves one out.
type fields map[string]any

func (w world) file(pid int) string {
	return filepath.Join(w.config, sessionsDir, strconv.Itoa(pid)+".json")
}

func (w world) socket(pid int) string { return filepath.Join(w.sockets, strconv.Itoa(pid)+".sock") }

func (w world) keyFile(pid int, socket string) string {
	return filepath.Join(w.config, sessionsDir, fmt.Sprintf("%d.%x.key", pid, sha256.Sum256([]byte(socket))))
}

// record is the text of a good record of pid, but for some members.
func (w world) record(pid int, change fields) string {
	w.t.Helper()
	m := fields{
		"pid": pid, "sessionId": fmt.Sprintf("%08d-0000-4000-8000-000000000000", pid), "cwd": w.root,
		"startedAt": 1796069869026, "version": "2.1.332", "kind": "interactive", "status": "idle",
		"messagingSocketPath": w.socket(pid), "name": fmt.Sprint("s", pid),
	}
	if start := startOf(pid); start != "" {
		m["procStart"] = start
	}
	if d := ownPIDDomain(); d != "" {
		m["pidDomain"] = d
	}
	return w.json(m, change)
}

func (w world) key(pid int, change fields) string {
	w.t.Helper()
	m := fields{"peerToken": keyToken}
	if start := startOf(pid); start != "" {
		m["procStart"] = start
	}
	if d := ownPIDDomain(); d != "" {
		m["pidDomain"] = d
	}
	return w.json(m, change)
}

func (w world) json(m, change fields) string {
	w.t.Helper()
	maps.Copy(m, change)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	b, err := json.Marshal(m)
	w.check(err)
	return string(b)
}

// startOf is field 22 of /proc/<pid>/stat, "" where there is none: a second
// reading, for processes whose command has no space.
func startOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat))[21]
}

// put writes a file of the registry with exactly this mode.
func (w world) put(path, content string, mode os.FileMode) {
	w.t.Helper()
	// In place, so that the file stays the same one, unless it is read-only.
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.check(os.Remove(path))
		w.check(os.WriteFile(path, []byte(content), 0o600))
	}
	w.check(os.Chmod(path, mode))
}

// process is a live process; it ends with the test.
func process(t testing.TB) int {
	t.Helper()
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return cmd.Process.Pid
}

// session puts a whole session into the world: a process, its record, its key,
// and a socket, at which this process listens. change changes the record.
func (w world) session(change fields) (pid int, l *listener) {
	w.t.Helper()
	pid = process(w.t)
	w.put(w.file(pid), w.record(pid, change), 0o644)
	path := w.socket(pid)
	if p, ok := change["messagingSocketPath"].(string); ok {
		path = p
	}
	w.put(w.keyFile(pid, path), w.key(pid, nil), 0o600)
	return pid, listen(w.t, w.socket(pid))
}

// listener takes connections, and counts them when it is asked.
type listener struct{ *net.UnixListener }

func listen(t testing.TB, path string) *listener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &listener{l}
}

// connections is how many came since it was last asked.
func (l *listener) connections(t testing.TB) (n int) {
	t.Helper()
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// A connect that has returned stands in the backlog, so that nothing need be waited for.
	if err := raw.Control(func(fd uintptr) {
		for {
			conn, _, err := unix.Accept(int(fd))
			if err != nil {
				return
			}
			unix.Close(conn)
			n++
		}
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// resolve gives the one inbox that WHO means, or why there is none.
func resolve(t testing.TB, f *Finder, who string) (inbox.Target, error) {
	t.Helper()
	m, err := f.Find(t.Context(), who, false)
	if err != nil {
		return inbox.Target{}, err
	}
	if len(m) != 1 {
		t.Fatalf("%q is %v", who, m)
	}
	return m[0].Target, m[0].Err
}

// wantError holds an error to an outcome, a reason and some words, and to
// keeping the token out.
func wantError(t testing.TB, err error, outcome inbox.Name, reason inbox.Reason, words ...string) {
	t.Helper()
	var e *inbox.Error
	if !errors.As(err, &e) {
		t.Errorf("got %v, want %s", err, outcome)
		return
	}
	if e.Outcome != outcome || e.Reason != reason {
		t.Errorf("got %s, reason %q; want %s, %q: %v", e.Outcome, e.Reason, outcome, reason, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("it doesn't say %q: %v", word, err)
		}
	}
	for i := 0; i+6 <= len(keyToken); i++ {
		if strings.Contains(err.Error(), keyToken[i:i+6]) {
			t.Errorf("it says %q of the token", keyToken[i:i+6])
		}
	}
}

// TestBadRecordHidesNoGoodOne: each of these is listed with its reason, and the
// good one beside it stays.
func TestBadRecordHidesNoGoodOne(t *testing.T) {
	root := os.Geteuid() == 0
	w := newWorld(t)
	good, _ := w.session(nil)
	pid, _ := w.session(nil) // but for its record all is well there
	text := w.record(pid, nil)
	member := func(key string, v any) string { return w.record(pid, fields{key: v}) }
	raw := func(s string) string { return text[:len(text)-1] + "," + s + "}" }
	for _, c := range []struct {
		name    string
		content string
		words   string
	}{
		{"empty", "", "not JSON"},
		{"blank", " \n", "not JSON"},
		{"first half", text[:len(text)/2], "not JSON"},
		{"the end of a longer one behind it", text + `:"idle"}`, "not JSON"},
		{"10 MB", text + strings.Repeat(" ", 10<<20), "too large"},
		{"one byte too large", text + strings.Repeat(" ", maxFile+1-len(text)), "too large"},
		{"byte-order mark", "\uFEFF" + text, "not JSON"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "not UTF-8"},
		{"not UTF-8", raw(`"x":"` + "\xff" + `"`), "not UTF-8"},
		{"comment", "// x\n" + text, "not JSON"},
		{"trailing comma", text[:len(text)-1] + ",}", "not JSON"},
		{"two documents", text + "\n" + text, "not JSON"},
		{"array", "[" + text + "]", "not a JSON object"},
		{"string", `"x"`, "not a JSON object"},
		{"null", "null", "not a JSON object"},
		{"65 deep", raw(`"x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64)), "nested too deep"},
		{"100,000 deep", raw(`"x":` + strings.Repeat("[", 100_000)), "nested too deep"},
		{"100,000 objects deep", strings.Repeat(`{"a":`, 40_000), "nested too deep"},

		{"another pid", member("pid", pid+1), fmt.Sprint("it says pid ", pid+1)},
		{"no pid", member("pid", nil), "it says pid 0"},
		{"pid is text", member("pid", strconv.Itoa(pid)), "its pid is not a whole number"},
		{"pid is a fraction", member("pid", float64(pid)+0.5), "its pid is not a whole number"},
		{"pid is huge", member("pid", json.RawMessage("1e300")), "pid"},
		{"pid is true", member("pid", true), "its pid is not a whole number"},
		{"pid is null", member("pid", json.RawMessage("null")), "its pid is not a whole number"},
		{"pid is a list", member("pid", []int{pid}), "its pid is not a whole number"},

		{"no session id", member("sessionId", nil), "its sessionId is not"},
		{"session id is null", member("sessionId", json.RawMessage("null")), "its sessionId is not"},
		{"session id is empty", member("sessionId", ""), "its sessionId is not"},
		{"session id is a number", member("sessionId", 7), "its sessionId is not a string"},
		{"session id is a path", member("sessionId", "../../x"), "its sessionId is not"},
		{"session id with a space", member("sessionId", "a b"), "its sessionId is not"},
		{"session id with a newline", member("sessionId", "abc\n"), "its sessionId is not"},
		{"session id that isn't ASCII", member("sessionId", "ä"), "its sessionId is not"},
		{"session id of 81", member("sessionId", strings.Repeat("x", 81)), "its sessionId is not"},

		{"name is a number", member("name", 7), "its name is not a string"},
		{"cwd is a list", member("cwd", []string{"/"}), "its cwd is not a string"},
		{"version is a number", member("version", 2.1), "its version is not a string"},
		{"socket is an object", member("messagingSocketPath", fields{}), "its messagingSocketPath is not a string"},
		{"procStart is a number", member("procStart", 7), "its procStart is not a string"},
		{"pidDomain is false", member("pidDomain", false), "its pidDomain is not a string"},

		{"pid twice", raw(fmt.Sprintf(`"pid":%d`, pid)), "twice"},
		{"session id twice", raw(`"sessionId":"other"`), "twice"},
		{"socket twice, once escaped", raw(`"messagingSocketP\u0061th":"/tmp/x.sock"`), "twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w
			w.t = t
			w.put(w.file(pid), c.content, 0o644)
			bad(t, w, good, pid, c.words)
		})
	}
	elsewhere := filepath.Join(w.root, "elsewhere.json")
	for _, c := range []struct {
		name  string
		make  func(path string) error
		words string
	}{
		{"link to a good one", func(path string) error {
			return errors.Join(os.WriteFile(elsewhere, []byte(text), 0o600), os.Symlink(elsewhere, path))
		}, "symbolic link"},
		{"link to nothing", func(path string) error { return os.Symlink("nothing", path) }, "symbolic link"},
		{"link to itself", func(path string) error { return os.Symlink(path, path) }, "symbolic link"},
		{"FIFO", func(path string) error { return unix.Mkfifo(path, 0o644) }, "named pipe"},
		{"directory", func(path string) error { return os.Mkdir(path, 0o700) }, "a directory"},
		{"socket", func(path string) error { listen(t, path); return nil }, "a socket"},
		{"group may write", func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, 0o664))
		}, "permissions"},
		{"others may write", func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, 0o646))
		}, "permissions"},
		{"another user's", func(path string) error {
			if !root {
				return errors.ErrUnsupported
			}
			return errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chown(path, 12345, -1))
		}, "another user's"},
		{"unreadable", func(path string) error {
			if root {
				return errors.ErrUnsupported
			}
			return os.WriteFile(path, []byte(text), 0o200)
		}, "may not be examined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w
			w.t = t
			w.check(os.RemoveAll(w.file(pid)))
			err := c.make(w.file(pid))
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip("not with this user's rights")
			}
			w.check(err)
			bad(t, w, good, pid, c.words)
		})
	}
}

// bad holds the registry to one good session and one bad record.
func bad(t *testing.T, w world, good, pid int, words string) {
	t.Helper()
	records, errs := w.finder().Records(context.Background())
	if len(errs) > 0 || len(records) != 2 {
		t.Fatalf("%d records, %v", len(records), errs)
	}
	for _, r := range records {
		switch r.PID {
		case good:
			if r.Err != nil || r.Name != fmt.Sprint("s", good) {
				t.Errorf("the good one: %q %v", r.Name, r.Err)
			}
		case pid:
			wantError(t, r.Err, inbox.NoSessionRecord, inbox.ReasonBadRecord, words, strconv.Itoa(pid)+".json")
		}
	}
	// Nor can it be found.
	for _, who := range []string{fmt.Sprint("pid:", pid), fmt.Sprint("name:s", pid), fmt.Sprintf("id:%08d", pid)} {
		if target, err := resolve(t, w.finder(), who); err == nil {
			t.Errorf("%s is %v", who, target)
		}
	}
	// Nor does it lend its key to a path.
	if target, err := both(w.finder().Path(t.Context(), w.socket(pid))); err == nil {
		t.Errorf("the path is %v", target)
	}
	if m, err := w.finder().Find(t.Context(), fmt.Sprint("s", good), false); err != nil || m[0].Err != nil || m[0].Target.PID != good {
		t.Errorf("the good one isn't found: %v %v", m, err)
	}
}

// TestGoodRecords: what a version may do without hiding a session.
func TestGoodRecords(t *testing.T) {
	w := newWorld(t)
	pid, _ := w.session(nil)
	text := w.record(pid, nil)
	id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", pid)
	for _, c := range []struct {
		name, content string
		mode          os.FileMode
		status        string
	}{
		{"as captured", text, 0o644, "idle"},
		{"private", text, 0o600, "idle"},
		{"read-only", text, 0o444, "idle"},
		{"the least", fmt.Sprintf(`{"pid":%d,"sessionId":%q,"messagingSocketPath":%q,"name":"s%d"}`, pid, id, w.socket(pid), pid), 0o644, ""},
		{"nulls", w.record(pid, fields{"cwd": json.RawMessage("null"), "version": json.RawMessage("null"), "procStart": json.RawMessage("null"), "pidDomain": json.RawMessage("null"), "status": json.RawMessage("null"), "tmux": json.RawMessage("null"), "startedAt": json.RawMessage("null")}), 0o644, ""},
		{"unknown status", w.record(pid, fields{"status": "dreaming"}), 0o644, "dreaming"},
		{"status is a number", w.record(pid, fields{"status": 7}), 0o644, "7"},
		{"status is an object", w.record(pid, fields{"status": fields{"a": 1}}), 0o644, `{"a":1}`},
		{"status is empty", w.record(pid, fields{"status": ""}), 0o644, ""},
		{"what is only shown has another type", w.record(pid, fields{"startedAt": "today", "tmux": []int{1}}), 0o644, "idle"},
		{"unknown fields", w.record(pid, fields{"a": 1, "b": fields{"pid": 1}, "c": []any{nil, true}, "": "x", "PID": 1, "waitingFor": "permission prompt"}), 0o644, "idle"},
		{"64 deep", text[:len(text)-1] + `,"x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "}", 0o644, "idle"},
		{"brackets in text", w.record(pid, fields{"x": strings.Repeat(`[{"`, 1000)}), 0o644, "idle"},
		{"the largest", text + strings.Repeat(" ", maxFile-len(text)), 0o644, "idle"},
		{"white space around it", "\r\n\t " + text + " \r\n", 0o644, "idle"},
		{"escaped key", strings.Replace(text, `"pid":`, `"p\u0069d":`, 1), 0o644, "idle"},
		{"kind", w.record(pid, fields{"kind": 7, "entrypoint": nil, "peerProtocol": "9"}), 0o644, "idle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w
			w.t = t
			w.put(w.file(pid), c.content, c.mode)
			records, errs := w.finder().Records(context.Background())
			if len(errs) > 0 || len(records) != 1 || records[0].Err != nil {
				t.Fatalf("%v %v", records, errs)
			}
			s := records[0].Session
			if s.PID != pid || s.ID != id || s.Name != fmt.Sprint("s", pid) || s.Socket != w.socket(pid) || s.Status != c.status || s.ConfigDir != w.config {
				t.Errorf("%+v", s)
			}
			if target, err := s.Target(); err != nil || target.SessionID != id || target.PID != pid || target.Token.IsZero() {
				// Where the record doesn't say which process it is of, and the key
				// does, it isn't provably the same one's.
				if c.name != "the least" && c.name != "nulls" {
					t.Errorf("%v %v", target, err)
				}
			}
		})
	}
}

func TestRecordFields(t *testing.T) {
	w := newWorld(t)
	pid := process(t)
	w.put(w.file(pid), w.record(pid, fields{"tmux": "x:@0.%0", "status": "busy", "sessionId": strings.Repeat("a-Z_", 20), "cwd": "/home/dev/api"}), 0o644)
	records, _ := w.finder().Records(context.Background())
	s := records[0].Session
	if s.Tmux != "x:@0.%0" || s.Status != "busy" || s.Cwd != "/home/dev/api" || s.Version != "2.1.332" ||
		s.StartedAt.UnixMilli() != 1796069869026 || s.ShortID() != "a-Z_a-Z_" || s.File() != w.file(pid) {
		t.Errorf("%+v", s)
	}
}

// TestAgeSaysNothing: a session may be idle for days.
func TestAgeSaysNothing(t *testing.T) {
	w := newWorld(t)
	old, _ := w.session(nil)
	gone := process(t)
	w.put(w.file(gone), w.record(gone, fields{"pid": 1 << 30}), 0o644)
	w.check(os.Rename(w.file(gone), w.file(1<<30)))
	w.check(os.Chtimes(w.file(old), time.Unix(1, 0), time.Unix(1, 0)))
	records, _ := w.finder().Records(context.Background())
	if len(records) != 2 || records[0].Err != nil {
		t.Fatalf("%v", records)
	}
	wantError(t, records[1].Err, inbox.NotLive, "", "gone")
}

// TestNamedLikeARecord: only <pid>.json in its canonical spelling is a record.
func TestNamedLikeARecord(t *testing.T) {
	w := newWorld(t)
	pid, _ := w.session(nil)
	for _, name := range []string{"007.json", "0.json", "-5.json", "+5.json", ".json", "x.json", "5.JSON", "5.json~", "5.json.tmp", " 5.json",
		"99999999999999999999.json", "0x5.json", "5e1.json", "٥.json", fmt.Sprintf("0%d.json", pid)} {
		w.put(filepath.Join(w.config, sessionsDir, name), w.record(pid, nil), 0o644)
	}
	records, errs := w.finder().Records(context.Background())
	if len(records) != 1 || records[0].PID != pid || len(errs) > 0 {
		t.Errorf("%v %v", records, errs)
	}
}

// TestRegistryUnreadable: one registry that can't be read hides no other.
func TestRegistryUnreadable(t *testing.T) {
	root := os.Geteuid() == 0
	for _, c := range []struct {
		name  string
		spoil func(sessions string) error
		words string // "" is no error
		want  string // the outcome and the reason of who is looked for there
	}{
		{"missing", os.RemoveAll, "", ""},
		{"without config dir", func(s string) error { return os.RemoveAll(filepath.Dir(s)) }, "", ""},
		{"a link to a good one", func(s string) error { return errors.Join(os.Rename(s, s+"2"), os.Symlink(s+"2", s)) }, "-", ""},
		{"a link to nothing", func(s string) error { return errors.Join(os.RemoveAll(s), os.Symlink("nothing", s)) }, "", ""},
		{"a file", func(s string) error { return errors.Join(os.RemoveAll(s), os.WriteFile(s, nil, 0o600)) }, "not a directory", "no-session-record"},
		{"a FIFO", func(s string) error { return errors.Join(os.RemoveAll(s), unix.Mkfifo(s, 0o600)) }, "not a directory", "no-session-record"},
		{"group may write", func(s string) error { return os.Chmod(s, 0o770) }, "others may write", "foreign-socket dir_mode"},
		{"others may write", func(s string) error { return os.Chmod(s, 0o702) }, "others may write", "foreign-socket dir_mode"},
		{"others may write, sticky", func(s string) error { return os.Chmod(s, 0o777|os.ModeSticky) }, "others may write", "foreign-socket dir_mode"},
		{"others may read", func(s string) error { return os.Chmod(s, 0o755) }, "-", ""},
		{"another user's", func(s string) error {
			if !root {
				return errors.ErrUnsupported
			}
			return os.Chown(s, 12345, -1)
		}, "another user's", "foreign-socket dir_owner"},
		{"unreadable", func(s string) error {
			if root {
				return errors.ErrUnsupported
			}
			return os.Chmod(s, 0o300)
		}, "may not be examined", "permission-denied stat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			inside, _ := w.session(nil)
			other := w.in("other")
			good, _ := other.session(nil)
			sessions := filepath.Join(w.config, sessionsDir)
			t.Cleanup(func() { _ = os.Chmod(sessions, 0o700) })
			err := c.spoil(sessions)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip("not with this user's rights")
			}
			w.check(err)
			f := w.finder()
			f.ConfigDirs = append(f.ConfigDirs, other.config)
			records, errs := f.Records(context.Background())
			var pids []int
			for _, r := range records {
				if r.Err == nil {
					pids = append(pids, r.PID)
				}
			}
			want := []int{good}
			if c.words == "-" {
				want = []int{inside, good}
			}
			if !slices.Equal(pids, want) {
				t.Errorf("the pids %v, want %v", pids, want)
			}
			if c.words == "" || c.words == "-" {
				if len(errs) > 0 {
					t.Errorf("%v", errs)
				}
				return
			}
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.words) || !strings.Contains(errs[0].Error(), sessions) {
				t.Errorf("%v, want %q", errs, c.words)
			}
			// Nothing from there can be found, and why is said.
			_, err = f.Find(t.Context(), fmt.Sprint("pid:", inside), false)
			outcome, reason, _ := strings.Cut(c.want, " ")
			wantError(t, err, inbox.Name(outcome), inbox.Reason(reason), c.words)
			if m, err := f.Find(t.Context(), fmt.Sprint("pid:", good), false); err != nil || m[0].Err != nil {
				t.Errorf("%v %v", m, err)
			}
			if _, err := both(f.Path(t.Context(), w.socket(inside))); err == nil {
				t.Error("the key was read all the same")
			}
		})
	}
}

// TestConfigDirs: which registries are looked into.
func TestConfigDirs(t *testing.T) {
	w := newWorld(t)
	home := w.in("home/.claude")
	second := w.in("second")
	pids := map[string]int{}
	for name, in := range map[string]world{"config": w, "home": home, "second": second} {
		pids[name], _ = in.session(nil)
	}
	for _, c := range []struct {
		name string
		dirs []string
		vars []string
		want []string
		why  string // "" is no error
	}{
		{"home", nil, []string{"HOME=" + w.root + "/home"}, []string{"home"}, ""},
		{"variable", nil, []string{"HOME=" + w.root + "/home", "CLAUDE_CONFIG_DIR=" + w.config}, []string{"config"}, ""},
		{"flag", []string{second.config}, []string{"HOME=" + w.root + "/home", "CLAUDE_CONFIG_DIR=" + w.config}, []string{"second"}, ""},
		{"two flags", []string{second.config, w.config}, nil, []string{"second", "config"}, ""},
		{"nothing", nil, nil, nil, "neither CLAUDE_CONFIG_DIR nor HOME is set"},
		{"a relative variable", nil, []string{"HOME=" + w.root + "/home", "CLAUDE_CONFIG_DIR=c"}, nil, `CLAUDE_CONFIG_DIR is "c", which is no absolute path`},
		{"a relative home", nil, []string{"HOME=h"}, nil, `CLAUDE_CONFIG_DIR is not set, and HOME is "h", which is no absolute path`},
		{"a flag over a relative variable", []string{w.config}, []string{"CLAUDE_CONFIG_DIR=c"}, []string{"config"}, ""},
		{"one twice", []string{w.config, w.config}, nil, []string{"config"}, ""},
		{"one twice, spelled otherwise", []string{w.config, w.config + "/", w.root + "/./c"}, nil, []string{"config"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &Finder{Getenv: getenv(c.vars...), ConfigDirs: c.dirs}
			records, errs := f.Records(context.Background())
			var got, want []int
			for _, r := range records {
				got = append(got, r.PID)
			}
			for _, name := range c.want {
				want = append(want, pids[name])
			}
			why := ""
			for _, e := range errs {
				why += e.Err.Error()
			}
			if !slices.Equal(got, want) || why != c.why {
				t.Errorf("%v, want %v; %q, want %q", got, want, why, c.why)
			}
		})
	}
}

// TestConfigDirThroughALink: the same registry under two names holds each session once.
func TestConfigDirThroughALink(t *testing.T) {
	w := newWorld(t)
	pid, _ := w.session(nil)
	link := filepath.Join(w.root, "link")
	w.check(os.Symlink(w.config, link))
	f := w.finder()
	f.ConfigDirs = append(f.ConfigDirs, link)
	if records, _ := f.Records(context.Background()); len(records) != 1 {
		t.Errorf("%d records, want one", len(records))
	}
	if m, err := f.Find(t.Context(), fmt.Sprint("s", pid), false); err != nil || len(m) != 1 {
		t.Errorf("%v %v", m, err)
	}
}
