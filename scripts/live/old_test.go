//go:build live

package live

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The variable that keeps a session from all traffic but its API's is as good as
// no network.
func TestNoInboxWithoutNetwork(t *testing.T) {
	path, err := fetch(inboxOffline.not, *cacheDir)
	path = fetched(t, inboxOffline.not, path, err)
	h := newHome(t)
	s := h.prepare(t, "worker-a", nil)
	cmd := exec.Command(path, "-p", "--name", s.name,
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	cmd.Dir, cmd.Env = s.work, s.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout = logFile(t, s.file("stdout"))
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	s.exited = make(chan struct{})
	go func() {
		cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		s.stdin.Close()
		select {
		case <-s.exited:
		case <-time.After(5 * time.Second):
			s.kill()
		}
	})

	s.prompt(t, "go on") // one that has answered is not starting any more
	s.awaitResult(t, 1)
	if got := s.record(t).MessagingSocketPath; got != "" {
		t.Fatalf("its record names %s", got)
	}
	for _, args := range [][]string{{"send", "to nobody"}, {"check"}, {"rename", "worker-b"}} {
		args = append(args, "--to", "worker-a")
		r := h.run(t, args...)
		if r.exit != 69 || !strings.HasPrefix(r.stderr, "ccpost: no-socket-path: ") ||
			!strings.Contains(r.stderr, "\nhint: ") || !strings.Contains(r.stderr, "be of an older version") {
			t.Errorf("%s exits %d and says %q", args[0], r.exit, r.stderr)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(h.dir, "run", "cc-socks", "*")); len(found) != 0 {
		t.Errorf("there is %v", found)
	}
}
