package envtoken

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"ccpost/golden/strict"
	"ccpost/inbox"
	"ccpost/redact"
)

// texts reads the members that are named, which must be strings or null and
// stand there once, by a second reading.
func texts(members []strict.Member, names ...string) (map[string]string, bool) {
	found, ok := strict.Once(members, names...)
	said := map[string]string{}
	for name, value := range found {
		text, isText := value.(string)
		ok = ok && (isText || value == nil)
		said[name] = text
	}
	return said, ok
}

// FuzzRecord holds the reading of a record against encoding/json's.
func FuzzRecord(f *testing.F) {
	const good = `{"pid":7,"sessionId":"2591a99c-71bf-4913-9747-f2bf141661a5","cwd":"/home/dev/api","startedAt":1796069869026,"procStart":"71","version":"2.1.332",` +
		`"kind":"interactive","name":"api","status":"idle","messagingSocketPath":"/tmp/cc/7.sock","pidDomain":"linux:1:4026531836","tmux":"a:@1.%2"}`
	for _, s := range []string{
		good, strings.Replace(good, `"pid":7`, `"pid":8`, 1), strings.Replace(good, `"pid":7`, `"pid":7.0`, 1), strings.Replace(good, `"pid":7`, `"pid":"7"`, 1),
		strings.Replace(good, `"name":"api"`, `"name":null`, 1), strings.Replace(good, `"name":"api"`, `"name":"\ud800\u0000é"`, 1),
		strings.Replace(good, `"cwd"`, `"sessionId"`, 1), strings.Replace(good, `"cwd"`, `"session\u0049d"`, 1), strings.Replace(good, `"status":"idle"`, `"status":{"a":[]}`, 1),
		good + "}", good[:40], "{}", "[]", "", "7", `{"pid":7,"sessionId":"a","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + "}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Session{PID: 7}
		err := s.parse(data)

		names := []string{"sessionId", "name", "cwd", "version", "messagingSocketPath", "procStart", "pidDomain"}
		members, ok := strict.Object(data, maxDepth)
		want, once := texts(members, names...)
		said, oncePID := strict.Once(members, "pid")
		number, _ := said["pid"].(json.Number)
		pid, _ := number.Float64() // 7.0 is 7
		ok = ok && once && oncePID && pid == 7 && regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`).MatchString(want["sessionId"])
		if (err == nil) != ok {
			t.Fatalf("parse says %v of %q, a second reading %t", err, data, ok)
		}
		if err != nil {
			return
		}
		got := map[string]string{"sessionId": s.ID, "name": s.Name, "cwd": s.Cwd, "version": s.Version,
			"messagingSocketPath": s.Socket, "procStart": s.procStart, "pidDomain": s.pidDomain}
		for _, name := range names {
			if got[name] != want[name] {
				t.Errorf("%s is %q, a second reading says %q, in %q", name, got[name], want[name], data)
			}
		}
		if ms := s.StartedAt.UnixMilli(); !s.StartedAt.IsZero() && (ms < 0 || ms > lastMilli) {
			t.Errorf("started at %v", s.StartedAt)
		}
	})
}

// FuzzKey holds the reading of a key file against encoding/json's. No error of
// it shows anything of the file.
func FuzzKey(f *testing.F) {
	w := newWorld(f)
	const good = `{"peerToken":"` + keyToken + `","procStart":"71","pidDomain":"linux:1:2"}`
	for _, s := range []string{
		good, `{"peerToken":"0123456789abcdef"}`, `{"peerToken":"short"}`, `{"peerToken":"0123456789abcde\u0066","a":[{}]}`, `{"peerToken":"0123456789abcdef\n"}`,
		strings.Replace(good, `"71"`, `"72"`, 1), strings.Replace(good, `"71"`, `null`, 1), strings.Replace(good, `"71"`, `71`, 1),
		`{"peerToken":"0123456789abcdef","peerToken":"0123456789abcdeg"}`, good + good, "[" + good + "]", "", keyToken,
	} {
		f.Add([]byte(s))
	}
	s := Session{PID: 7, Socket: w.socket(7), ConfigDir: w.config, procStart: "71", pidDomain: "linux:1:2", finder: w.finder()}
	path := w.keyFile(7, s.Socket)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := s.token()

		members, ok := strict.Object(data, maxDepth)
		want, once := texts(members, "peerToken", "procStart", "pidDomain")
		ok = ok && once && len(data) <= maxFile &&
			(want["procStart"] == "" || want["procStart"] == "71") && (want["pidDomain"] == "" || want["pidDomain"] == "linux:1:2") &&
			regexp.MustCompile(`^[A-Za-z0-9._~+/=-]{16,512}$`).MatchString(want["peerToken"])
		if (err == nil) != ok {
			t.Fatalf("token says %v of %q, a second reading %t", err, data, ok)
		}
		if err == nil && got.Scrub(want["peerToken"]) != redact.Placeholder {
			t.Errorf("not the token of %q", data)
		}
		if err == nil {
			return
		}
		says := strings.ReplaceAll(err.Error(), path, "")
		for _, m := range members {
			if v, ok := m.Value.(string); ok && len(v) >= redact.MinLen && strings.Contains(says, v) {
				t.Errorf("%q shows the key", says)
			}
		}
	})
}

