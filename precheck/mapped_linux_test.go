package precheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ccpost/precheck"
)

// TestBlind runs itself where its own user isn't mapped: every user's files show
// one uid there, ours too, and nothing is vouched for.
func TestBlind(t *testing.T) {
	const env = "CCPOST_TEST_BLIND"
	if dir := os.Getenv(env); dir != "" {
		if os.Geteuid() != 65534 {
			t.Fatalf("the uid is %d", os.Geteuid())
		}
		uid := 65534
		path, file := filepath.Join(dir, "s"), filepath.Join(dir, "f")
		_, err := precheck.Path(path, precheck.Options{})
		wantBlind(t, err)
		_, err = precheck.ReadFile(file, 10, precheck.FileOptions{})
		wantBlind(t, err)
		_, err = precheck.OpenFile(file, precheck.FileOptions{})
		wantBlind(t, err)
		wantBlind(t, precheck.Dir(dir, precheck.FileOptions{}))
		// Who says which user is meant is believed.
		if _, err := precheck.ReadFile(file, 10, precheck.FileOptions{UID: &uid}); err != nil {
			t.Error(err)
		}
		return
	}
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	path := filepath.Join(dir, "s")
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := precheck.Path(path, precheck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = h.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBlind$", "-test.v")
	cmd.Env = append(os.Environ(), env+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Skip("no user namespace: ", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func wantBlind(t *testing.T, err error) {
	t.Helper()
	e, _ := err.(*precheck.Error)
	if e == nil || e.Reason != precheck.ForeignUID || !strings.Contains(e.Error(), "isn't mapped here") {
		t.Errorf("%v", err)
	}
}
