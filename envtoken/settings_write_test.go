package envtoken

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
)

// listing is all that is in a directory, and of files the mode and content.
func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := os.Lstat(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %v", e.Name(), info.Mode())
		if info.Mode().IsRegular() {
			st := info.Sys().(*syscall.Stat_t)
			content, _ := os.ReadFile(filepath.Join(dir, e.Name()))
			fmt.Fprintf(&b, " inode %d, %d:%d, %q", st.Ino, st.Uid, st.Gid, content)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// leavesAlone holds an edit to having changed nothing, for this reason, and to
// saying what to do by hand.
func leavesAlone(t *testing.T, s Settings, v Inbound, revision string, want inbox.Reason) {
	t.Helper()
	before := listing(t, s.ConfigDir)
	changed, err := s.Set(v, revision)
	wantRefusal(t, v, changed, err, want)
	if after := listing(t, s.ConfigDir); after != before {
		t.Errorf("it was\n%sand is\n%s", before, after)
	}
}

func wantRefusal(t *testing.T, v Inbound, changed bool, err error, want inbox.Reason) {
	t.Helper()
	var e *inbox.Error
	if changed || !errors.As(err, &e) || e.Outcome != inbox.NotChanged || e.Reason != want || !errors.Is(err, inbox.ErrConfig) {
		t.Fatalf("changed %v, %v (%+v); want the reason %s", changed, err, e, want)
	}
	line := `the line to add: "crossSessionInbound": "` + string(v) + `",`
	if v == Unset {
		line = `the line to remove: "crossSessionInbound"`
	}
	if !strings.Contains(err.Error(), line) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q doesn't hold %q in one line", err, line)
	}
}

func mustSet(t *testing.T, s Settings, v Inbound, wantChanged bool) {
	t.Helper()
	if changed, err := s.Set(v, ""); err != nil || changed != wantChanged {
		t.Fatalf("set to %q: changed %v, want %v; %v", v, changed, wantChanged, err)
	}
}

func TestSetKeepsTheRest(t *testing.T) {
	const content = "{\r\n\t\"b\" : 1,\r\n\t\"a\":2 }\n\n"
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o664, 0o666, 0o200 | 0o400 | fs.ModeSticky} {
		s := settingsIn(t, map[string]string{"user": content})
		if err := os.Chmod(s.UserFile(), mode); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(s.UserFile(), 0, 12345); err != nil {
				t.Fatal(err)
			}
		}
		was, err := os.Stat(s.UserFile())
		if err != nil {
			t.Fatal(err)
		}
		before := listing(t, s.ConfigDir)

		mustSet(t, s, Accept, true)
		first := listing(t, s.ConfigDir)
		mustSet(t, s, Accept, false)
		if again := listing(t, s.ConfigDir); again != first {
			t.Errorf("set twice it was\n%sand is\n%s", first, again)
		}
		mustSet(t, s, Refuse, true)
		got, err := os.ReadFile(s.UserFile())
		if want := "{\r\n\t\"crossSessionInbound\": \"refuse\",\r\n\t\"b\" : 1,\r\n\t\"a\":2 }\n\n"; err != nil || string(got) != want {
			t.Errorf("it is %q (%v), want %q", got, err, want)
		}
		mustSet(t, s, Unset, true)
		mustSet(t, s, Unset, false)
		now, err := os.Stat(s.UserFile())
		if err != nil {
			t.Fatal(err)
		}
		ino := func(info fs.FileInfo) string { return fmt.Sprintf("inode %d", info.Sys().(*syscall.Stat_t).Ino) }
		if after := strings.Replace(listing(t, s.ConfigDir), ino(now), ino(was), 1); after != before {
			t.Errorf("it was\n%sand came back as\n%s", before, after)
		}
	}
}

func TestSetNewFile(t *testing.T) {
	s := settingsIn(t, nil)
	mustSet(t, s, Unset, false)
	if l := listing(t, s.ConfigDir); l != "" {
		t.Errorf("unset made %s", l)
	}
	mustSet(t, s, Hold, true)
	info, err := os.Stat(s.UserFile())
	if err != nil || info.Mode() != 0o600 || info.Sys().(*syscall.Stat_t).Nlink != 1 {
		t.Fatalf("%v %v", info, err)
	}
	got, err := os.ReadFile(s.UserFile())
	if want := "{\n  \"crossSessionInbound\": \"hold\"\n}\n"; err != nil || string(got) != want {
		t.Errorf("it is %q (%v), want %q", got, err, want)
	}
	if entries, _ := os.ReadDir(s.ConfigDir); len(entries) != 1 {
		t.Errorf("there is more: %v", entries)
	}
	mustSet(t, s, Unset, true)
	if got, _ := os.ReadFile(s.UserFile()); string(got) != newSettings {
		t.Errorf("it came back as %q", got)
	}
}

