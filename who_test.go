package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/golden"
	"ccpost/inbox"
)

// reported is what these tests read of a report.
type reported struct {
	Outcome   inbox.Name   `json:"outcome"`
	Reason    inbox.Reason `json:"reason"`
	Detail    string       `json:"detail"`
	Exit      int          `json:"exit"`
	PID       int          `json:"pid"`
	Name      string       `json:"name"`
	Socket    string       `json:"socket"`
	Confirmed *bool        `json:"confirmed"`
	Enabled   *bool        `json:"enabled"`
	Available *bool        `json:"available"`
	Matches   []struct {
		Name      string
		PID       int
		SessionID string `json:"session_id"`
		Dir       string
	}
	Checks []struct{ Check, Answer, Detail string }
}

// reports runs the program with --json and reads what it printed, one object a line.
func reports(t testing.TB, env []string, args ...string) ([]reported, ended) {
	t.Helper()
	e := inProcess(t, env, append([]string{args[0], "--json"}, args[1:]...)...)
	if part, found := leak(e.stdout+e.stderr, envToken, keyToken); found {
		t.Errorf("it printed %q of a token: %v", part, e)
	}
	if e.stderr != "" {
		t.Errorf("standard error isn't empty: %v", e)
	}
	var out []reported
	for line := range strings.Lines(e.stdout) {
		var r reported
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %v", err, e)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		t.Fatalf("it printed nothing: %v", e)
	}
	return out, e
}

// inProcess runs the program in this process: there are many of these runs, and
// under the race detector a process of their own takes its time.
func inProcess(t testing.TB, env []string, args ...string) ended {
	t.Helper()
	stdin, err := os.Open(os.DevNull)
	do(t, err)
	defer stdin.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr strings.Builder
	code := run(ctx, args, stdin, &stdout, &stderr, env)
	return ended{code, stdout.String(), stderr.String()}
}

// place is where a stand-in session of this process lives.
type place struct {
	s       *golden.Session
	config  string
	sockets string
	id      string
}

func (p place) file() string {
	return filepath.Join(p.config, "sessions", strconv.Itoa(os.Getpid())+".json")
}

func (p place) keyFile() string {
	return filepath.Join(p.config, "sessions", fmt.Sprintf("%d.%x.key", os.Getpid(), sha256.Sum256([]byte(p.s.Path()))))
}

// settle starts a stand-in session in a place of its own.
func settle(t testing.TB, c golden.Config) place {
	t.Helper()
	dir := shortDir(t)
	c.ConfigDir, c.SocketDir = filepath.Join(dir, "c"), filepath.Join(dir, "s")
	s := start(t, c)
	return place{s, c.ConfigDir, c.SocketDir, lookup(s.Environ(), "CLAUDE_CODE_SESSION_ID")}
}

