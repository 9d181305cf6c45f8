package precheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// ways are the three ways to the same answer.
var ways = map[string]Options{
	"production": {},
	"no proc":    {fdDir: "/nonexistent"},
	"injected":   {Stat: os.Lstat},
}

func TestSpelling(t *testing.T) {
	fill := func(n int) string { return "/" + strings.Repeat("a", n-1) }
	for _, c := range []struct {
		path string
		pid  int
		want Reason
		fact string // must be in the sentence
	}{
		{"", 0, Empty, "the socket has an empty path"},
		{"/tmp/a\x00b", 0, Nul, `"/tmp/a\x00b"`},
		{"\x00name", 0, Nul, ""},
		{`\\.\pipe\cc`, 0, WindowsPipe, ""},
		{`\\?\PIPE\cc`, 0, WindowsPipe, ""},
		{`\\.\pip`, 0, Relative, ""},
		{"@name", 0, Abstract, ""},
		{"@" + fill(200), 0, Abstract, ""},
		{"tmp/1.sock", 0, Relative, "does not begin with a slash"},
		{".", 0, Relative, "does not begin with a slash"},
		{"/tmp//1.sock", 0, Relative, `cleaned it is "/tmp/1.sock"`},
		{"/tmp/../1.sock", 0, Relative, `cleaned it is "/1.sock"`},
		{"/tmp/1.sock/", 0, Relative, `cleaned it is "/tmp/1.sock"`},
		{fill(MaxSocketPath+1) + "/", 0, Relative, ""},
		{fill(MaxSocketPath + 1), 0, PathTooLong, fmt.Sprintf("%d bytes, at most %d", MaxSocketPath+1, MaxSocketPath)},
		{fill(MaxSocketPath + 1), 7, PathTooLong, ""},
		{fill(MaxSocketPath), 7, RecordPath, ""},
		{"/nonexistent/8.sock", 7, RecordPath, "named 7.sock"},
		{"/nonexistent/7.sock.sock", 7, RecordPath, ""},
		{"/nonexistent/07.sock", 7, RecordPath, ""},
		{"/nonexistent/7.sock", 7, Missing, `"/nonexistent"`},
		{fill(MaxSocketPath), 0, "", ""},
	} {
		// For the last row: a root that holds a socket of any name.
		o := Options{RecordPID: c.pid}
		if c.want == "" {
			o.Stat = fakeFS{"/": dir(0, 0o755), c.path: socket(0, 0o600)}.stat
			o.UID = new(int)
		}
		_, err := Path(c.path, o)
		if got := reasonOf(err); got != c.want {
			t.Errorf("%.60q pid %d: reason %q, want %q (%v)", c.path, c.pid, got, c.want, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.fact) {
			t.Errorf("%.60q: %v; want in it: %s", c.path, err, c.fact)
		}
	}
}

func TestMaxSocketPath(t *testing.T) {
	want := 103
	if runtime.GOOS == "linux" {
		want = 107
	}
	if MaxSocketPath != want {
		t.Errorf("MaxSocketPath = %d, want %d", MaxSocketPath, want)
	}
}

// TestPath judges real files: base/a/b/1.sock with one thing wrong.
func TestPath(t *testing.T) {
	const sock = "a/b/1.sock"
	chmod := func(name string, mode uint32) func(*testing.T, string) {
		return func(t *testing.T, base string) { bareChmod(t, filepath.Join(base, name), mode) }
	}
	replace := func(make func(path string) error) func(*testing.T, string) {
		return func(t *testing.T, base string) {
			path := filepath.Join(base, sock)
			must(t, os.Rename(path, path+".was"))
			must(t, make(path))
		}
	}
	relink := func(name string) func(*testing.T, string) {
		return func(t *testing.T, base string) {
			path := filepath.Join(base, name)
			must(t, os.Rename(path, path+".was"))
			must(t, os.Symlink(path+".was", path))
		}
	}
	chown := func(name string) func(*testing.T, string) {
		return func(t *testing.T, base string) {
			needRoot(t)
			must(t, os.Lchown(filepath.Join(base, name), nobody, nobody))
		}
	}
	for _, c := range []struct {
		name   string
		change func(*testing.T, string)
		want   Reason
		about  string // the path in the error, below base
		fact   string
	}{
		{"as it should be", nil, "", "", ""},
		{"no socket", replace(func(string) error { return nil }), Missing, sock, "no such file"},
		{"no directory", func(t *testing.T, base string) { must(t, os.Rename(base+"/a", base+"/c")) }, Missing, "a", ""},
		{"file for a directory", func(t *testing.T, base string) {
			must(t, os.Rename(base+"/a/b", base+"/a/c"))
			must(t, os.WriteFile(base+"/a/b", nil, 0o600))
		}, Missing, "a/b", "not a directory"},

		{"link to the socket", relink(sock), Symlink, sock, ""},
		{"dangling link", replace(func(p string) error { return os.Symlink("nothing", p) }), Symlink, sock, ""},
		{"regular file", replace(func(p string) error { return os.WriteFile(p, nil, 0o600) }), NotSocket, sock, "a regular file"},
		{"directory", replace(func(p string) error { return os.Mkdir(p, 0o700) }), NotSocket, sock, "a directory"},
		{"named pipe", replace(func(p string) error { return syscall.Mkfifo(p, 0o600) }), NotSocket, sock, "a named pipe"},
		{"device", func(t *testing.T, base string) {
			needRoot(t)
			replace(func(p string) error {
				if err := syscall.Mknod(p, syscall.S_IFCHR|0o600, 1<<8|3); err != nil {
					t.Skip("mknod:", err)
				}
				return nil
			})(t, base)
		}, NotSocket, sock, "a device"},
		{"foreign socket", chown(sock), ForeignUID, sock, "owned by uid 65534, want 0; inside a user namespace"},

		{"socket 0660", chmod(sock, 0o660), Mode, sock, "mode 0660, want 0600"},
		{"socket 0606", chmod(sock, 0o606), Mode, sock, "mode 0606"},
		{"socket 0700", chmod(sock, 0o700), Mode, sock, "mode 0700"},
		{"socket 0400", chmod(sock, 0o400), Mode, sock, "mode 0400"},
		{"socket setuid", chmod(sock, 0o4600), Mode, sock, "mode 4600"},
		{"socket setgid", chmod(sock, 0o2600), Mode, sock, "mode 2600"},
		{"socket sticky", chmod(sock, 0o1600), Mode, sock, "mode 1600"},

		{"last g+w", chmod("a/b", 0o770), DirMode, "a/b", "mode 0770"},
		{"last o+w", chmod("a/b", 0o702), DirMode, "a/b", "mode 0702"},
		{"last sticky", chmod("a/b", 0o1777), DirMode, "a/b", "mode 1777"},
		{"last readable", chmod("a/b", 0o755), "", "", ""},
		{"last not readable for us", chmod("a/b", 0o300), "", "", ""},
		{"foreign last", chown("a/b"), DirOwner, "a/b", "owned by uid 65534, want 0; inside"},
		{"linked last", relink("a/b"), DirSymlink, "a/b", ""},

		{"ancestor o+w", chmod("a", 0o777), DirMode, "a", "mode 0777, without the sticky bit"},
		{"ancestor sticky", chmod("a", 0o1777), "", "", ""},
		{"ancestor g+w", chmod("a", 0o770), DirMode, "a", "mode 0770, without the sticky bit"},
		{"ancestor g+w, sticky", chmod("a", 0o1770), "", "", ""},
		{"foreign ancestor", chown("a"), DirOwner, "a", "owned by uid 65534"},
		{"linked ancestor", relink("a"), DirSymlink, "a", ""},
		{"no way in", func(t *testing.T, base string) {
			if os.Geteuid() == 0 {
				t.Skip("root gets in everywhere")
			}
			bareChmod(t, base+"/a", 0)
		}, Stat, "a/b", "permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := shortDir(t)
			path := filepath.Join(base, sock)
			listen(t, path)
			if c.change != nil {
				c.change(t, base)
			}
			for way, o := range ways {
				before := openFiles(t)
				h, err := Path(path, o)
				if got := reasonOf(err); got != c.want {
					t.Errorf("%s: reason %q, want %q (%v)", way, got, c.want, err)
					continue
				}
				if err == nil {
					if err := h.Recheck(); err != nil {
						t.Errorf("%s: Recheck: %v", way, err)
					}
					must(t, h.Close())
					must(t, h.Close())
				} else {
					if e := err.(*Error); e.Path != filepath.Join(base, c.about) {
						t.Errorf("%s: about %q, want %q", way, e.Path, filepath.Join(base, c.about))
					}
					if !strings.Contains(err.Error(), c.fact) {
						t.Errorf("%s: %v; want in it: %s", way, err, c.fact)
					}
				}
				if after := openFiles(t); after != before {
					t.Errorf("%s: open files before: %s\nafter: %s", way, before, after)
				}
			}
		})
	}
}

