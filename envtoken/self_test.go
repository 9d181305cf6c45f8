package envtoken

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"ccpost/golden"
	"ccpost/inbox"
)

// standinProcess starts a stand-in session in a process of its own and gives its pid.
func standinProcess(t *testing.T, w world, c golden.Config) int {
	t.Helper()
	c.ConfigDir, c.SocketDir = w.config, w.sockets
	b, err := json.Marshal(struct{ SessionID, Name, ConfigDir, SocketDir string }{c.SessionID, c.Name, c.ConfigDir, c.SocketDir})
	w.check(err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestStandin$")
	cmd.Env = append(os.Environ(), standinEnv+"="+string(b))
	stdin, err := cmd.StdinPipe()
	w.check(err)
	stdout, err := cmd.StdoutPipe()
	w.check(err)
	w.check(cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	return cmd.Process.Pid
}

const standinEnv = "CCPOST_TEST_STANDIN"

// TestStandin is the process of standinProcess.
func TestStandin(t *testing.T) {
	config := os.Getenv(standinEnv)
	if config == "" {
		t.Skip("for other tests")
	}
	var c golden.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		t.Fatal(err)
	}
	s, err := golden.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// set gives vars with some set anew, or left out where there is no equals sign.
func set(vars []string, change ...string) []string {
	var out []string
	for _, v := range vars {
		key, _, _ := strings.Cut(v, "=")
		keep := true
		for _, c := range change {
			name, _, _ := strings.Cut(c, "=")
			keep = keep && name != key
		}
		if keep {
			out = append(out, v)
		}
	}
	for _, c := range change {
		if strings.Contains(c, "=") {
			out = append(out, c)
		}
	}
	return out
}

// wantTarget holds a target to a session. token says whose token it bears: "env" or "key".
func wantTarget(t *testing.T, target inbox.Target, err error, s *golden.Session, token, id, name string) {
	t.Helper()
	if err != nil {
		t.Errorf("got %v", err)
		return
	}
	env, key := s.Tokens()
	want := map[string]string{"env": env, "key": key}[token]
	if target.Path != s.Path() || target.Token.Reveal() != want || target.FromKey != (token == "key") ||
		target.PID != os.Getpid() || target.SessionID != id || target.Name != name {
		t.Errorf("%v, name %q, from key %v, token of %s: %v", target, target.Name, target.FromKey, token, target.Token.Reveal() == want)
	}
}

func TestSelf(t *testing.T) {
	w := newTown(t)
	// Others are there, and never meant.
	w.add("other", fields{"name": "other", "sessionId": idB})
	s := start(t, w.world, golden.Config{SessionID: idA, Name: "own"})
	env := s.Environ()
	self := func(vars []string) (inbox.Target, error) {
		t.Helper()
		return resolve(t, &Finder{Getenv: getenv(vars...)}, "self")
	}
	const socket, token, id, pid, config = EnvSocket, EnvToken, EnvSession, EnvPID, EnvConfigDir

	for _, c := range []struct {
		name         string
		change       []string
		token        string
		id, nameSeen string
	}{
		{"as a session gives them", nil, "env", idA, "own"},
		{"without pid", []string{pid}, "env", idA, "own"},
		{"without id", []string{id}, "env", idA, "own"},
		{"without config dir", []string{config}, "env", idA, ""},
		{"another home", []string{config, "HOME=/nonexistent"}, "env", idA, ""},
		{"without token", []string{token}, "key", idA, "own"},
		{"without token and pid", []string{token, pid}, "key", idA, "own"},
		{"the id alone", []string{socket, token, pid}, "key", idA, "own"},
		// After /clear, or where the variables are of another session: the post
		// holds this id against the record's.
		{"another id", []string{id + "=" + idC}, "env", idC, "own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, err := self(set(env, c.change...))
			if c.nameSeen == "" {
				c.id = "" // without a record no id goes into the frame
			}
			wantTarget(t, target, err, s, c.token, c.id, c.nameSeen)
		})
	}

	for _, c := range []struct {
		name   string
		change []string
		want   inbox.Name
		reason inbox.Reason
		words  string
	}{
		{"nothing", []string{socket, token, id, pid}, inbox.NoSessionRecord, "", "CLAUDE_CODE_MESSAGING_SOCKET is not set"},
		{"the pid alone", []string{socket, token, id}, inbox.NoSessionRecord, "", ""},
		{"an id that nobody has", []string{socket, token, id + "=" + idC}, inbox.NoSessionRecord, "", idC},
		{"part of an id", []string{socket, token, id + "=aaaaaaaa"}, inbox.NoSessionRecord, "", ""},
		{"another registry", []string{socket, token, config + "=/nonexistent"}, inbox.NoSessionRecord, "", "/nonexistent/sessions"},
		{"pid is a word", []string{pid + "=x"}, inbox.BadEnvironment, inbox.ReasonBadPID, `"x"`},
		{"another pid", []string{pid + "=1"}, inbox.ForeignSocket, inbox.ReasonPeerPID, "CLAUDE_PID is 1"},
		{"another pid, without token", []string{pid + "=1", token}, inbox.ForeignSocket, inbox.ReasonPeerPID, "CLAUDE_PID is 1"},
		{"pid is negative", []string{pid + "=-1"}, inbox.BadEnvironment, inbox.ReasonBadPID, ""},
		{"a short token", []string{token + "=abc"}, inbox.BadEnvironment, inbox.ReasonBadToken, "CLAUDE_CODE_MESSAGING_TOKEN"},
		{"a token of two lines", []string{token + "=" + keyToken + "\n" + keyToken}, inbox.BadEnvironment, inbox.ReasonBadToken, ""},
		{"a socket of no record, without token", []string{socket + "=" + w.socket(w.pids["other"]) + "x", token}, inbox.SocketMissing, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, err := self(set(env, c.change...))
			wantError(t, err, c.want, c.reason, c.words)
			if !target.Token.IsZero() {
				t.Error("there is a token")
			}
		})
	}

	t.Run("its record is broken", func(t *testing.T) {
		// The record only adds what it says; the environment is enough.
		was, err := os.ReadFile(w.file(os.Getpid()))
		w.check(err)
		defer func() { w.check(os.WriteFile(w.file(os.Getpid()), was, 0o644)) }()
		for _, broken := range []string{"", "{", strings.Replace(string(was), `"pid":`, `"pid":1`, 1), string(was[:len(was)-1]) + `,"name":"x"}`} {
			w.check(os.WriteFile(w.file(os.Getpid()), []byte(broken), 0o644))
			target, err := self(env)
			wantTarget(t, target, err, s, "env", "", "")
			if target.Current != nil {
				id, err := target.Current()
				t.Errorf("it asks the broken record: %q %v", id, err)
			}
		}
	})
	w.untouched()
}

