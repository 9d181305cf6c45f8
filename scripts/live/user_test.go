//go:build live

package live

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// newPlainHome makes a HOME of a user other than root, which a session that
// bypasses permissions needs. Root lends it to nobody.
func newPlainHome(t *testing.T) *home {
	t.Helper()
	h := newHome(t)
	if os.Geteuid() != 0 {
		return h
	}
	err := h.lend("nobody")
	if err == nil {
		claude, post := h.program(t, claude(t)), h.program(t, ccpost(t))
		err = errors.Join(h.try(claude, "--version"), h.try(post, "version"))
	}
	if err != nil {
		notRun(t, fmt.Sprintf("no user other than root: %v", err))
	}
	return h
}

// lend lets the sessions of a HOME and what posts into them run as a user.
func (h *home) lend(name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	h.As = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// try runs a program as the sessions of this HOME are run.
func (h *home) try(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = "/", []string{"HOME=" + h.Dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.As}
	return cmd.Run()
}

// give makes what the test wrote in a HOME that is lent its user's own. Nothing
// there is a link to something elsewhere but what that user made, and a link
// itself is given, never what it names.
func (h *home) give(t *testing.T) {
	t.Helper()
	if h.As == nil {
		return
	}
	err := filepath.WalkDir(h.Dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, int(h.As.Uid), int(h.As.Gid))
		}
		if errors.Is(err, fs.ErrNotExist) { // a session works there
			err = nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// program is an executable where the sessions of this HOME can run it: the
// cache, for one, is closed to everybody but its user.
func (h *home) program(t *testing.T, path string) string {
	t.Helper()
	if h.As == nil {
		return path
	}
	dir := filepath.Join(buildDir, "open")
	open := filepath.Join(dir, filepath.Base(path))
	if _, err := os.Stat(open); err == nil {
		return open
	}
	for _, dir := range []string{buildDir, dir} {
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.Chmod(dir, 0o755) // whatever the umask
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := copyProgram(path, open); err != nil {
		t.Fatal(err)
	}
	return open
}

// copyProgram copies an executable. A link would do on some systems only.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(0o755), out.Close())
}