// The directory that the socket stands in must be ours, not merely root's.
func TestRootsDirectory(t *testing.T) {
	base := shortDir(t)
	path := base + "/1.sock"
	listen(t, path)
	if os.Geteuid() == 0 {
		uid := nobody
		must(t, os.Chown(path, uid, uid))
		for way, o := range ways {
			o.UID = &uid
			if _, err := Path(path, o); reasonOf(err) != DirOwner || !strings.Contains(err.Error(), "owned by uid 0, want 65534") {
				t.Errorf("%s: %v, want %s", way, err, DirOwner)
			}
		}
		must(t, os.Chown(base, uid, uid))
		for way, o := range ways {
			o.UID = &uid
			h, err := Path(path, o)
			if err != nil {
				t.Errorf("%s: root's directories on the way, the last one ours: %v", way, err)
				continue
			}
			h.Close()
		}
		return
	}
	if _, err := Path("/usr/1.sock", Options{}); reasonOf(err) != DirOwner {
		t.Errorf("%v, want %s", err, DirOwner)
	}
}

// fakeFS answers as a file system of another system, or with other users.
type fakeFS map[string]fakeInfo

type fakeInfo struct {
	fs.FileInfo
	mode  fs.FileMode
	uid   uint32
	ino   uint64
	noSys bool
	to    string
	err   error
}