// TestSelfByID: where the environment's inbox is gone.
func TestSelfByID(t *testing.T) {
	w := newTown(t)
	w.add("other", fields{"name": "other", "sessionId": idB})
	s := start(t, w.world, golden.Config{SessionID: idA, Name: "own"})
	for name, f := range map[string]*Finder{
		"variable":            {Getenv: getenv(EnvSession+"="+idA, EnvConfigDir+"="+w.config)},
		"event":               {Getenv: getenv(EnvConfigDir + "=" + w.config), SessionID: idA},
		"variable over event": {Getenv: getenv(EnvSession+"="+idA, EnvConfigDir+"="+w.config), SessionID: idB},
		"flag":                {Getenv: getenv(EnvSession + "=" + idA), ConfigDirs: []string{w.config}},
		"flag and variable":   {Getenv: getenv(EnvSession+"="+idA, EnvConfigDir+"="+w.config), ConfigDirs: []string{w.config}},
		"another flag":        {Getenv: getenv(EnvSession+"="+idA, EnvConfigDir+"="+w.config), ConfigDirs: []string{w.in("x").config}},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := both(f.SelfByID(t.Context()))
			wantTarget(t, target, err, s, "key", idA, "own")
		})
	}
	f := &Finder{Getenv: getenv(EnvConfigDir + "=" + w.config)}
	_, err := both(f.SelfByID(t.Context()))
	wantError(t, err, inbox.NoSessionRecord, "")
	f = &Finder{Getenv: getenv(EnvConfigDir+"="+w.config, EnvSession+"="+idC)}
	_, err = both(f.SelfByID(t.Context()))
	wantError(t, err, inbox.NoSessionRecord, "", idC)
	w.put(w.file(w.pids["other"]), w.record(w.pids["other"], fields{"sessionId": idC, "procStart": "1", "pidDomain": "linux:0:pid:[1]"}), 0o644)
	_, err = both(f.SelfByID(t.Context()))
	wantError(t, err, inbox.NotLive, "")
	w.untouched()
}

