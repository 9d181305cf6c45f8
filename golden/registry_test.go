package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// published gives the record as it stands.
func published(t *testing.T, s *Session) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.cfg.ConfigDir, "sessions", strconv.Itoa(s.cfg.PID)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func keyFile(s *Session) string {
	return filepath.Join(s.cfg.ConfigDir, "sessions", fmt.Sprintf("%d.%x.key", s.cfg.PID, sha256.Sum256([]byte(s.path))))
}

// without leaves out the keys that only Linux tells, elsewhere.
func without(keys []string) []string {
	if runtime.GOOS == "linux" && pidDomain(os.Getpid()) != "" {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool {
		return k == "pidDomain" || k == "procStart" && runtime.GOOS != "linux"
	})
}

func TestRecordAndKeyAreAsCaptured(t *testing.T) {
	s := start(t, Config{ConfigDir: shortDir(t), Name: "api-worker", Cwd: "/home/dev/api", SessionID: "2591a99c-71bf-4913-9747-f2bf141661a5"})
	got, want := published(t, s), captured(t, "registry-record.json")[0]
	if diff := cmp.Diff(without(keysOf(t, want)), keysOf(t, got)); diff != "" {
		t.Error(diff)
	}
	gotFields, wantFields := fieldsOf(t, got), fieldsOf(t, want)
	for _, key := range []string{"sessionId", "cwd", "version", "peerProtocol", "peerFeatures", "kind", "entrypoint", "asksForConvertedSkills", "name", "nameSource", "status"} {
		if diff := cmp.Diff(string(wantFields[key]), string(gotFields[key])); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if got := str(gotFields["messagingSocketPath"]); got != s.Path() || filepath.Base(got) != fmt.Sprintf("%d.sock", os.Getpid()) {
		t.Errorf("messagingSocketPath is %s", got)
	}
	if got := string(gotFields["pid"]); got != strconv.Itoa(os.Getpid()) {
		t.Errorf("pid is %s", got)
	}
	for _, key := range []string{"startedAt", "nameSince", "updatedAt", "statusUpdatedAt"} {
		ms, err := strconv.ParseInt(string(gotFields[key]), 10, 64)
		if age := time.Since(time.UnixMilli(ms)); err != nil || age < 0 || age > time.Minute {
			t.Errorf("%s is %s", key, gotFields[key])
		}
	}

	keyBytes, err := os.ReadFile(keyFile(s))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(without(keysOf(t, captured(t, "registry-key.json")[0])), keysOf(t, keyBytes)); diff != "" {
		t.Error(diff)
	}
	keyFields := fieldsOf(t, keyBytes)
	env, peer := s.Tokens()
	if got := str(keyFields["peerToken"]); got != peer || got == env {
		t.Errorf("the key holds %q", got)
	}
	for _, key := range []string{"procStart", "pidDomain"} {
		if string(keyFields[key]) != string(gotFields[key]) {
			t.Errorf("%s: the key says %s, the record %s", key, keyFields[key], gotFields[key])
		}
	}
	for _, token := range []string{env, peer} {
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(token) {
			t.Errorf("a token is %q", token)
		}
	}
}

func TestModes(t *testing.T) {
	top := shortDir(t)
	s := start(t, Config{SocketDir: filepath.Join(top, "socks"), ConfigDir: filepath.Join(top, "c")})
	for path, want := range map[string]os.FileMode{
		filepath.Dir(s.Path()):              os.ModeDir | 0o700,
		s.Path():                            os.ModeSocket | 0o600,
		keyFile(s):                          0o600,
		filepath.Join(top, "c", "sessions"): os.ModeDir | 0o700,
		filepath.Join(top, "c", "sessions", fmt.Sprintf("%d.json", os.Getpid())): 0o644,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
}

// The socket has its mode when it appears, not a moment later.
func TestBindIsPrivateAtOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can")
	}
	path := filepath.Join(shortDir(t), "x.sock")
	fd, err := newSocket()
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	if err := bindPrivate(fd, path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestFieldsLeftOut(t *testing.T) {
	rows := []struct {
		name   string
		cfg    Config
		absent []string
	}{
		{"no name", Config{}, []string{"name", "nameSource", "nameSince"}},
		{"no socket path", Config{NoSocketPath: true, Name: "n"}, []string{"messagingSocketPath"}},
		{"no such process", Config{PID: 1 << 30, Name: "n"}, []string{"procStart", "pidDomain"}},
	}
	all := keysOf(t, captured(t, "registry-record.json")[0])
	for _, row := range rows {
		row.cfg.ConfigDir = shortDir(t)
		s := start(t, row.cfg)
		want := slices.DeleteFunc(slices.Clone(without(all)), func(k string) bool { return slices.Contains(row.absent, k) })
		if diff := cmp.Diff(want, keysOf(t, published(t, s))); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
		if _, err := os.Stat(keyFile(s)); (err == nil) == row.cfg.NoSocketPath {
			t.Errorf("%s: the key: %v", row.name, err)
		}
	}
}

func TestEnviron(t *testing.T) {
	config := shortDir(t)
	s := start(t, Config{ConfigDir: config, PID: 77, SessionID: "one", Token: "t0"})
	want := []string{
		"CLAUDE_CODE_MESSAGING_SOCKET=" + s.Path(), "CLAUDE_CODE_MESSAGING_TOKEN=t0",
		"CLAUDE_CODE_SESSION_ID=one", "CLAUDE_PID=77", "CLAUDE_CONFIG_DIR=" + config,
	}
	if diff := cmp.Diff(want, s.Environ()); diff != "" {
		t.Error(diff)
	}
	bare := start(t, Config{NoSocketPath: true, PID: 78, SessionID: "two"})
	if diff := cmp.Diff([]string{"CLAUDE_CODE_SESSION_ID=two", "CLAUDE_PID=78"}, bare.Environ()); diff != "" {
		t.Error(diff)
	}
}

func TestClear(t *testing.T) {
	for _, b := range []Behaviour{Accept, WrongSession} {
		s := start(t, Config{ConfigDir: shortDir(t), Behaviour: b, SessionID: "first"})
		env, peer := s.Tokens()
		path := s.Path()
		id := s.Clear()
		if id == "" || id == "first" {
			t.Fatalf("the new id is %q", id)
		}
		if got := str(fieldsOf(t, published(t, s))["sessionId"]); got != id {
			t.Errorf("the record shows %s, want %s", got, id)
		}
		if env2, peer2 := s.Tokens(); env2 != env || peer2 != peer || s.Path() != path {
			t.Error("socket or tokens changed")
		}
		if !slices.Contains(s.Environ(), "CLAUDE_CODE_SESSION_ID="+id) {
			t.Errorf("the environment is %q", s.Environ())
		}
		post(t, s, userLine("1", "old", "", "first")+"\n"+userLine("2", "new", "", id)+"\n")
		want := 1
		if b == WrongSession {
			want = 0
		}
		if got := s.Messages(); len(got) != want || want == 1 && got[0].Body != "new" {
			t.Errorf("%s took %v", b, got)
		}
	}
}

func TestRename(t *testing.T) {
	rows := []struct {
		name     string
		headless bool
		line     string
		want     string
		source   string
	}{
		{"taken", false, `{"type":"control","action":"rename","name":"new","session_id":"one"}`, "new", "peer"},
		{"no session id", false, `{"type":"control","action":"rename","name":"new"}`, "new", "peer"},
		{"another session", false, `{"type":"control","action":"rename","name":"new","session_id":"two"}`, "old", "user"},
		{"no name", false, `{"type":"control","action":"rename","session_id":"one"}`, "old", "user"},
		{"other action", false, `{"type":"control","action":"stop","name":"new","session_id":"one"}`, "old", "user"},
		{"headless", true, `{"type":"control","action":"rename","name":"new","session_id":"one"}`, "old", "user"},
	}
	for _, row := range rows {
		s := start(t, Config{ConfigDir: shortDir(t), Name: "old", SessionID: "one", Headless: row.headless})
		post(t, s, row.line+"\n")
		fields := fieldsOf(t, published(t, s))
		if name, source := str(fields["name"]), str(fields["nameSource"]); name != row.want || source != row.source {
			t.Errorf("%s: the record shows %s from %s, want %s from %s", row.name, name, source, row.want, row.source)
		}
	}
}

// A reader of the record never sees half of it.
func TestRecordIsWholeAlways(t *testing.T) {
	s := start(t, Config{ConfigDir: shortDir(t)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			s.Clear()
		}
	}()
	for {
		if b := published(t, s); !json.Valid(b) {
			t.Fatalf("half a record: %q", b)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestTranscript(t *testing.T) {
	config := shortDir(t)
	s := start(t, Config{ConfigDir: config, Transcript: true, SessionID: "one", Cwd: "/home/dev/api_2.é😀"})
	file := func(id string) string {
		return filepath.Join(config, "projects", "-home-dev-api-2----", id+".jsonl")
	}
	content := "<cross-session-message from-name=\"ci\">\n<b> & \u2028\n</cross-session-message>"
	post(t, s, userLine("1", content, "", "")+"\n"+userLine("2", "b", "", "other")+"\n")
	rows, err := os.ReadFile(file("one"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(rows, []byte("\n")); n != 1 {
		t.Fatalf("%d rows, want 1: %s", n, rows)
	}
	want := captured(t, "transcript-rows.ndjson")[0]
	if diff := cmp.Diff(keysOf(t, want), keysOf(t, rows)); diff != "" {
		t.Error(diff)
	}
	fields, wantFields := fieldsOf(t, rows), fieldsOf(t, want)
	for key, want := range map[string]string{"type": str(wantFields["type"]), "operation": str(wantFields["operation"]), "sessionId": "one", "content": content} {
		if got := str(fields[key]); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if !bytes.Contains(rows, []byte("<b> &")) {
		t.Errorf("HTML is escaped: %s", rows)
	}
	const stamp = "2006-01-02T15:04:05.000Z"
	if _, err := time.Parse(stamp, str(fields["timestamp"])); err != nil || len(str(wantFields["timestamp"])) != len(str(fields["timestamp"])) {
		t.Errorf("timestamp is %s", fields["timestamp"])
	}
	id := s.Clear()
	post(t, s, userLine("3", "c", "", "")+"\n")
	if b, err := os.ReadFile(file(id)); err != nil || !bytes.Contains(b, []byte(`"content":"c"`)) {
		t.Errorf("after /clear: %s, %v", b, err)
	}
}

func TestTranscriptDelay(t *testing.T) {
	config := shortDir(t)
	s := start(t, Config{ConfigDir: config, Transcript: true, TranscriptDelay: silence, SessionID: "one", Cwd: "/x"})
	post(t, s, userLine("1", "a", "", ""))
	path := filepath.Join(config, "projects", "-x", "one.jsonl")
	until(t, func() bool {
		b, err := os.ReadFile(path)
		return err == nil && bytes.HasSuffix(b, []byte("\n"))
	})
}

func TestRowsOnlyForWhatIsTaken(t *testing.T) {
	for _, b := range []Behaviour{Hold, Refuse, Drop} {
		config := shortDir(t)
		s := start(t, Config{ConfigDir: config, Transcript: true, Behaviour: b})
		post(t, s, userLine("1", "a", "", ""))
		if _, err := os.Stat(filepath.Join(config, "projects")); err == nil {
			t.Errorf("%s left a row", b)
		}
	}
}

func TestUUID(t *testing.T) {
	a, err := newUUID()
	b, err2 := newUUID()
	if err != nil || err2 != nil || a == b || !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(a) {
		t.Errorf("%s, %s, %v, %v", a, b, err, err2)
	}
}

func TestPIDDomainForm(t *testing.T) {
	s := start(t, Config{ConfigDir: shortDir(t)})
	got := str(fieldsOf(t, published(t, s))["pidDomain"])
	if got == "" {
		t.Skip("unknown here")
	}
	if !regexp.MustCompile(`^linux:[0-9a-f]{32}:pid:\[[0-9]+\]$`).MatchString(got) || strings.Contains(got, "\n") {
		t.Errorf("pidDomain is %q", got)
	}
}