// edit changes text in a file, in place, and puts it back with the test.
func edit(t testing.TB, path, old, new string) {
	t.Helper()
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(was), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(was), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// alive is a live process that is no session; it ends with the test.
func alive(t testing.TB) int {
	t.Helper()
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// silent is a socket that takes connections into its backlog, and counts them.
func silent(t testing.TB, path string) (connections func() (n, bytes int)) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return func() (n, bytes int) {
		raw, err := l.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) {
				for {
					conn, _, err := unix.Accept(int(fd))
					if err != nil {
						return
					}
					f := os.NewFile(uintptr(conn), "connection")
					b, _ := io.ReadAll(f) // the writer has ended
					f.Close()
					n, bytes = n+1, bytes+len(b)
				}
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return n, bytes
	}
}

// TestCheckAgreesWithSend: check blesses nothing that send refuses, and refuses
// nothing that send takes; outcome, reason and exit code are the same.
func TestCheckAgreesWithSend(t *testing.T) {
	own := []string{}
	named := []string{"--to", "own"}
	for _, c := range []struct {
		name    string
		spoil   func(t *testing.T, p place, env []string) (newEnv, newArgs []string)
		to      []string // own is inside the session, anything else outside of it
		want    inbox.Name
		reason  inbox.Reason
		connect bool // only connecting tells
	}{
		{"nothing, inside", nil, own, inbox.SentNoReceipt, "", false},
		{"nothing, by name", nil, named, inbox.SentNoReceipt, "", false},
		{"nobody", nil, []string{"--to", "nobody"}, inbox.NoSessionRecord, "", false},
		{"no pid", nil, []string{"--to", "pid:x"}, inbox.Usage, "", false},
		{"no directory", nil, []string{"--to", "dir:/nonexistent"}, inbox.Usage, "", false},
		{"relative path", nil, []string{"--to", "a/b.sock"}, inbox.BadEnvironment, inbox.ReasonRelative, false},
		{"abstract", nil, []string{"--to", "@x"}, inbox.BadEnvironment, inbox.ReasonAbstract, false},
		{"empty", nil, []string{"--to", ""}, inbox.BadEnvironment, inbox.ReasonEmpty, false},
		{"a file", func(t *testing.T, p place, env []string) ([]string, []string) {
			path := filepath.Join(p.sockets, "file")
			write(t, path, "", 0o600)
			return env, []string{"--to", path}
		}, named, inbox.NotASocket, inbox.ReasonNotSocket, false},
		{"a path of no record", func(t *testing.T, p place, env []string) ([]string, []string) {
			path := filepath.Join(p.sockets, "1.sock")
			silent(t, path)
			return env, []string{"--to", path}
		}, named, inbox.NoAuthKey, inbox.ReasonNoRecord, false},

		{"dead, by name", killed, named, inbox.NotLive, "", false},
		{"dead, by path", func(t *testing.T, p place, env []string) ([]string, []string) {
			killed(t, p, env)
			return env, []string{"--to", p.s.Path()}
		}, named, inbox.NotLive, "", false},
		// The environment's inbox is judged by who answers there; the record
		// only adds a name to it. With --connect that counts for check too.
		{"dead, inside", killed, own, inbox.SentNoReceipt, "", true},
		{"no socket in the record", func(t *testing.T, p place, env []string) ([]string, []string) {
			edit(t, p.file(), "messagingSocketPath", "messagingSocketPathX")
			return env, nil
		}, named, inbox.NoSocketPath, "", false},
		{"broken record", func(t *testing.T, p place, env []string) ([]string, []string) {
			edit(t, p.file(), `"pid":`, `"pid":1`)
			return env, nil
		}, named, inbox.NoSessionRecord, inbox.ReasonBadRecord, false},
		// No record, and so no key.
		{"broken record, by path", func(t *testing.T, p place, env []string) ([]string, []string) {
			edit(t, p.file(), `"pid":`, `"pid":1`)
			return env, []string{"--to", p.s.Path()}
		}, named, inbox.NoAuthKey, inbox.ReasonNoRecord, false},
		// It only adds to the environment, and can be left out.
		{"broken record, inside", func(t *testing.T, p place, env []string) ([]string, []string) {
			edit(t, p.file(), `"pid":`, `"pid":1`)
			return env, nil
		}, own, inbox.SentNoReceipt, "", false},
		{"no record, inside", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_CONFIG_DIR=/nonexistent"), nil
		}, own, inbox.SentNoReceipt, "", false},

		{"no key", func(t *testing.T, p place, env []string) ([]string, []string) {
			do(t, os.Remove(p.keyFile()))
			return env, nil
		}, named, inbox.NoAuthKey, "", false},
		{"a key that others read", func(t *testing.T, p place, env []string) ([]string, []string) {
			do(t, os.Chmod(p.keyFile(), 0o640))
			return env, nil
		}, named, inbox.NoAuthKey, "", false},
		{"a key that others read, inside", func(t *testing.T, p place, env []string) ([]string, []string) {
			do(t, os.Chmod(p.keyFile(), 0o640))
			return env, nil
		}, own, inbox.SentNoReceipt, "", false},
		{"others may write the registry", func(t *testing.T, p place, env []string) ([]string, []string) {
			do(t, os.Chmod(filepath.Dir(p.file()), 0o770))
			return env, nil
		}, named, inbox.ForeignSocket, inbox.ReasonDirMode, false},
		// The others are looked into all the same.
		{"others may write another registry", func(t *testing.T, p place, env []string) ([]string, []string) {
			return env, []string{"--config-dir", p.config, "--config-dir", unsafeRegistry(t), "--to", "own"}
		}, named, inbox.SentNoReceipt, "", false},
		{"others may write another registry, by id inside", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_PID", "CLAUDE_CONFIG_DIR="+filepath.Dir(unsafeRegistry(t))), nil
		}, own, inbox.NoSessionRecord, "", false},
		{"others may write the registry, by id inside", func(t *testing.T, p place, env []string) ([]string, []string) {
			do(t, os.Chmod(filepath.Dir(p.file()), 0o770))
			return with(env, "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_PID"), nil
		}, own, inbox.ForeignSocket, inbox.ReasonDirMode, false},
		{"a file for the registry", func(t *testing.T, p place, env []string) ([]string, []string) {
			config := filepath.Join(shortDir(t), "c")
			do(t, os.Mkdir(config, 0o700))
			write(t, filepath.Join(config, "sessions"), "", 0o600)
			return env, []string{"--config-dir", config, "--to", "own"}
		}, named, inbox.NoSessionRecord, "", false},
		{"no config dir", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_CONFIG_DIR=relative"), nil
		}, named, inbox.NoSessionRecord, "", false},
		{"bad token", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_CODE_MESSAGING_TOKEN=x y"), nil
		}, own, inbox.BadEnvironment, inbox.ReasonBadToken, false},
		{"bad pid", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_PID=x"), nil
		}, own, inbox.BadEnvironment, inbox.ReasonBadPID, false},
		{"another session's variables", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_CODE_SESSION_ID=0a0b0c0d-0000-4000-8000-000000000000"), nil
		}, own, inbox.SessionChanged, "", false},

		{"no socket", lost, named, inbox.SocketMissing, "", false},
		{"no socket, inside", lost, own, inbox.SocketMissing, "", false},
		{"open socket", func(t *testing.T, p place, env []string) ([]string, []string) {
			do(t, os.Chmod(p.s.Path(), 0o660))
			return env, nil
		}, own, inbox.ForeignSocket, inbox.ReasonMode, false},
		{"open directory", func(t *testing.T, p place, env []string) ([]string, []string) {
			do(t, os.Chmod(p.sockets, 0o770))
			return env, nil
		}, named, inbox.ForeignSocket, inbox.ReasonDirMode, false},
		{"a link", func(t *testing.T, p place, env []string) ([]string, []string) {
			do(t, os.Rename(p.s.Path(), p.s.Path()+"x"))
			do(t, os.Symlink(p.s.Path()+"x", p.s.Path()))
			t.Cleanup(func() { do(t, os.Rename(p.s.Path()+"x", p.s.Path())) })
			return env, nil
		}, named, inbox.ForeignSocket, inbox.ReasonSymlink, false},
		{"planted", func(t *testing.T, p place, env []string) ([]string, []string) {
			pid, path := alive(t), filepath.Join(p.sockets, "planted.sock")
			silent(t, path)
			register(t, p.config, pid, path, "planted-1")
			return env, []string{"--to", "planted-1"}
		}, named, inbox.ForeignSocket, inbox.ReasonRecordPath, false},
		{"two of one name", func(t *testing.T, p place, env []string) ([]string, []string) {
			pid := alive(t)
			register(t, p.config, pid, filepath.Join(p.sockets, "x.sock"), "twin-one")
			edit(t, filepath.Join(p.config, "sessions", strconv.Itoa(pid)+".json"), `{`, `{"name":"own",`)
			return env, nil
		}, named, inbox.AmbiguousTarget, "", false},
		{"a second record of the id with a dead socket", func(t *testing.T, p place, env []string) ([]string, []string) {
			pid := alive(t)
			register(t, p.config, pid, filepath.Join(p.sockets, strconv.Itoa(pid)+".sock"), p.id)
			return env, []string{"--to", p.id}
		}, named, inbox.SentNoReceipt, "", true},

		{"nobody listens", deaf, named, inbox.SocketRefused, "", true},
		{"nobody listens, inside", deaf, own, inbox.SocketRefused, "", true},
		{"a datagram socket", func(t *testing.T, p place, env []string) ([]string, []string) {
			stale(t, p, unix.SOCK_DGRAM)
			return env, nil
		}, named, inbox.NotASocket, inbox.ReasonNotStream, true},
		{"another process answers", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_PID=1"), nil
		}, own, inbox.ForeignSocket, inbox.ReasonPeerPID, false},
		{"another process answers, without token", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_PID=1", "CLAUDE_CODE_MESSAGING_TOKEN"), nil
		}, own, inbox.ForeignSocket, inbox.ReasonPeerPID, false},
		{"another process answers, without record", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_PID=1", "CLAUDE_CONFIG_DIR=/nonexistent"), nil
		}, own, inbox.ForeignSocket, inbox.ReasonPeerPID, true},
		{"another process answers, by pid", func(t *testing.T, p place, env []string) ([]string, []string) {
			pid := alive(t)
			path := filepath.Join(p.sockets, strconv.Itoa(pid)+".sock")
			silent(t, path)
			register(t, p.config, pid, path, "other-one")
			return env, []string{"--to", "pid:" + strconv.Itoa(pid)}
		}, named, inbox.ForeignSocket, inbox.ReasonPeerPID, true},

		// The environment's inbox is gone; the session's record tells where it is now.
		// For check as for send, and for send also where the token isn't set.
		{"resumed elsewhere", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_CODE_MESSAGING_SOCKET="+p.sockets+"/1.sock", "CLAUDE_PID=1"), nil
		}, own, inbox.SentNoReceipt, "", false},
		{"resumed elsewhere, without token", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_CODE_MESSAGING_SOCKET="+p.sockets+"/1.sock", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_PID=1"), nil
		}, own, inbox.SentNoReceipt, "", false},
		{"resumed elsewhere, nobody listens at the old one", func(t *testing.T, p place, env []string) ([]string, []string) {
			path := filepath.Join(p.sockets, "1.sock")
			bindOnly(t, path, unix.SOCK_STREAM)
			return with(env, "CLAUDE_CODE_MESSAGING_SOCKET="+path, "CLAUDE_PID=1"), nil
		}, own, inbox.SentNoReceipt, "", true},
		{"another session's inbox is gone", func(t *testing.T, p place, env []string) ([]string, []string) {
			return with(env, "CLAUDE_CODE_MESSAGING_SOCKET="+p.sockets+"/1.sock", "CLAUDE_CODE_SESSION_ID=0a0b0c0d-0000-4000-8000-000000000000", "CLAUDE_PID=1"), nil
		}, own, inbox.SocketMissing, "", false},

		// Another's inbox is gone: that is no reason to post to oneself.
		{"another one's inbox is gone", func(t *testing.T, p place, env []string) ([]string, []string) {
			pid := alive(t)
			register(t, p.config, pid, filepath.Join(p.sockets, strconv.Itoa(pid)+".sock"), "other-one")
			return with(env, p.s.Environ()...), []string{"--to", "other-one"}
		}, own, inbox.SocketMissing, "", false},

		// Nor where it bears our id, or our variables name its process.
		{"another one's inbox is gone, and it has our id", func(t *testing.T, p place, env []string) ([]string, []string) {
			pid := alive(t)
			register(t, p.config, pid, filepath.Join(p.sockets, strconv.Itoa(pid)+".sock"), p.id)
			return with(env, p.s.Environ()...), []string{"--to", "pid:" + strconv.Itoa(pid)}
		}, own, inbox.SocketMissing, "", false},
		{"another one's inbox is gone, and our variables name its process", func(t *testing.T, p place, env []string) ([]string, []string) {
			pid := alive(t)
			register(t, p.config, pid, filepath.Join(p.sockets, strconv.Itoa(pid)+".sock"), "other-one")
			return with(env, "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_PID="+strconv.Itoa(pid)), []string{"--to", "other-one"}
		}, own, inbox.SocketMissing, "", false},

		// Check doesn't bless what send refuses.
		{"switched off", func(t *testing.T, p place, env []string) ([]string, []string) {
			return append(env, "CCPOST=0"), nil
		}, named, inbox.ChannelOff, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.HasPrefix(c.name, "dead") && runtime.GOOS != "linux" {
				t.Skip("procStart is compared on Linux")
			}
			p := settle(t, golden.Config{Name: "own"})
			env := environ(t, "CLAUDE_CONFIG_DIR="+p.config)
			if len(c.to) == 0 {
				env = environ(t, p.s.Environ()...)
			}
			args := c.to
			if c.spoil != nil {
				var more []string
				if env, more = c.spoil(t, p, env); more != nil {
					args = more
				}
			}
			sent, _ := reports(t, env, append([]string{"send"}, append(args, "hello")...)...)
			if len(sent) != 1 || sent[0].Outcome != c.want || sent[0].Reason != c.reason {
				t.Errorf("send: %+v, want %s %q", sent, c.want, c.reason)
			}
			want := sent[0]
			if want.Outcome == inbox.SentNoReceipt {
				want.Outcome = inbox.Reachable
			}
			held := func(what string, checked []reported, e ended) {
				t.Helper()
				if len(checked) != 1 || checked[0].Outcome != want.Outcome || checked[0].Reason != want.Reason || checked[0].Exit != want.Exit || e.code != want.Exit {
					t.Errorf("%s says %+v, exit %d; send %s %q, exit %d", what, checked, e.code, sent[0].Outcome, sent[0].Reason, sent[0].Exit)
				}
			}
			checked, e := reports(t, env, append([]string{"check", "--connect"}, args...)...)
			held("check --connect", checked, e)
			if a := checked[0].Available; a == nil || c.want != inbox.ChannelOff && *a != (want.Exit == 0) {
				t.Errorf("available is %v", a)
			}
			if a := checked[0].Enabled; a == nil || *a != (c.want != inbox.ChannelOff) {
				t.Errorf("enabled is %v", a)
			}
			if !c.connect {
				checked, e = reports(t, env, append([]string{"check"}, args...)...)
				held("check", checked, e)
				dry, e := reports(t, env, append([]string{"send", "--dry-run"}, append(args, "hello")...)...)
				held("send --dry-run", dry, e)
			}
			// Once by send, where that went well, and never by check.
			messages := 0
			if sent[0].Exit == 0 {
				messages = 1
			}
			if got := len(p.s.Messages()); got != messages {
				t.Errorf("%d messages came, want %d", got, messages)
			}
			if len(p.s.Lines()) != 2*messages {
				t.Errorf("%d lines came", len(p.s.Lines()))
			}
		})
	}
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	do(t, errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)))
}

