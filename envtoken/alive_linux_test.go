package envtoken

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
)

// only gives the one record of a world, and holds its reason to words; "" is live.
func only(t *testing.T, w world, words string) {
	t.Helper()
	records, errs := w.finder().Records(context.Background())
	if len(records) != 1 || len(errs) > 0 {
		t.Fatalf("%v %v", records, errs)
	}
	if words == "" {
		if records[0].Err != nil {
			t.Errorf("it isn't live: %v", records[0].Err)
		}
		return
	}
	wantError(t, records[0].Err, inbox.NotLive, "", words)
	for _, who := range []string{fmt.Sprint("pid:", records[0].PID), records[0].Name, "id:" + records[0].ID} {
		_, err := resolve(t, w.finder(), who)
		wantError(t, err, inbox.NotLive, "", words)
	}
	if _, err := both(w.finder().Path(t.Context(), w.socket(records[0].PID))); err == nil {
		t.Error("its path was resolved")
	}
}

func TestAliveByFields(t *testing.T) {
	w := newWorld(t)
	pid, _ := w.session(nil)
	domain := ownPIDDomain()
	if domain == "" {
		t.Log("the system doesn't tell its pid domain")
	}
	machine, _, _ := strings.Cut(strings.TrimPrefix(domain, "linux:"), ":pid:")
	for _, c := range []struct {
		name   string
		change fields
		words  string
	}{
		{"as it is", nil, ""},
		{"procStart isn't known", fields{"procStart": nil}, ""},
		{"pidDomain isn't known", fields{"pidDomain": nil}, ""},
		{"neither is", fields{"procStart": nil, "pidDomain": nil}, ""},
		{"procStart is empty", fields{"procStart": ""}, ""},
		{"reused pid", fields{"procStart": "1"}, "another process"},
		{"reused pid, a longer number", fields{"procStart": startOf(pid) + "0"}, "another process"},
		{"reused pid, a shorter number", fields{"procStart": startOf(pid)[1:]}, "another process"},
		{"procStart of another system", fields{"procStart": "Mon Nov 30 22:00:00 2026"}, "another process"},
		{"another container of this machine", fields{"pidDomain": "linux:" + machine + ":pid:[1]"}, "another container"},
		{"another machine", fields{"pidDomain": "linux:" + strings.Repeat("0", 32) + ":pid:[4026531836]"}, "another container"},
		{"another system", fields{"pidDomain": "darwin"}, "another container"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if domain == "" && c.words == "another container" {
				t.Skip("the system doesn't tell its pid domain")
			}
			w := w
			w.t = t
			w.put(w.file(pid), w.record(pid, c.change), 0o644)
			only(t, w, c.words)
		})
	}
}

func TestOwnPIDDomain(t *testing.T) {
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(strings.TrimSpace(string(machine))) == 0 {
		t.Skip("without a machine id")
	}
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ownPIDDomain(), "linux:"+strings.TrimSpace(string(machine))+":"+ns; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMachineWithoutID: images often have an empty machine id. Then nothing can
// be told from pidDomain, and it is left out of the judgement.
func TestMachineWithoutID(t *testing.T) {
	privateMounts(t, func() {
		empty := t.TempDir() + "/empty"
		if err := os.WriteFile(empty, []byte("\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(empty, "/etc/machine-id", "", unix.MS_BIND, ""); err != nil {
			t.Skip("no mount there:", err)
		}
		if got := ownPIDDomain(); got != "" {
			t.Errorf("%q", got)
		}
	})
}

func TestGone(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	// Whoever has the pid by now started at another time than this.
	w.put(w.file(pid), w.record(pid, fields{"procStart": "1"}), 0o644)
	if _, err := os.Stat(fmt.Sprint("/proc/", pid)); err == nil {
		t.Skip("the pid is in use again")
	}
	only(t, w, "gone")
}

// TestZombie: a process that has ended and that nobody has waited for still
// takes signals.
func TestZombie(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	pid := cmd.Process.Pid
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it never became a zombie: %s", stat)
		}
	}
	if err := unix.Kill(pid, 0); err != nil {
		t.Errorf("kill tells: %v", err)
	}
	w.put(w.file(pid), w.record(pid, nil), 0o644)
	only(t, w, "zombie")
}

// TestStopped: a session in the background of a shell is alive.
func TestStopped(t *testing.T) {
	w := newWorld(t)
	pid, _ := w.session(nil)
	w.check(unix.Kill(pid, unix.SIGSTOP))
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGCONT) })
	only(t, w, "")
}

// TestCommand: the command in /proc's stat stands in parentheses and may hold
// anything, of 15 bytes at most.
func TestCommand(t *testing.T) {
	const path = "/proc/self/comm"
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(path, []byte(strings.TrimSpace(string(was))), 0o644) })
	w := newWorld(t)
	pid := os.Getpid()
	start := startOf(pid)
	for _, comm := range []string{"a b", ") Z 1 1 1", "(((", ")))", "a) S 1 (b", "x) Z 0\n0 0", ") "} {
		if err := os.WriteFile(path, []byte(comm), 0o644); err != nil {
			t.Fatal(err)
		}
		w.put(w.file(pid), w.record(pid, fields{"procStart": start}), 0o644)
		only(t, w, "")
		w.put(w.file(pid), w.record(pid, fields{"procStart": "1"}), 0o644)
		only(t, w, "another process")
	}
}

// TestAnotherPIDNamespace: a session in a container writes the pid that it has
// there, which here is somebody else's.
func TestAnotherPIDNamespace(t *testing.T) {
	if ownPIDDomain() == "" {
		t.Skip("the system doesn't tell its pid domain")
	}
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no pid namespace can be made here:", err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	pid := cmd.Process.Pid // as it is seen from here; there it is 1
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		t.Skip(err)
	}
	domain := ownPIDDomain()
	there := domain[:strings.Index(domain, ":pid:")] + ":" + ns
	if there == domain {
		t.Fatal("it is in our own namespace")
	}
	w := newWorld(t)
	// Pid 1 exists here too, and even the start could be the same.
	w.put(w.file(1), w.record(1, fields{"pidDomain": there, "procStart": nil}), 0o644)
	only(t, w, "another container")
}

// Only a pid of this process's own container can be held against nobody's.
func TestHere(t *testing.T) {
	if ownPIDDomain() == "" {
		t.Skip("the system doesn't tell its pid domain")
	}
	for _, c := range []struct {
		domain any
		want   bool
	}{
		{ownPIDDomain(), true},
		{"linux::" + ownPIDNamespace(), true}, // no machine id, or another spelling of it
		{ownPIDDomain() + "0", false},
		{"", false},
		{nil, false},
	} {
		w := newWorld(t)
		pid, _ := w.session(fields{"pidDomain": c.domain})
		path := w.socket(pid)
		vars := []string{EnvSocket + "=" + path, EnvToken + "=" + keyToken, fmt.Sprint(EnvPID, "=", pid)}
		targets := map[string]inbox.Target{"environment": w.finder(vars...).Self(t.Context()).Target, "path": w.finder().Path(t.Context(), path).Target}
		for by, target := range targets {
			if target.PID != pid || target.Here == nil || target.Here() != c.want {
				t.Errorf("by %s, pidDomain %v: want %v of %v", by, c.domain, c.want, target)
			}
		}
	}
}