func (i fakeInfo) Mode() fs.FileMode { return i.mode }
func (i fakeInfo) Sys() any {
	if i.noSys {
		return nil
	}
	var st syscall.Stat_t
	st.Uid, st.Ino = i.uid, i.ino
	return &st
}

func (f fakeFS) stat(path string) (fs.FileInfo, error) {
	i, ok := f[path]
	if !ok {
		i.err = syscall.ENOENT
	}
	if i.err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: i.err}
	}
	return i, nil
}

func (f fakeFS) readlink(path string) (string, error) {
	if f[path].to == "" {
		return "", &fs.PathError{Op: "readlink", Path: path, Err: syscall.EINVAL}
	}
	return f[path].to, nil
}

func dir(uid uint32, mode fs.FileMode) fakeInfo { return fakeInfo{uid: uid, mode: fs.ModeDir | mode} }
func socket(uid uint32, mode fs.FileMode) fakeInfo {
	return fakeInfo{uid: uid, mode: fs.ModeSocket | mode}
}
func link(uid uint32, to string) fakeInfo {
	return fakeInfo{uid: uid, mode: fs.ModeSymlink | 0o777, to: to}
}

func TestPathInjected(t *testing.T) {
	const me = 501
	long := strings.Repeat("n", MaxSocketPath-len("/tmp/cc/"))
	mac := fakeFS{
		"/":                       dir(0, 0o755),
		"/tmp":                    link(0, "private/tmp"),
		"/private":                dir(0, 0o755),
		"/private/tmp":            dir(0, fs.ModeSticky|0o777),
		"/private/tmp/cc":         dir(me, 0o700),
		"/private/tmp/cc/1.sock":  socket(me, 0o600),
		"/private/tmp/cc/" + long: socket(me, 0o600),
		"/tmp/cc/" + long:         socket(me, 0o600),
		"/var":                    dir(0, 0o755),
		"/run":                    link(0, "/private/tmp"),
		"/var/run":                link(0, "../private/./tmp"),
		"/var/root":               link(0, "/"),
		"/var/mine":               link(me, "/private/tmp"),
		"/mine":                   link(me, "/private/tmp"),
		"/loop":                   link(0, "var/loop"),
		"/var/loop":               link(0, "/loop"),
		"/unreadable":             link(0, ""),
		"/private/link":           link(0, "tmp"),
		"/private/up":             dir(0, 0o755),
	}
	with := func(path string, i fakeInfo) fakeFS {
		changed := fakeFS{path: i}
		for p, i := range mac {
			if p != path {
				changed[p] = i
			}
		}
		return changed
	}
	const target = "/private/tmp/cc/1.sock"
	failing := func(errno error) fakeFS { return with("/private/tmp/cc", fakeInfo{err: errno}) }
	failSock := func(errno error) fakeFS { return with(target, fakeInfo{err: errno}) }
	for _, c := range []struct {
		name  string
		fs    fakeFS
		path  string
		want  Reason
		about string // the error's path, or the address
	}{
		{"no links", mac, target, "", target},
		{"link in /, relative", mac, "/tmp/cc/1.sock", "", target},
		{"link in /, absolute", mac, "/run/cc/1.sock", "", target},
		{"link in /var, with dots", mac, "/var/run/cc/1.sock", "", target},
		{"link to the root", mac, "/var/root/private/tmp/cc/1.sock", "", target},
		{"link to the root, nothing after it", with("/var", dir(me, 0o700)), "/var/root/1.sock", DirOwner, "/"},
		{"resolved too long", mac, "/tmp/cc/" + long, "", "/tmp/cc/" + long},
		{"our own link in /", mac, "/mine/cc/1.sock", DirSymlink, "/mine"},
		{"our own link in /var", mac, "/var/mine/cc/1.sock", DirSymlink, "/var/mine"},
		{"root's link elsewhere", mac, "/private/link/cc/1.sock", DirSymlink, "/private/link"},
		{"link of unknown owner", with("/tmp", fakeInfo{mode: fs.ModeSymlink, noSys: true, to: "private/tmp"}), "/tmp/cc/1.sock", DirSymlink, "/tmp"},
		{"loop", mac, "/loop/cc/1.sock", DirSymlink, "/loop"},
		{"link that can't be read", mac, "/unreadable/cc/1.sock", Resource, "/unreadable"},
		{"link led to the open", with("/private/tmp", dir(0, 0o777)), "/tmp/cc/1.sock", DirMode, "/private/tmp"},

		{"foreign root", with("/", dir(nobody, 0o755)), target, DirOwner, "/"},
		{"open root", with("/", dir(0, 0o777)), target, DirMode, "/"},
		{"foreign ancestor", with("/private", dir(502, 0o755)), target, DirOwner, "/private"},
		{"foreign sticky ancestor", with("/private/tmp", dir(502, fs.ModeSticky|0o777)), target, DirOwner, "/private/tmp"},
		{"ancestor of unknown owner", with("/private", fakeInfo{mode: fs.ModeDir | 0o755, noSys: true}), target, OwnerUnknown, "/private"},
		{"last of unknown owner", with("/private/tmp/cc", fakeInfo{mode: fs.ModeDir | 0o700, noSys: true}), target, OwnerUnknown, "/private/tmp/cc"},
		{"last root's", with("/private/tmp/cc", dir(0, 0o755)), target, DirOwner, "/private/tmp/cc"},
		{"last sticky", with("/private/tmp/cc", dir(me, fs.ModeSticky|0o770)), target, DirMode, "/private/tmp/cc"},

		{"foreign socket", with(target, socket(502, 0o600)), target, ForeignUID, target},
		{"root's socket", with(target, socket(0, 0o600)), target, ForeignUID, target},
		{"socket of unknown owner", with(target, fakeInfo{mode: fs.ModeSocket | 0o600, noSys: true}), target, OwnerUnknown, target},
		{"setuid", with(target, socket(me, fs.ModeSetuid|0o600)), target, Mode, target},
		{"setgid", with(target, socket(me, fs.ModeSetgid|0o600)), target, Mode, target},
		{"sticky", with(target, socket(me, fs.ModeSticky|0o600)), target, Mode, target},
		{"block device", with(target, fakeInfo{uid: me, mode: fs.ModeDevice | 0o600}), target, NotSocket, target},
		{"link before owner", with(target, link(502, "x")), target, Symlink, target},

		{"dir EACCES", failing(syscall.EACCES), target, Stat, "/private/tmp/cc"},
		{"dir EPERM", failing(syscall.EPERM), target, Stat, "/private/tmp/cc"},
		{"dir ENOENT", failing(syscall.ENOENT), target, Missing, "/private/tmp/cc"},
		{"dir ENOTDIR", failing(syscall.ENOTDIR), target, Missing, "/private/tmp/cc"},
		{"dir ENOMEM", failing(syscall.ENOMEM), target, Resource, "/private/tmp/cc"},
		{"dir EIO", failing(syscall.EIO), target, Resource, "/private/tmp/cc"},
		{"dir ELOOP", failing(syscall.ELOOP), target, DirSymlink, "/private/tmp/cc"},
		{"root EIO", with("/", fakeInfo{err: syscall.EIO}), target, Resource, "/"},
		{"socket EACCES", failSock(syscall.EACCES), target, Stat, target},
		{"socket EPERM", failSock(syscall.EPERM), target, Stat, target},
		{"socket ENOENT", failSock(syscall.ENOENT), target, Missing, target},
		{"socket EMFILE", failSock(syscall.EMFILE), target, Resource, target},
		{"socket ENAMETOOLONG", failSock(syscall.ENAMETOOLONG), target, PathTooLong, target},
		{"the root itself", mac, "/", DirOwner, "/"},
	} {
		uid := me
		h, err := Path(c.path, Options{Stat: c.fs.stat, UID: &uid, readlink: c.fs.readlink})
		if got := reasonOf(err); got != c.want {
			t.Errorf("%s: reason %q, want %q (%v)", c.name, got, c.want, err)
			continue
		}
		about := ""
		if err != nil {
			about = err.(*Error).Path
		} else {
			about = h.Addr()
		}
		if about != c.about {
			t.Errorf("%s: about %q, want %q", c.name, about, c.about)
		}
	}
}