// unsafeRegistry is a config dir whose registry others may write to.
func unsafeRegistry(t *testing.T) string {
	t.Helper()
	config := filepath.Join(shortDir(t), "c")
	do(t, os.MkdirAll(filepath.Join(config, "sessions"), 0o700))
	do(t, os.Chmod(filepath.Join(config, "sessions"), 0o770))
	return config
}

// killed makes the record one of a process that had this pid before.
func killed(t *testing.T, p place, env []string) ([]string, []string) {
	if runtime.GOOS == "linux" {
		edit(t, p.file(), `"procStart":"`, `"procStart":"9`)
	}
	return env, nil
}

func lost(t *testing.T, p place, env []string) ([]string, []string) {
	do(t, os.Remove(p.s.Path()))
	return env, nil
}

func deaf(t *testing.T, p place, env []string) ([]string, []string) {
	stale(t, p, unix.SOCK_STREAM)
	return env, nil
}

// stale puts a socket in the session's place at which nobody listens.
func stale(t *testing.T, p place, kind int) {
	t.Helper()
	do(t, os.Remove(p.s.Path()))
	bindOnly(t, p.s.Path(), kind)
}

func bindOnly(t *testing.T, path string, kind int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	do(t, err)
	unix.CloseOnExec(fd)
	t.Cleanup(func() { unix.Close(fd); os.Remove(path) })
	do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	do(t, os.Chmod(path, 0o600))
}