// FuzzWho holds the resolving of WHO against a second reading of what it means,
// among three live sessions of which two have one name.
func FuzzWho(f *testing.F) {
	w := newWorld(f)
	work := filepath.Join(w.root, "work")
	w.mkdir(filepath.Join(work, "api"))
	ids := []string{"11111111-aaaa-4000-8000-000000000001", "11111111-bbbb-4000-8000-000000000002", "dead-beef_3"}
	type live struct{ pid, id, name, socket, cwd string }
	var sessions []live
	var pids []int
	for i, id := range ids {
		pid := process(f)
		pids = append(pids, pid)
		sessions = append(sessions, live{strconv.Itoa(pid), id, "", w.socket(pid), []string{work, work + "/api", w.root}[i]})
		w.put(w.keyFile(pid, w.socket(pid)), w.key(pid, nil), 0o600)
		listen(f, w.socket(pid))
	}
	for _, who := range []string{
		"api", "name:api", "self", "", ":", "id:", "id:dead-beef_3", "dead-bee", "dead-be", "11111111", "11111111-a", "pid:1", "pid:0", "-1", "dir:", "dir:/", "dir:~",
		"dir:" + "work", "uds:", "uds:x", "uds:/x", "/x", "@x", `\\.\pipe\x`, "a/b", "x.sock", "a\x00b", "a,b", "name:self", "uds:a\nb", "NAME:api", " api", "pid:+1", "0x1",
	} {
		f.Add(who, "api", "api", -1)
		f.Add("name:"+who, who, "x", -1)
		f.Add(who, "11111111", "dead-beef_3", 0)
	}
	for i := range pids {
		f.Add("pid:", "a", "b", i)
		f.Add("", "a", "b", i)
	}
	written := [2]string{"\xff", "\xff"} // the names in the records now
	f.Fuzz(func(t *testing.T, who, first, second string, pid int) {
		w := w
		w.t = t
		names := [2]string{first, second}
		if !utf8.ValidString(first) || !utf8.ValidString(second) {
			return
		}
		if pid >= 0 && pid < len(pids) {
			who += sessions[pid].pid // a number that the fuzzer can't know
		}
		if names != written {
			for i, p := range pids {
				sessions[i].name = names[min(i, 1)]
				record := w.record(p, fields{"sessionId": sessions[i].id, "name": sessions[i].name, "cwd": sessions[i].cwd})
				if err := os.WriteFile(w.file(p), []byte(record), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			written = names
		}
		found, err := w.finder("HOME="+work).Find(context.Background(), who, false)
		if err == nil && found[0].Err != nil && found[0].Session == nil {
			err = found[0].Err
		}
		var failed *inbox.Error
		if err != nil && (!errors.As(err, &failed) || strings.ContainsAny(err.Error(), "\n\r\x1b\x00") || failed.Outcome.Exit() < 64) {
			t.Fatalf("%q: %q", who, err)
		}

		// The second reading.
		pick := func(is func(live) bool) (out []string) {
			for _, s := range sessions {
				if is(s) {
					out = append(out, s.socket)
				}
			}
			return out
		}
		name := func(v string) []string { return pick(func(s live) bool { return s.name == v }) }
		exact := func(v string) []string { return pick(func(s live) bool { return s.id == v }) }
		begins := func(v string) []string {
			return pick(func(s live) bool { return len(v) >= 8 && strings.HasPrefix(s.id, v) })
		}
		number := func(v string) []string { return pick(func(s live) bool { return s.pid == v }) }
		var readings [][]string
		kind, value, _ := strings.Cut(who, ":")
		switch {
		case who == "self", kind == "uds", who == "", strings.ContainsRune(`/@\`, rune(who[0])), kind == "dir", strings.Contains(who, "\x00") && !slices.Contains([]string{"name", "id", "pid"}, kind):
			return // paths and directories have tests of their own
		case kind == "name" && len(kind) < len(who):
			readings = [][]string{name(value)}
			if value == "" {
				readings = nil
			}
		case kind == "id" && len(kind) < len(who):
			readings = [][]string{exact(value), begins(value)}
		case kind == "pid" && len(kind) < len(who):
			readings = [][]string{number(value)}
		default:
			readings = [][]string{name(who), exact(who), begins(who), number(who)}
		}
		var want []string
		for _, r := range readings {
			if want = r; len(want) > 0 {
				break
			}
		}
		switch {
		case len(want) == 0 && err == nil:
			t.Errorf("%q found %q, and means nobody", who, found[0].Target.Path)
		case len(want) == 1 && (err != nil || len(found) != 1 || found[0].Target.Path != want[0]):
			t.Errorf("%q: %v, %v; want %q", who, found, err, want[0])
		case len(want) > 1 && (failed == nil || failed.Outcome != inbox.AmbiguousTarget):
			t.Errorf("%q: %v, %v; want it ambiguous", who, found, err)
		}
	})
}