// Linux's /var/run is a link of root's in a place where links are allowed.
func TestSystemLink(t *testing.T) {
	to, err := os.Readlink("/var/run")
	if err != nil {
		t.Skip("/var/run is no link here")
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join("/var", to)
	}
	for way, o := range ways {
		_, err := Path("/var/run/ccpost-none/1.sock", o)
		if reasonOf(err) != Missing || err.(*Error).Path != to+"/ccpost-none" {
			t.Errorf("%s: %v, want %q missing", way, err, to+"/ccpost-none")
		}
	}
}

func TestOwnUID(t *testing.T) {
	uid := 77
	if got := (Options{UID: &uid}).OwnUID(); got != 77 {
		t.Errorf("OwnUID = %d, want 77", got)
	}
	if got := (Options{}).OwnUID(); got != os.Geteuid() {
		t.Errorf("OwnUID = %d, want %d", got, os.Geteuid())
	}
}

func TestHeldNames(t *testing.T) {
	base := shortDir(t)
	path := base + "/d/1.sock"
	listen(t, path)
	for way, o := range ways {
		h, err := Path(path, o)
		must(t, err)
		defer h.Close()
		got := []string{h.Dir(), h.DirAddr(), h.Addr()}
		dirAddr := base + "/d"
		if way == "production" && runtime.GOOS == "linux" {
			dirAddr = fmt.Sprintf("/proc/self/fd/%d", h.fd)
			flags, err := unix.FcntlInt(uintptr(h.fd), unix.F_GETFD, 0)
			if err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("flags %x, %v: the directory would leak into children", flags, err)
			}
		}
		if diff := cmp.Diff([]string{base + "/d", dirAddr, dirAddr + "/1.sock"}, got); diff != "" {
			t.Errorf("%s: %s", way, diff)
		}
	}
}