func TestSetLeavesContentAlone(t *testing.T) {
	for _, c := range []struct {
		content string
		want    inbox.Reason
	}{
		{"", ReasonNotJSON},
		{"{\n  // why\n  \"a\": 1\n}", ReasonNotJSON},
		{`{"a":1,}`, ReasonNotJSON},
		{`[]`, ReasonNotJSON},
		{`{"a":1}{}`, ReasonNotJSON},
		{`{"a":"` + "\xff" + `"}`, ReasonNotJSON},
		{`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, ReasonNotJSON},
		{bom + bom + `{}`, ReasonNotJSON},
		{`{"crossSessionInbound":"hold","a":1,"crossSession\u0049nbound":"refuse"}`, ReasonDuplicateKey},
		{`{}` + strings.Repeat(" ", maxSettings), ReasonTooLarge},
		{`{}` + strings.Repeat(" ", maxSettings-10), ReasonTooLarge},
	} {
		s := settingsIn(t, map[string]string{"user": c.content})
		leavesAlone(t, s, Accept, "", c.want)
	}
	s := settingsIn(t, map[string]string{"user": `{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`})
	mustSet(t, s, Accept, true)
	// Twice the key, but the last already says so: there is nothing to edit.
	s = settingsIn(t, map[string]string{"user": `{"crossSessionInbound":"hold","crossSessionInbound":"accept"}`})
	mustSet(t, s, Accept, false)
	leavesAlone(t, s, Unset, "", ReasonDuplicateKey)
	// What can't be read may well hold the key.
	s = settingsIn(t, map[string]string{"user": `{"a":1,}`})
	leavesAlone(t, s, Unset, "", ReasonNotJSON)
	// An unknown value counts as hold, but isn't written so.
	s = settingsIn(t, map[string]string{"user": sets("maybe")})
	mustSet(t, s, Hold, true)
}

func TestSetLeavesFilesAlone(t *testing.T) {
	elsewhere := func(s Settings) string { return filepath.Join(s.ManagedDir, "elsewhere") }
	for _, c := range []struct {
		name string
		make func(t *testing.T, s Settings) error
		want inbox.Reason
	}{
		{"link", func(t *testing.T, s Settings) error { return os.Symlink(elsewhere(s), s.UserFile()) }, inbox.ReasonSymlink},
		{"link to nothing", func(t *testing.T, s Settings) error { return os.Symlink("nothing", s.UserFile()) }, inbox.ReasonSymlink},
		{"hard link", func(t *testing.T, s Settings) error { return os.Link(elsewhere(s), s.UserFile()) }, ReasonHardLink},
		{"directory", func(t *testing.T, s Settings) error { return os.Mkdir(s.UserFile(), 0o700) }, ReasonNotRegular},
		{"pipe", func(t *testing.T, s Settings) error { return syscall.Mkfifo(s.UserFile(), 0o600) }, ReasonNotRegular},
		{"read-only", func(t *testing.T, s Settings) error { return os.WriteFile(s.UserFile(), []byte("{}"), 0o400) }, ReasonNotWritable},
		{"another user's", func(t *testing.T, s Settings) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			return errors.Join(os.WriteFile(s.UserFile(), []byte("{}"), 0o666), os.Chown(s.UserFile(), 12345, -1))
		}, ReasonNotOurs},
		{"unreadable", func(t *testing.T, s Settings) error {
			if os.Geteuid() == 0 {
				t.Skip("root reads everything")
			}
			return os.WriteFile(s.UserFile(), []byte("{}"), 0o200)
		}, ReasonUnreadable},
		{"directory without write permission", func(t *testing.T, s Settings) error {
			if os.Geteuid() == 0 {
				t.Skip("root writes everywhere")
			}
			t.Cleanup(func() { _ = os.Chmod(s.ConfigDir, 0o700) })
			return errors.Join(os.WriteFile(s.UserFile(), []byte("{}"), 0o600), os.Chmod(s.ConfigDir, 0o500))
		}, ReasonNotWritable},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settingsIn(t, map[string]string{"elsewhere": `{"a":1}`})
			if err := os.Rename(settingsPath(s, "elsewhere"), elsewhere(s)); err != nil {
				t.Fatal(err)
			}
			if err := c.make(t, s); err != nil {
				t.Fatal(err)
			}
			leavesAlone(t, s, Accept, "", c.want)
			if got, err := os.ReadFile(elsewhere(s)); err != nil || string(got) != `{"a":1}` {
				t.Errorf("elsewhere is %q now: %v", got, err)
			}
		})
	}
}

func TestSetBehindALinkThatSaysSoAlready(t *testing.T) {
	s := settingsIn(t, map[string]string{"elsewhere": sets("accept")})
	if err := os.Symlink(settingsPath(s, "elsewhere"), s.UserFile()); err != nil {
		t.Fatal(err)
	}
	mustSet(t, s, Accept, false)
	leavesAlone(t, s, Unset, "", inbox.ReasonSymlink)
}

func TestSetWithoutConfigDir(t *testing.T) {
	s := settingsIn(t, nil)
	s.ConfigDir = filepath.Join(s.ConfigDir, "nothing")
	changed, err := s.Set(Accept, "")
	wantRefusal(t, Accept, changed, err, ReasonUnreadable)
	if err := os.WriteFile(s.ConfigDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err = s.Set(Accept, "")
	wantRefusal(t, Accept, changed, err, ReasonUnreadable)
}

func TestSetAtRevision(t *testing.T) {
	s := settingsIn(t, nil)
	leavesAlone(t, s, Accept, revision([]byte("{}")), ReasonRevision)
	if changed, err := s.Set(Accept, "absent"); err != nil || !changed {
		t.Fatalf("%v %v", changed, err)
	}
	leavesAlone(t, s, Hold, "absent", ReasonRevision)
	// Also where there would be nothing to do: the caller is told that it is late.
	leavesAlone(t, s, Accept, "absent", ReasonRevision)
	at := s.Policy().Revision
	if changed, err := s.Set(Hold, at); err != nil || !changed {
		t.Fatalf("%v %v", changed, err)
	}
	leavesAlone(t, s, Accept, at, ReasonRevision)
}

// TestSetAfterAnotherEdit: somebody edits between our read and our rename.
func TestSetAfterAnotherEdit(t *testing.T) {
	const content, other = `{"a":1}`, `{"a":2}`
	for _, c := range []struct {
		name string
		had  bool
		edit func(path string) error
		left string // nothing is no file
	}{
		{"in place", true, func(path string) error { return os.WriteFile(path, []byte(other), 0o600) }, other},
		{"by rename, the same bytes", true, func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte(content), 0o600), os.Rename(path+"2", path))
		}, content},
		{"the mode", true, func(path string) error { return os.Chmod(path, 0o640) }, content},
		{"removed", true, os.Remove, ""},
		{"made a link", true, func(path string) error { return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)) }, content},
		{"made", false, func(path string) error { return os.WriteFile(path, []byte(other), 0o600) }, other},
		{"made a link to nothing", false, func(path string) error { return os.Symlink("nothing", path) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			if c.had {
				files["user"] = content
			}
			s := settingsIn(t, files)
			called := 0
			s.beforeRename = func() {
				called++
				if err := c.edit(s.UserFile()); err != nil {
					t.Error(err)
				}
			}
			changed, err := s.Set(Accept, "")
			wantRefusal(t, Accept, changed, err, ReasonChanged)
			got, _ := os.ReadFile(s.UserFile())
			if string(got) != c.left || called != 1 {
				t.Errorf("%q is left after %d edits, want %q", got, called, c.left)
			}
			if l := listing(t, s.ConfigDir); strings.Contains(l, ".tmp") {
				t.Errorf("something is left behind:\n%s", l)
			}
		})
	}
}

func TestSetAfterAnotherGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to any group")
	}
	s := settingsIn(t, map[string]string{"user": `{"a":1}`})
	s.beforeRename = func() {
		if err := os.Chown(s.UserFile(), -1, 12345); err != nil {
			t.Error(err)
		}
	}
	changed, err := s.Set(Accept, "")
	wantRefusal(t, Accept, changed, err, ReasonChanged)
}

// TestSetOnAFullDisk runs itself as a child whose files may not grow.
func TestSetOnAFullDisk(t *testing.T) {
	const child = "CCPOST_TEST_SETTINGS"
	if dir := os.Getenv(child); dir != "" {
		limit := unix.Rlimit{Cur: 64, Max: 64}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		leavesAlone(t, Settings{ConfigDir: dir}, Accept, "", ReasonDiskFull)
		return
	}
	s := settingsIn(t, map[string]string{"user": `{"a":"` + strings.Repeat("x", 100) + `"}`})
	cmd := exec.Command(os.Args[0], "-test.run=^TestSetOnAFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), child+"="+s.ConfigDir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestSetWaitsForAnotherEdit: two ccposts don't edit at once.
func TestSetWaitsForAnotherEdit(t *testing.T) {
	s := settingsIn(t, map[string]string{"user": `{"a":1}`})
	dir, err := os.Open(s.ConfigDir)
	if err == nil {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	leavesAlone(t, s, Accept, "", ReasonLocked)
	done := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond)
		done <- unix.Flock(int(dir.Fd()), unix.LOCK_UN)
	}()
	mustSet(t, s, Accept, true)
	if err := <-done; err != nil {
		t.Error(err)
	}
	mustSet(t, s, Unset, true) // the lock isn't kept
}

// TestSetInAnothersDirectory: no file of ours is made where another user's
// sessions would read it, or fail to.
func TestSetInAnothersDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	s := settingsIn(t, nil)
	if err := os.Chown(s.ConfigDir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	leavesAlone(t, s, Accept, "", ReasonNotOurs)
	leavesAlone(t, s, Accept, "absent", ReasonNotOurs)
	mustSet(t, s, Unset, false)
	// One that is ours already may be edited.
	if err := os.WriteFile(s.UserFile(), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	mustSet(t, s, Accept, true)
}