// TestNothingConnectsUnasked: check, list and every dry run look at files alone,
// also where several records bear one session id.
func TestNothingConnectsUnasked(t *testing.T) {
	dir := shortDir(t)
	config := filepath.Join(dir, "c")
	socket := func(pid int) string { return filepath.Join(dir, "s", strconv.Itoa(pid)+".sock") }
	one, two, three := alive(t), alive(t), alive(t)
	counts := map[string]func() (int, int){}
	for pid, id := range map[int]string{one: "only-one", two: "same-id-twice", three: "same-id-twice"} {
		counts[strconv.Itoa(pid)] = silent(t, socket(pid))
		register(t, config, pid, socket(pid), id)
	}
	outside := environ(t, "CLAUDE_CONFIG_DIR="+config)
	inside := environ(t, "CLAUDE_CONFIG_DIR="+config, "CLAUDE_CODE_SESSION_ID=only-one")
	twice := environ(t, "CLAUDE_CONFIG_DIR="+config, "CLAUDE_CODE_SESSION_ID=same-id-twice")
	untouched := func(what string) {
		t.Helper()
		for pid, count := range counts {
			if n, _ := count(); n > 0 {
				t.Errorf("%s connected to %s", what, pid)
			}
		}
	}
	for _, args := range [][]string{
		{"list"}, {"list", "-v"}, {"list", "--json"}, {"list", "-v", "--json"},
		{"check"}, {"check", "--to", "only-one"}, {"check", "--to", "pid:" + strconv.Itoa(one)}, {"check", "--to", socket(one)}, {"check", "--to", "dir:/"}, {"check", "--to", "nobody"},
		{"send", "--dry-run", "--to", "only-one", "x"}, {"send", "--dry-run", "--to", socket(one), "x"},
		// None of these may connect: of two records that bear one id a post
		// would ask both. Without leave to connect it is ambiguous.
		{"check", "--to", "same-id-twice"}, {"check", "--all"}, {"check", "--to", "same-id"},
		{"send", "--dry-run", "--to", "same-id-twice", "x"}, {"send", "--dry-run", "--all", "x"},
	} {
		inProcess(t, outside, args...)
		untouched(strings.Join(args, " "))
	}
	// The environment's inbox is gone, and two records bear the id.
	gone := with(twice, "CLAUDE_CODE_MESSAGING_SOCKET="+filepath.Join(dir, "s", "1.sock"), "CLAUDE_CODE_MESSAGING_TOKEN="+envToken)
	for _, env := range [][]string{inside, twice, gone} {
		for _, args := range [][]string{{"check"}, {"check", "--to", "self"}, {"send", "--dry-run", "x"}, {"list"}} {
			inProcess(t, env, args...)
			untouched(strings.Join(args, " ") + " inside")
		}
		ccpost(t, env, `{"hook_event_name":"Notification","session_id":"other-id","message":"x"}`, "hook", "--dry-run")
		untouched("hook --dry-run")
	}
	// With leave it connects, once, and writes nothing.
	r, e := reports(t, outside, "check", "--connect", "--to", "only-one")
	if r[0].Outcome != inbox.ForeignSocket || r[0].Reason != inbox.ReasonPeerPID {
		t.Errorf("%v", e)
	}
	if n, bytes := counts[strconv.Itoa(one)](); n != 1 || bytes != 0 {
		t.Errorf("%d connections, %d bytes", n, bytes)
	}
}

