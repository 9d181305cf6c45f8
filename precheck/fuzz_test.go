package precheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// FuzzPath holds Path against a second reading of the rules that knows nothing
// of it, in a small tree whose modes the fuzzer sets too.
func FuzzPath(f *testing.F) {
	base := shortDir(f)
	listen(f, base+"/a/b/1.sock")
	listen(f, base+"/a/2.sock")
	must(f, os.Symlink("a", base+"/l"))
	must(f, os.Symlink("1.sock", base+"/a/b/3.sock"))
	must(f, os.WriteFile(base+"/a/f", nil, 0o600))

	for _, p := range []string{
		"/a/b/1.sock", "/a/2.sock", "/a/b/3.sock", "/l/2.sock", "/a/f", "/a/f/1.sock", "/a", "/", "",
		"/a/b/../2.sock", "/a//2.sock", "/a/b/1.sock/", "/a/b/none", "/a/b/1\x00", "/a/b/1\n.sock",
	} {
		f.Add(true, p, uint16(0o700), uint16(0o700), uint16(0o600))
		f.Add(true, p, uint16(0o1777), uint16(0o750), uint16(0o600))
	}
	f.Add(true, "/a/b/1.sock", uint16(0o777), uint16(0o700), uint16(0o600))
	f.Add(true, "/a/b/1.sock", uint16(0o700), uint16(0o1777), uint16(0o600))
	f.Add(true, "/a/b/1.sock", uint16(0o700), uint16(0o700), uint16(0o4600))
	for _, p := range []string{"@x", `\\.\pipe\x`, "x", "/tmp/x", "/var/run/x", "/proc/self/root", strings.Repeat("/a", 60)} {
		f.Add(false, p, uint16(0o700), uint16(0o700), uint16(0o600))
	}
	f.Fuzz(func(t *testing.T, inside bool, path string, parent, last, sock uint16) {
		if inside {
			path = base + path
		}
		syscall.Chmod(base+"/a/b/1.sock", uint32(sock&0o7777))
		syscall.Chmod(base+"/a/b", uint32(last&0o7777))
		syscall.Chmod(base+"/a", uint32(parent&0o7777))
		defer syscall.Chmod(base+"/a/b", 0o700)
		defer syscall.Chmod(base+"/a", 0o700)

		why := naive(path)
		for way, o := range ways {
			h, err := Path(path, o)
			if (err == nil) != (why == "") {
				t.Errorf("%s: %q: Path says %v, the naive check %q", way, path, err, why)
			}
			if err == nil {
				h.Close()
			} else if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("%s: %q breaks the line", way, err)
			}
		}
	})
}

// naive says why path is not ours, "" if it is.
func naive(path string) string {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.Contains(path, "\x00") {
		return "spelling"
	}
	if len(path) > len(syscall.RawSockaddrUnix{}.Path)-1 {
		return "length"
	}
	if first := strings.SplitN(path, "/", 3)[1]; first != "" {
		if fi, err := os.Lstat("/" + first); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return naiveLinked(path)
		}
	}
	if strings.HasPrefix(path, "/var/") {
		return naiveLinked(path)
	}
	parent := filepath.Dir(path)
	for p := parent; ; p = filepath.Dir(p) {
		fi, err := os.Lstat(p)
		if err != nil || !fi.IsDir() {
			return p + " is no directory"
		}
		uid := int(fi.Sys().(*syscall.Stat_t).Uid)
		others := fi.Mode().Perm()&0o022 != 0 && fi.Mode()&fs.ModeSticky == 0
		if uid != 0 && uid != os.Geteuid() || others {
			return p + " is open to others"
		}
		if p == parent && (uid != os.Geteuid() || fi.Mode().Perm()&0o022 != 0) {
			return p + " is not ours alone"
		}
		if p == "/" {
			break
		}
	}
	fi, err := os.Lstat(path)
	if err != nil || fi.Mode() != fs.ModeSocket|0o600 {
		return path + " is no socket of mode 0600"
	}
	if int(fi.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return path + " is not ours"
	}
	return ""
}

// naiveLinked: below a system's link, what it leads to is judged.
func naiveLinked(path string) string {
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return err.Error()
	}
	if real == filepath.Dir(path) {
		return path + " has nothing of ours in it"
	}
	return naive(filepath.Join(real, filepath.Base(path)))
}