// TestSessionChanged: whatever named the session, it is another one when the
// message would be written; nothing is.
func TestSessionChanged(t *testing.T) {
	post := func(target inbox.Target) error {
		_, err := inbox.Post(t.Context(), target, inbox.Message{Body: "hello"}, inbox.Options{})
		return err
	}
	for _, who := range []string{"self", "own", idA, "pid:" + strconv.Itoa(os.Getpid()), "uds"} {
		t.Run(who, func(t *testing.T) {
			w := newWorld(t)
			s := start(t, w, golden.Config{SessionID: idA, Name: "own"})
			f := w.finder()
			if who == "self" {
				f = &Finder{Getenv: getenv(s.Environ()...)}
			}
			if who == "uds" {
				who = s.Path()
			}
			m, err := f.Find(t.Context(), who, false)
			if err != nil || m[0].Err != nil {
				t.Fatal(m, err)
			}
			if s.Clear() == idA {
				t.Fatal("it has the old id")
			}
			wantError(t, post(m[0].Target), inbox.SessionChanged, "", idA)
			if lines := s.Lines(); len(lines) > 0 {
				t.Errorf("it was sent %q", lines)
			}
			// Named anew, it is reached.
			if who == "self" {
				return // a process keeps its variables
			}
			if who == idA {
				if _, err := f.Find(t.Context(), who, false); outcome(err) != inbox.NoSessionRecord {
					t.Errorf("%v", err)
				}
				return
			}
			m, err = f.Find(t.Context(), who, false)
			if err != nil || m[0].Err != nil {
				t.Fatal(m, err)
			}
			if err := post(m[0].Target); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("renamed", func(t *testing.T) {
		w := newWorld(t)
		s := start(t, w, golden.Config{SessionID: idA, Name: "own"})
		find := func(who string) inbox.Target {
			m, err := w.finder().Find(t.Context(), who, false)
			if err != nil || m[0].Err != nil {
				t.Fatal(m, err)
			}
			return m[0].Target
		}
		byName, byID := find("own"), find(idA)
		if _, err := inbox.Rename(t.Context(), byID, "another", inbox.Options{}); err != nil {
			t.Fatal(err)
		}
		n := len(s.Lines())
		wantError(t, post(byName), inbox.SessionChanged, "", `"own"`, `"another"`)
		if len(s.Lines()) != n {
			t.Errorf("it was sent %q", s.Lines()[n:])
		}
		if err := post(byID); err != nil {
			t.Error(err)
		}
	})
}

// TestOwn: which target is the caller's own session.
func TestOwn(t *testing.T) {
	w := newTown(t)
	w.add("own", fields{"name": "own", "sessionId": idA})
	w.add("other", fields{"name": "other", "sessionId": idB})
	target := func(as string) inbox.Target {
		m, err := w.finder().Find(t.Context(), as, false)
		if err != nil || m[0].Err != nil {
			t.Fatal(m, err)
		}
		return m[0].Target
	}
	own, other := target("own"), target("other")
	for name, f := range map[string]*Finder{
		"socket": w.finder(EnvSocket + "=" + own.Path),
		"id":     w.finder(EnvSession + "=" + idA),
		"pid":    w.finder(EnvPID + "=" + strconv.Itoa(own.PID)),
		"event":  {Getenv: getenv(), SessionID: idA},
	} {
		if !f.Own(own) || f.Own(other) {
			t.Errorf("by %s: own %v, other %v", name, f.Own(own), f.Own(other))
		}
	}
	if f := w.finder(); f.Own(own) || f.Own(inbox.Target{}) {
		t.Error("outside of any session nothing is own")
	}
	// The name to post under.
	inside := w.finder(EnvSocket+"="+own.Path, EnvPID+"="+strconv.Itoa(own.PID))
	if got := inside.OwnName(context.Background(), other); got != "own" {
		t.Errorf("%q", got)
	}
	if got := inside.OwnName(context.Background(), own); got != "own" {
		t.Errorf("%q", got)
	}
	if got := w.finder().OwnName(context.Background(), other); got != "" {
		t.Errorf("%q", got)
	}
	if name, ok := inside.NameOf(context.Background(), other); !ok || name != "other" {
		t.Errorf("%q %v", name, ok)
	}
	if !errors.Is(inbox.Fail(inbox.NotLive, "", nil), inbox.ErrSocketGone) {
		t.Error("the class")
	}
}

// both takes a match apart.
func both(m Match) (inbox.Target, error) { return m.Target, m.Err }
