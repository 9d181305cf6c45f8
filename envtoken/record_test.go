package envtoken

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
)

// TestKey: a key that isn't provably the session's own opens nothing.
func TestKey(t *testing.T) {
	root := os.Geteuid() == 0
	w := newWorld(t)
	pid, _ := w.session(nil)
	path := w.keyFile(pid, w.socket(pid))
	token := func(s string) func() error {
		return func() error { return os.WriteFile(path, []byte(w.key(pid, fields{"peerToken": s})), 0o600) }
	}
	content := func(s string) func() error {
		return func() error { return os.WriteFile(path, []byte(s), 0o600) }
	}
	mode := func(m os.FileMode) func() error {
		return func() error { return errors.Join(content(w.key(pid, nil))(), os.Chmod(path, m)) }
	}
	key := w.key(pid, nil)
	for _, c := range []struct {
		name  string
		make  func() error
		words string // "" is a key that opens
	}{
		{"as captured", content(key), ""},
		{"without process", content(w.key(pid, fields{"procStart": nil, "pidDomain": nil})), ""},
		{"unknown fields", content(w.key(pid, fields{"a": []int{1}, "b": nil, "c": 1})), ""},
		{"16 characters", token("0123456789abcdef"), ""},
		{"512 characters", token(strings.Repeat("Az09._~+/=-", 47)[:512]), ""},

		{"missing", func() error { return nil }, "is not there"},
		{"group may read", mode(0o640), "mode 0640"},
		{"others may read", mode(0o604), "mode 0604"},
		{"as a record", mode(0o644), "mode 0644"},
		{"read-only", mode(0o400), "mode 0400"},
		{"sticky", mode(0o600 | os.ModeSticky), "mode 1600"},
		{"link", func() error {
			elsewhere := filepath.Join(w.root, "key")
			return errors.Join(os.WriteFile(elsewhere, []byte(key), 0o600), os.Symlink(elsewhere, path))
		}, "symbolic link"},
		{"link to nothing", func() error { return os.Symlink("nothing", path) }, "symbolic link"},
		{"FIFO", func() error { return unix.Mkfifo(path, 0o600) }, "named pipe"},
		{"directory", func() error { return os.Mkdir(path, 0o600) }, "a directory"},
		{"another user's", func() error {
			if !root {
				return errors.ErrUnsupported
			}
			return errors.Join(content(key)(), os.Chown(path, 12345, -1))
		}, "another user's"},
		{"10 MB", content(key + strings.Repeat(" ", 10<<20)), "too large"},

		{"empty", content(""), "not JSON"},
		{"half-written", content(key[:len(key)/2]), "not JSON"},
		{"the token alone", content(keyToken), "not JSON"},
		{"byte-order mark", content("\uFEFF" + key), "not JSON"},
		{"array", content("[" + key + "]"), "not a JSON object"},
		{"deep", content(key[:len(key)-1] + `,"x":` + strings.Repeat("[", 100_000)), "nested too deep"},
		{"token twice", content(key[:len(key)-1] + `,"peerToken":"0123456789abcdef"}`), "twice"},
		{"token twice, once escaped", content(key[:len(key)-1] + `,"peer\u0054oken":"0123456789abcdef"}`), "twice"},
		{"no token", content(w.key(pid, fields{"peerToken": nil})), "its peerToken"},
		{"token is a number", content(w.key(pid, fields{"peerToken": 12345678901234567})), "its peerToken is not a string"},
		{"token in a list", content(w.key(pid, fields{"peerToken": []string{keyToken}})), "its peerToken is not a string"},
		{"empty token", token(""), "its peerToken"},
		{"15 characters", token("0123456789abcde"), "its peerToken"},
		{"513 characters", token(strings.Repeat("x", 513)), "its peerToken"},
		{"a newline behind it", token(keyToken + "\n"), "its peerToken"},
		{"a line more", token(keyToken + "\n{}"), "its peerToken"},
		{"a quote", token(keyToken + `"`), "its peerToken"},
		{"a backslash", token(keyToken + `\`), "its peerToken"},
		{"a space", token(keyToken + " x"), "its peerToken"},
		{"not ASCII", token(keyToken + "é"), "its peerToken"},
		{"NUL", token(keyToken + "\x00"), "its peerToken"},

		{"of another process", content(w.key(pid, fields{"procStart": "1"})), "another process"},
		{"of another container", content(w.key(pid, fields{"pidDomain": "linux:0:pid:[1]"})), "another process"},
		{"procStart is a number", content(w.key(pid, fields{"procStart": 1})), "its procStart is not a string"},
		{"under another process's name", func() error {
			return os.WriteFile(w.keyFile(pid+1, w.socket(pid)), []byte(key), 0o600)
		}, "is not there"},
		{"under another path's name", func() error {
			return os.WriteFile(w.keyFile(pid, "/private"+w.socket(pid)), []byte(key), 0o600)
		}, "is not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			err := c.make()
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip("not with this user's rights")
			}
			if err != nil {
				t.Fatal(err)
			}
			f := w.finder()
			m, err := f.Find(t.Context(), fmt.Sprint("s", pid), false)
			if err != nil || len(m) != 1 {
				t.Fatalf("%v %v", m, err)
			}
			// It is who was meant all the same, and stays in the report.
			if m[0].Target.PID != pid || m[0].Target.Path != w.socket(pid) {
				t.Errorf("%v", m[0].Target)
			}
			byPath, pathErr := both(f.Path(t.Context(), w.socket(pid)))
			if c.words == "" {
				if m[0].Err != nil || m[0].Target.Token.IsZero() || pathErr != nil || byPath.Token.IsZero() {
					t.Errorf("%v, and by path %v", m[0].Err, pathErr)
				}
				return
			}
			wantError(t, m[0].Err, inbox.NoAuthKey, "", c.words)
			wantError(t, pathErr, inbox.NoAuthKey, "", c.words)
			if !m[0].Target.Token.IsZero() || !byPath.Token.IsZero() {
				t.Error("there is a token")
			}
		})
	}
}

// TestKeyComesAfterThePath: where the path is refused, the key isn't asked for.
func TestKeyComesAfterThePath(t *testing.T) {
	w := newWorld(t)
	pid, l := w.session(nil)
	w.check(os.WriteFile(w.keyFile(pid, w.socket(pid)), nil, 0o600))
	w.check(os.Chmod(w.socket(pid), 0o666))
	m, err := w.finder().Find(t.Context(), fmt.Sprint("s", pid), false)
	w.check(err)
	wantError(t, m[0].Err, inbox.ForeignSocket, inbox.ReasonMode)
	if l.connections(t) != 0 {
		t.Error("it was connected to")
	}
}

// TestRewrittenRecord: Claude Code writes the new text over the old one and cuts
// the rest off 50 µs later. A reader that comes between reads again.
func TestRewrittenRecord(t *testing.T) {
	w := newWorld(t)
	pid, _ := w.session(nil)
	whole := w.record(pid, fields{"name": "new"})
	for name, half := range map[string]string{
		"the end of the old one behind it": whole + `nt prompt"}`,
		"just made":                        "",
		"the first half":                   whole[:len(whole)/2],
	} {
		t.Run(name, func(t *testing.T) {
			// Any of these can meet a machine that is too busy for 6 ms.
			const times = 21
			good := 0
			for range times {
				w.put(w.file(pid), half, 0o644)
				written := make(chan error, 1)
				time.AfterFunc(time.Millisecond, func() { written <- os.WriteFile(w.file(pid), []byte(whole), 0o644) })
				left := patience
				s, err := w.finder().read(w.config, pid, &left)
				if werr := <-written; werr != nil {
					t.Fatal(werr)
				}
				if err == nil && s.Name == "new" {
					good++
				}
			}
			if good <= times/2 {
				t.Errorf("it was read well %d times of %d", good, times)
			}
		})
	}
}

// TestBrokenForGood: what doesn't get better is given up, whatever its age says.
func TestBrokenForGood(t *testing.T) {
	w := newWorld(t)
	pid := process(t)
	for name, at := range map[string]time.Time{"fresh": time.Now(), "old": time.Unix(1, 0), "of tomorrow": time.Now().Add(24 * time.Hour)} {
		w.put(w.file(pid), "{", 0o644)
		w.check(os.Chtimes(w.file(pid), at, at))
		records, _ := w.finder().Records(context.Background())
		if len(records) != 1 {
			t.Fatalf("%s: %v", name, records)
		}
		wantError(t, records[0].Err, inbox.NoSessionRecord, inbox.ReasonBadRecord, "not JSON")
	}
}

// TestManyBrokenRecords: all that could be half-written are waited for together,
// and a time to come is no sign of it.
func TestManyBrokenRecords(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		w.put(w.file(10_000_000+i), "{", 0o644)
	}
	look := func() time.Duration {
		left := time.Hour
		began := left
		for i := range 200 {
			if _, err := w.finder().read(w.config, 10_000_000+i, &left); err == nil {
				t.Fatal("it isn't broken")
			}
		}
		return began - left
	}
	if waited := look(); waited == 0 {
		t.Error("fresh ones aren't waited for")
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	for i := range 200 {
		w.check(os.Chtimes(w.file(10_000_000+i), tomorrow, tomorrow))
	}
	if waited := look(); waited > 0 {
		t.Errorf("those of tomorrow are waited for %v", waited)
	}
	left := 3 * rewriting
	for i := range 10 {
		w.put(w.file(10_000_000+i), "{", 0o644)
		_, _ = w.finder().read(w.config, 10_000_000+i, &left)
	}
	if left < 0 || left >= rewriting {
		t.Errorf("%v of %v are left", left, 3*rewriting)
	}
}

// TestDoubledKeys: one that counts for nothing hides no session.
func TestDoubledKeys(t *testing.T) {
	w := newWorld(t)
	pid, _ := w.session(nil)
	record, key := w.record(pid, nil), w.key(pid, nil)
	for more, want := range map[string]inbox.Name{
		`"foo":1,"foo":2`: "", `"status":"a","status":"b"`: "", `"peerToken":1,"peerToken":2`: "",
		`"name":"x"`: inbox.NoSessionRecord, `"sessio\u006eId":"x"`: inbox.NoSessionRecord, `"messagingSocketPath":"/x"`: inbox.NoSessionRecord,
		fmt.Sprintf(`"pid":%d`, pid): inbox.NoSessionRecord, `"cwd":"/"`: inbox.NoSessionRecord,
	} {
		w.put(w.file(pid), "{"+more+","+record[1:], 0o644)
		_, err := w.finder().Find(t.Context(), fmt.Sprint("pid:", pid), false)
		records, _ := w.finder().Records(t.Context())
		if len(records) != 1 || outcome(records[0].Err) != want {
			t.Errorf("%s: %v %v, want %q", more, records[0].Err, err, want)
		}
	}
	w.put(w.file(pid), record, 0o644)
	w.put(w.keyFile(pid, w.socket(pid)), `{"foo":1,"foo":2,`+key[1:], 0o600)
	if m, err := w.finder().Find(t.Context(), fmt.Sprint("pid:", pid), false); err != nil || m[0].Err != nil {
		t.Errorf("%v %v", m, err)
	}
}

// TestCurrent: a session or a name that changes between resolving and writing.
func TestCurrent(t *testing.T) {
	other := "0a0b0c0d-0000-4000-8000-000000000000"
	for _, c := range []struct {
		name   string
		change func(w world, pid int) error
		// What Current says, for who asked by name and for who asked by id:
		// "same", "other", or words of an error.
		byName, byID string
	}{
		{"nothing", func(w world, pid int) error { return nil }, "same", "same"},
		{"status", func(w world, pid int) error {
			return os.WriteFile(w.file(pid), []byte(w.record(pid, fields{"status": "busy", "waitingFor": "x"})), 0o644)
		}, "same", "same"},
		{"/clear", func(w world, pid int) error {
			return os.WriteFile(w.file(pid), []byte(w.record(pid, fields{"sessionId": other})), 0o644)
		}, "other", "other"},
		{"renamed", func(w world, pid int) error {
			return os.WriteFile(w.file(pid), []byte(w.record(pid, fields{"name": "another"})), 0o644)
		}, `is called "another" now`, "same"},
		{"nameless", func(w world, pid int) error {
			return os.WriteFile(w.file(pid), []byte(w.record(pid, fields{"name": nil})), 0o644)
		}, `is called "" now`, "same"},
		{"another process", func(w world, pid int) error {
			return os.WriteFile(w.file(pid), []byte(w.record(pid, fields{"procStart": "1"})), 0o644)
		}, "another process", "another process"},
		{"another socket", func(w world, pid int) error {
			return os.WriteFile(w.file(pid), []byte(w.record(pid, fields{"messagingSocketPath": "/tmp/x.sock"})), 0o644)
		}, "another process", "another process"},
		{"gone", func(w world, pid int) error { return os.Remove(w.file(pid)) }, "is not there", "is not there"},
		{"broken", func(w world, pid int) error { return os.WriteFile(w.file(pid), []byte("{"), 0o644) }, "not JSON", "not JSON"},
		{"made a link", func(w world, pid int) error {
			return errors.Join(os.Rename(w.file(pid), w.root+"/r"), os.Symlink(w.root+"/r", w.file(pid)))
		}, "symbolic link", "symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			pid, _ := w.session(nil)
			asked := map[string]string{"name": fmt.Sprint("s", pid), "name:": fmt.Sprint("name:s", pid), "id": fmt.Sprintf("%08d", pid), "pid": fmt.Sprint("pid:", pid), "dir": "dir:" + w.root, "uds": "uds:" + w.socket(pid)}
			targets := map[string]inbox.Target{}
			for kind, who := range asked {
				m, err := w.finder().Find(t.Context(), who, false)
				if err != nil || len(m) != 1 || m[0].Err != nil {
					t.Fatalf("%s: %v %v", who, m, err)
				}
				targets[kind] = m[0].Target
			}
			w.check(c.change(w, pid))
			for kind, target := range targets {
				want := c.byID
				if strings.HasPrefix(kind, "name") {
					want = c.byName
				}
				id, err := target.Current()
				got := "other"
				switch {
				case err != nil:
					got = err.Error()
				case id == target.SessionID:
					got = "same"
				}
				if !strings.Contains(got, want) {
					t.Errorf("by %s: %q, want %q", kind, got, want)
				}
			}
		})
	}
}