// TestSelfElsewhere: where the environment's inbox is gone, the post goes to the
// record of the environment's session id with that record's key, and to nobody else.
func TestSelfElsewhere(t *testing.T) {
	for _, kind := range []string{"missing", "refused"} {
		for _, command := range [][]string{{"send", "hello"}, {"hook", "--allow-self"}, {"rename", "hello"}} {
			t.Run(kind+" "+command[0], func(t *testing.T) {
				p := settle(t, golden.Config{Name: "own"})
				old := filepath.Join(p.sockets, "1.sock")
				if kind == "refused" {
					bindOnly(t, old, unix.SOCK_STREAM)
				}
				env := environ(t, with(p.s.Environ(), "CLAUDE_CODE_MESSAGING_SOCKET="+old, "CLAUDE_PID=1")...)
				event := `{"hook_event_name":"Notification","session_id":"` + p.id + `","message":"hello"}`
				if e := ccpost(t, env, event, command...); e.code != 0 {
					t.Errorf("%v", e)
				}
				got := wire(p.s)
				if !strings.Contains(got, keyToken) || !strings.Contains(got, "hello") || strings.Contains(got, envToken) {
					t.Errorf("it was sent %q", strings.NewReplacer(keyToken, "KEY", envToken, "ENV").Replace(got))
				}
				// Another session's id: nobody is reached.
				env = with(env, "CLAUDE_CODE_SESSION_ID=0a0b0c0d-0000-4000-8000-000000000000")
				event = strings.Replace(event, p.id, "0a0b0c0d-0000-4000-8000-000000000000", 1)
				if e := ccpost(t, env, event, command...); e.code != 69 {
					t.Errorf("%v", e)
				}
				if wire(p.s) != got {
					t.Error("it was sent more")
				}
			})
		}
	}
}