// A name that fits the address only as it is spelled.
func TestLongName(t *testing.T) {
	base := shortDir(t)
	path := base + "/" + strings.Repeat("n", MaxSocketPath-len(base)-1)
	listen(t, path)
	// As long as it takes to be longer than base, and it still leads there.
	h, err := Path(path, Options{fdDir: "/proc/self/../self/fd"})
	must(t, err)
	defer h.Close()
	if h.Addr() != path {
		t.Errorf("Addr = %q, want the plain path", h.Addr())
	}
	must(t, h.Recheck())
}

// swap moves base/d away and puts another directory with another socket in
// its place.
func swap(t *testing.T, base string, mode uint32) *net.UnixListener {
	t.Helper()
	must(t, os.Rename(base+"/d", base+"/was"))
	l := listen(t, base+"/d/1.sock")
	bareChmod(t, base+"/d/1.sock", mode)
	return l
}

func TestSwappedHeld(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("directories can't be held here")
	}
	base := shortDir(t)
	first := listen(t, base+"/d/1.sock")
	h, err := Path(base+"/d/1.sock", Options{})
	must(t, err)
	defer h.Close()
	second := swap(t, base, 0o600)

	c, err := net.Dial("unix", h.Addr())
	must(t, err)
	defer c.Close()
	// The connection already waits in one of the two queues.
	soon := time.Now().Add(10 * time.Second)
	must(t, first.SetDeadline(soon))
	got, err := first.Accept()
	if err != nil {
		t.Fatal("the directory that was judged got no connection:", err)
	}
	got.Close()
	must(t, second.SetDeadline(time.Now()))
	if _, err := second.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the other directory: %v, want no connection", err)
	}
	must(t, h.Recheck())

	// And a socket bound beside the target lands beside it.
	l, err := net.Listen("unix", h.DirAddr()+"/ab.sock")
	must(t, err)
	defer l.Close()
	if _, err := os.Lstat(base + "/was/ab.sock"); err != nil {
		t.Error("bound elsewhere:", err)
	}
}

