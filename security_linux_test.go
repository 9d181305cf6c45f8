package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ccpost/golden"
)

// The reply socket is never open to others, not even between its being bound
// and the next system call, and whatever the umask is.
func TestReplySocketIsPrivateAtOnce(t *testing.T) {
	t.Parallel()
	needStrace(t)
	session := start(t, golden.Config{})
	cmd := exec.Command("sh", "-c", `umask 0 && exec "$@"`, "sh",
		"strace", "-f", "-o", os.DevNull, "-e", "trace=bind", "-e", "inject=bind:delay_exit=300000", // in µs
		"ccpost", "send", "hello")
	cmd.Env, cmd.Stderr = environ(t, session.Environ()...), os.Stderr
	do(t, cmd.Start())
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	seen := false
	for {
		select {
		case err := <-ended:
			do(t, err)
			if !seen {
				t.Error("no reply socket was there")
			}
			return
		default:
		}
		time.Sleep(time.Millisecond)
		replies, _ := filepath.Glob(filepath.Join(filepath.Dir(session.Path()), "????????????????.sock"))
		for _, path := range replies {
			// It may be removed meanwhile.
			if fi, err := os.Lstat(path); err == nil {
				seen = true
				if fi.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v", path, fi.Mode())
					<-ended
					return
				}
			}
		}
	}
}