// TestSelfElsewhereIsNamedToo: the inbox that self has now gets the message once,
// also where another --to names it.
func TestSelfElsewhereIsNamedToo(t *testing.T) {
	p := settle(t, golden.Config{Name: "own"})
	env := environ(t, with(p.s.Environ(), "CLAUDE_CODE_MESSAGING_SOCKET="+filepath.Join(p.sockets, "1.sock"), "CLAUDE_PID=1")...)
	for _, args := range [][]string{{"send", "--to", "self", "--to", "own", "hello"}, {"send", "--to", "own", "--to", "self", "hello"}} {
		before := len(p.s.Messages())
		r, e := reports(t, env, args...)
		if n := len(p.s.Messages()) - before; n != 1 || len(r) != 1 || e.code != 0 || r[0].Socket != p.s.Path() {
			t.Errorf("%d messages, %v", n, e)
		}
	}
	// A path names it as self does.
	before := len(p.s.Messages())
	_, e := reports(t, env, "send", "--to", filepath.Join(p.sockets, "1.sock"), "--to", "self", "hello")
	if n := len(p.s.Messages()) - before; n != 1 || e.code != 0 {
		t.Errorf("%d messages, %v", n, e)
	}
}

// TestOthersAreNotRenamed: a name for another session, whose inbox is gone, is
// none for the caller's own.
func TestOthersAreNotRenamed(t *testing.T) {
	p := settle(t, golden.Config{Name: "own"})
	pid := alive(t)
	register(t, p.config, pid, filepath.Join(p.sockets, strconv.Itoa(pid)+".sock"), p.id)
	r, e := reports(t, environ(t, p.s.Environ()...), "rename", "--to", "pid:"+strconv.Itoa(pid), "new")
	if len(r) != 1 || r[0].Outcome != inbox.SocketMissing || len(p.s.Lines()) > 0 {
		t.Errorf("%v, %q", e, p.s.Lines())
	}
}

// TestCheckNamesTheRecord: the step says which record was looked at.
func TestCheckNamesTheRecord(t *testing.T) {
	p := settle(t, golden.Config{Name: "own"})
	env := environ(t, "CLAUDE_CONFIG_DIR="+p.config)
	steps := func(args ...string) map[string]string {
		r, _ := reports(t, env, append([]string{"check"}, args...)...)
		out := map[string]string{}
		for _, s := range r[0].Checks {
			out[s.Check] = s.Answer + ": " + s.Detail
		}
		return out
	}
	s := steps("--to", "own")
	if s["record"] != "ok: "+p.file() || s["live"] != fmt.Sprint("ok: pid ", os.Getpid()) || s["socket"] != "ok: "+p.s.Path() || s["version"] != "ok: 2.1.332" ||
		!strings.HasPrefix(s["key"], "ok: ") || !strings.HasPrefix(s["directories"], "ok: ") || s["sandbox"] != "ok: sockets may be made" || !strings.HasPrefix(s["connection"], ": not tried") {
		t.Errorf("%v", s)
	}
	do(t, os.Chmod(p.keyFile(), 0o644))
	if s := steps("--to", "own"); !strings.HasPrefix(s["key"], "no: ") || s["socket"] != "ok: "+p.s.Path() || !strings.HasPrefix(s["sandbox"], ": ") {
		t.Errorf("%v", s)
	}
	do(t, os.Chmod(p.keyFile(), 0o600))
	do(t, os.Chmod(p.sockets, 0o770))
	if s := steps("--to", "own"); !strings.HasPrefix(s["directories"], "no: ") || !strings.HasPrefix(s["socket"], ": ") || !strings.HasPrefix(s["key"], ": ") {
		t.Errorf("%v", s)
	}
	do(t, os.Chmod(p.sockets, 0o700))
	if runtime.GOOS == "linux" {
		killed(t, p, nil)
		// A record does name it: record ok with its file, live no.
		if s := steps("--to", "own"); s["record"] != "ok: "+p.file() || !strings.HasPrefix(s["live"], "no: pid ") || !strings.HasPrefix(s["socket"], ": ") {
			t.Errorf("%v", s)
		}
	}
	write(t, p.file(), "{", 0o644)
	if s := steps("--to", p.s.Path()); !strings.HasPrefix(s["live"], ": ") && !strings.HasPrefix(s["live"], "ok: not known") {
		t.Errorf("%v", s)
	}
}