func TestSwappedByPath(t *testing.T) {
	for way, o := range ways {
		if way == "production" {
			continue
		}
		for _, c := range []struct {
			name string
			swap func(t *testing.T, base string)
			want Reason
			fact string
		}{
			{"nothing", func(*testing.T, string) {}, "", ""},
			{"another socket", func(t *testing.T, base string) { swap(t, base, 0o600) }, Missing, "another socket took its place"},
			{"an open socket", func(t *testing.T, base string) { swap(t, base, 0o666) }, Mode, "mode 0666"},
			{"a link", func(t *testing.T, base string) {
				must(t, os.Rename(base+"/d", base+"/was"))
				must(t, os.Symlink("was", base+"/d"))
			}, DirSymlink, ""},
			{"gone", func(t *testing.T, base string) { must(t, os.Remove(base+"/d/1.sock")) }, Missing, "no such file"},
		} {
			base := shortDir(t)
			listen(t, base+"/d/1.sock")
			h, err := Path(base+"/d/1.sock", o)
			must(t, err)
			c.swap(t, base)
			err = h.Recheck()
			if got := reasonOf(err); got != c.want {
				t.Errorf("%s, %s: reason %q, want %q (%v)", way, c.name, got, c.want, err)
			} else if err != nil && !strings.Contains(err.Error(), c.fact) {
				t.Errorf("%s, %s: %v; want in it: %s", way, c.name, err, c.fact)
			}
		}
	}
}

func TestNoFilesLeft(t *testing.T) {
	base := shortDir(t)
	listen(t, base+"/1.sock")
	must(t, os.WriteFile(base+"/f", []byte("x"), 0o600))
	out, err := child(t, "nofile", base+"/1.sock", base+"/f").Output()
	must(t, err)
	got := map[string]Reason{}
	must(t, json.Unmarshal(out, &got))
	want := map[string]Reason{"Path": Resource, "OpenFile": Resource, "ReadFile": Resource, "Dir": Resource}
	if runtime.GOOS != "linux" {
		want["Path"] = "" // opens nothing
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkPath(b *testing.B) {
	path := shortDir(b) + "/y.sock"
	listen(b, path)
	b.ReportAllocs()
	for b.Loop() {
		h, err := Path(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		h.Close()
	}
}
