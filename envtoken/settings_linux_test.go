package envtoken

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
)

// privateMounts runs f where it may mount what nobody else sees.
func privateMounts(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount")
	}
	why, done := "", make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread ends with the goroutine, its mounts with it.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			why = "unshare: " + err.Error()
		} else if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			why = "mount: " + err.Error()
		} else {
			f()
		}
	}()
	if <-done; why != "" {
		t.Skip(why)
	}
}

func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Errorf("mount on %s: %v", target, err)
		runtime.Goexit()
	}
}

func TestSetOnMounts(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, s Settings)
		want inbox.Reason
	}{
		{"a mounted file", func(t *testing.T, s Settings) {
			mount(t, settingsPath(s, "elsewhere"), s.UserFile(), "", unix.MS_BIND, "")
		}, ReasonMount},
		{"a read-only file system", func(t *testing.T, s Settings) {
			mount(t, s.ConfigDir, s.ConfigDir, "", unix.MS_BIND, "")
			mount(t, "", s.ConfigDir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
		}, ReasonNotWritable},
		{"a full file system", func(t *testing.T, s Settings) {
			mount(t, "none", s.ConfigDir, "tmpfs", 0, "size=16k")
			if err := os.WriteFile(s.UserFile(), []byte(`{"a":1}`), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(s.ConfigDir, "full"), make([]byte, 1<<20), 0o600); err == nil {
				t.Error("it isn't full")
			}
		}, ReasonDiskFull},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settingsIn(t, map[string]string{"user": `{"b":1}`, "elsewhere": `{"a":1}`})
			privateMounts(t, func() {
				c.make(t, s)
				before := listing(t, s.ConfigDir)
				changed, err := s.Set(Accept, "")
				var line string
				if err != nil {
					line = err.Error()
				}
				e, _ := err.(*inbox.Error)
				if changed || e == nil || e.Outcome != inbox.NotChanged || e.Reason != c.want ||
					!strings.Contains(line, `the line to add: "crossSessionInbound": "accept",`) {
					t.Errorf("changed %v, %v, want the reason %s", changed, err, c.want)
				}
				if after := listing(t, s.ConfigDir); after != before {
					t.Errorf("it was\n%sand is\n%s", before, after)
				}
			})
		})
	}
}

func TestSetLeavesAnAccessListAlone(t *testing.T) {
	s := settingsIn(t, map[string]string{"user": `{"a":1}`})
	// Version 2; tag, permissions, id: owner, one user, group, mask, others.
	acl := []byte{2, 0, 0, 0}
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, 1<<32 - 1}, {2, 4, 12345}, {4, 0, 1<<32 - 1}, {16, 4, 1<<32 - 1}, {32, 0, 1<<32 - 1}} {
		acl = binary.LittleEndian.AppendUint16(acl, e.tag)
		acl = binary.LittleEndian.AppendUint16(acl, e.perm)
		acl = binary.LittleEndian.AppendUint32(acl, e.id)
	}
	if err := unix.Setxattr(s.UserFile(), "system.posix_acl_access", acl, 0); err != nil {
		t.Skip(err)
	}
	leavesAlone(t, s, Accept, "", ReasonACL)
}

// TestExchange: what came to the path since it was looked at goes back.
func TestExchange(t *testing.T) {
	const content, other = `{"a":1}`, `{"a":2}`
	for _, c := range []struct {
		name string
		edit func(path string) error
		want error
		left string // at the path, where want is an error
	}{
		{"nothing", func(string) error { return nil }, nil, ""},
		{"another file", func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte(other), 0o600), os.Rename(path+"2", path))
		}, errChanged, other},
		{"another file of the same bytes", func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte(content), 0o600), os.Rename(path+"2", path))
		}, errChanged, content},
		{"other bytes", func(path string) error { return os.WriteFile(path, []byte(other), 0o600) }, errChanged, other},
		{"a link", func(path string) error { return errors.Join(os.Remove(path), os.Symlink("elsewhere", path)) }, errChanged, other},
		{"gone", os.Remove, errChanged, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settingsIn(t, map[string]string{"user": content})
			path := s.UserFile()
			tmp := path + ".tmp"
			old, err := openOwn(path)
			err = errors.Join(err, os.WriteFile(tmp, []byte("{}"), 0o600), os.WriteFile(filepath.Join(s.ConfigDir, "elsewhere"), []byte(other), 0o600), c.edit(path))
			if err != nil {
				t.Fatal(err)
			}
			was, _ := os.Lstat(path)
			if err := old.exchange(tmp, path); errors.Is(err, errors.ErrUnsupported) {
				t.Skip("not on this file system")
			} else if err != c.want {
				t.Errorf("%v, want %v", err, c.want)
			}
			at, mine := path, tmp
			if c.want == nil {
				at, mine, c.left = tmp, path, content
			}
			now, _ := os.Lstat(at)
			if got, _ := os.ReadFile(at); string(got) != c.left || was != nil && !os.SameFile(was, now) {
				t.Errorf("it is %q, want the very file with %q", got, c.left)
			}
			if got, err := os.ReadFile(mine); err != nil || string(got) != "{}" {
				t.Errorf("ours is %q, %v", got, err)
			}
		})
	}
}

// TestSetLosesNoOtherEdit: a writer that knows of no lock renames its file into
// place at about the time that Set does. Its last edit is always there in the end.
func TestSetLosesNoOtherEdit(t *testing.T) {
	s := settingsIn(t, map[string]string{"user": `{}`})
	path := s.UserFile()
	rename := func(n int) error {
		return errors.Join(os.WriteFile(path+".w", fmt.Appendf(nil, `{"n":%d}`, n), 0o600), os.Rename(path+".w", path))
	}
	lost := 0
	for round := range 200 {
		start, done := make(chan bool), make(chan error, 1)
		s.beforeRename = func() { close(start) }
		go func() {
			<-start
			for range round % 50 * 500 {
			}
			done <- errors.Join(rename(2*round), rename(2*round+1))
		}()
		changed, err := s.Set([]Inbound{Accept, Hold}[round%2], "")
		if !changed && err == nil {
			t.Fatal("it was set already")
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !strings.Contains(string(got), fmt.Sprintf(`"n":%d}`, 2*round+1)) {
			lost++
		}
	}
	if lost > 0 && !errors.Is(exchange(path, path), errors.ErrUnsupported) {
		t.Errorf("%d edits of 200 are lost", lost)
	}
	if entries, err := os.ReadDir(s.ConfigDir); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}