// TestConfirmed: rename says whether the record shows the name.
func TestConfirmed(t *testing.T) {
	for _, c := range []struct {
		name   string
		config golden.Config
		want   bool
	}{{"interactive", golden.Config{}, true}, {"headless", golden.Config{Headless: true}, false}, {"another one in truth", golden.Config{Behaviour: golden.WrongSession}, false}} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Name = "old"
			p := settle(t, c.config)
			for how, env := range map[string][]string{"inside": environ(t, p.s.Environ()...), "outside": environ(t, "CLAUDE_CONFIG_DIR="+p.config)} {
				args := []string{"rename", "  new  " + how + " "}
				if how == "outside" {
					args = append(args, "--to", "id:"+p.id)
				}
				r, e := reports(t, env, args...)
				if len(r) != 1 || r[0].Outcome != inbox.RenameSent || r[0].Confirmed == nil || *r[0].Confirmed != c.want || e.code != 0 {
					t.Errorf("%v", e)
				}
				if got := strings.Contains(read(t, p.file()), `"name":"new `+how+`","nameSource":"peer"`); got != c.want {
					t.Errorf("the record: %s", read(t, p.file()))
				}
			}
		})
	}
	t.Run("its name was the name asked for", func(t *testing.T) {
		p := settle(t, golden.Config{Name: "it"})
		r, e := reports(t, environ(t, "CLAUDE_CONFIG_DIR="+p.config), "rename", "--to", "it", "it")
		if len(r) != 1 || r[0].Outcome != inbox.RenameSent || r[0].Confirmed == nil || !*r[0].Confirmed {
			t.Errorf("%v", e)
		}
	})
	t.Run("late", func(t *testing.T) {
		// A session's record shows it some milliseconds after the line was read.
		p := settle(t, golden.Config{Name: "old", Headless: true})
		shown := make(chan error, 1)
		go func() {
			for len(p.s.Lines()) < 2 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(30 * time.Millisecond)
			was, err := os.ReadFile(p.file())
			shown <- errors.Join(err, os.WriteFile(p.file(), []byte(strings.Replace(string(was), `"name":"old"`, `"name":"new"`, 1)), 0o600))
		}()
		r, e := reports(t, environ(t, "CLAUDE_CONFIG_DIR="+p.config), "rename", "--to", "id:"+p.id, "new")
		do(t, <-shown)
		if len(r) != 1 || r[0].Confirmed == nil || !*r[0].Confirmed {
			t.Errorf("%v", e)
		}
	})
	t.Run("by its old name", func(t *testing.T) {
		// That the name changes is what was asked for, and not session-changed.
		p := settle(t, golden.Config{Name: "before"})
		r, e := reports(t, environ(t, "CLAUDE_CONFIG_DIR="+p.config), "rename", "--to", "before", "after")
		if len(r) != 1 || r[0].Outcome != inbox.RenameSent || e.code != 0 || r[0].Confirmed == nil || !*r[0].Confirmed {
			t.Errorf("%v", e)
		}
	})
	t.Run("the key is refused", func(t *testing.T) {
		p := settle(t, golden.Config{Name: "old", Version: "2.1.240", Behaviour: golden.AuthRequired})
		edit(t, p.keyFile(), keyToken, "0123456789abcdef0123456789abcdef")
		for _, args := range [][]string{{"rename", "--to", "old", "new"}, {"send", "--to", "old", "x"}} {
			r, e := reports(t, environ(t, "CLAUDE_CONFIG_DIR="+p.config), args...)
			if len(r) != 1 || r[0].Outcome != inbox.AuthRejected || e.code != 76 || r[0].Confirmed != nil {
				t.Errorf("%v", e)
			}
		}
		if !strings.Contains(read(t, p.file()), `"name":"old"`) || strings.Contains(wire(p.s), "new") {
			t.Error("it was renamed")
		}
	})
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	do(t, err)
	return string(b)
}

// TestListMany: a thousand records, in two registries.
func TestListMany(t *testing.T) {
	p := settle(t, golden.Config{Name: "own"})
	other := filepath.Join(shortDir(t), "c")
	do(t, os.MkdirAll(filepath.Join(other, "sessions"), 0o700))
	for i := range 1000 {
		pid := 10_000_000 + i
		write(t, filepath.Join(other, "sessions", strconv.Itoa(pid)+".json"), fmt.Sprintf(`{"pid":%d,"sessionId":"dead-%d","name":"dead %d"}`, pid, i, i), 0o644)
	}
	env := environ(t)
	e := inProcess(t, env, "list", "--config-dir", other, "--config-dir", p.config)
	if lines := strings.Split(e.stdout, "\n"); e.code != 0 || e.stderr != "" || len(lines) != 3 || !strings.HasPrefix(lines[1], "own ") {
		t.Errorf("%v", e)
	}
	var rows []struct {
		PID         int
		Name, Inbox string
		ConfigDir   string    `json:"config_dir"`
		SessionID   string    `json:"session_id"`
		StartedAt   time.Time `json:"started_at"`
		Detail, Dir string
		Socket      string
	}
	e = inProcess(t, env, "list", "--json", "--verbose", "--config-dir", other, "--config-dir", p.config)
	if err := json.Unmarshal([]byte(e.stdout), &rows); err != nil || len(rows) != 1001 || e.code != 0 || e.stderr != "" {
		t.Fatalf("%v, %d rows, exit %d, %s", err, len(rows), e.code, e.stderr)
	}
	for i, r := range rows[:1000] {
		if r.PID != 10_000_000+i || r.Name != fmt.Sprint("dead ", i) || r.Inbox != "not-live" || r.ConfigDir != other || !strings.Contains(r.Detail, "gone") {
			t.Fatalf("%+v", r)
		}
	}
	if r := rows[1000]; r.PID != os.Getpid() || r.Name != "own" || r.Inbox != "reachable" || r.ConfigDir != p.config || r.SessionID != p.id || r.Socket != p.s.Path() || time.Since(r.StartedAt) > time.Hour {
		t.Errorf("%+v", r)
	}
}

// TestListBesideBadOnes: whatever another record says, a session is listed, and
// the JSON is one array. So they are beside a startedAt after the
// year 9999, which encoding/json refuses.
func TestListBesideBadOnes(t *testing.T) {
	p := settle(t, golden.Config{Name: "own"})
	pid := alive(t)
	path := filepath.Join(p.config, "sessions", strconv.Itoa(pid)+".json")
	text := func(more string) string { return fmt.Sprintf(`{"pid":%d,"sessionId":"odd-one-1"%s}`, pid, more) }
	env := environ(t, "CLAUDE_CONFIG_DIR="+p.config)
	for name, content := range map[string]string{
		"broken": "{", "empty": "", "a time beyond all years": text(`,"startedAt":1e18`), "a time before all years": text(`,"startedAt":-1e300`), "the largest time": text(`,"startedAt":1e308`),
		"a year of five digits": text(`,"startedAt":253402300800000`), "a fraction": text(`,"startedAt":0.5`),
		"control characters": text(`,"name":"\u001b[2J\n\r\t\u0000\u009b","cwd":"/\n\u001b[31m","status":"\u0007","version":"\n","tmux":"\n"`),
		"lone surrogate":     text(`,"name":"\ud800"`), "status object": text(`,"status":{"a":"\u001b"}`), "id with letters cut": `{"pid":1,"sessionId":"ééééé"}`,
		"500 characters": text(`,"name":"` + strings.Repeat("名", 500) + `","status":"` + strings.Repeat("s", 500) + `","version":"` + strings.Repeat("v", 500) + `"`),
	} {
		t.Run(name, func(t *testing.T) {
			write(t, path, content, 0o644)
			for _, args := range [][]string{{"list", "--json"}, {"list", "--json", "--verbose"}} {
				e := inProcess(t, env, args...)
				var rows []struct {
					PID  int
					Name string
				}
				if err := json.Unmarshal([]byte(e.stdout), &rows); err != nil || e.code != 0 || e.stderr != "" {
					t.Errorf("%v: %v", err, e)
					continue
				}
				found := false
				for _, r := range rows {
					found = found || r.PID == os.Getpid() && r.Name == "own"
				}
				if !found {
					t.Errorf("it isn't listed: %v", e)
				}
			}
			for _, args := range [][]string{{"list"}, {"list", "--verbose"}} {
				e := inProcess(t, env, args...)
				lines := strings.Split(strings.TrimSuffix(e.stdout, "\n"), "\n")
				if len(lines) < 2 || len(lines) > 3 {
					t.Errorf("%q", lines)
				}
				head := strings.Index(lines[0], " PID ")
				for _, line := range lines[1:] {
					if len(args) == 1 && textWidth(line) > 250 {
						t.Errorf("%d columns: %q", textWidth(line), line)
					}
					if strings.ContainsAny(line, "\x1b\x07\x00\r\t\u009b") {
						t.Errorf("%q", line)
					}
					// A column begins where its head does.
					before := line
					for i := range line {
						if textWidth(line[:i]) >= head {
							before = line[:i]
							break
						}
					}
					if textWidth(before) != head || line[len(before)] != ' ' || line[len(before)+1] < '0' || line[len(before)+1] > '9' {
						t.Errorf("not aligned:\n%s\n%s", lines[0], line)
					}
				}
				if !strings.Contains(e.stdout, "own ") || e.code != 0 {
					t.Errorf("%v", e)
				}
				if part, found := leak(e.stdout+e.stderr, envToken, keyToken); found {
					t.Errorf("it printed %q of a token", part)
				}
			}
		})
	}
}
