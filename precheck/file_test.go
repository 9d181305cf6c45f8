package precheck

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	record = FileOptions{Forbid: 0o022}
	key    = FileOptions{Forbid: 0o077, Exact: 0o600}
)

func TestFile(t *testing.T) {
	stranger := os.Geteuid() + 1
	write := func(mode uint32) func(*testing.T, string) {
		return func(t *testing.T, p string) {
			must(t, os.WriteFile(p, []byte("text"), 0o600))
			bareChmod(t, p, mode)
		}
	}
	foreign := func(mode uint32) func(*testing.T, string) {
		return func(t *testing.T, p string) {
			needRoot(t)
			write(mode)(t, p)
			must(t, os.Chown(p, nobody, nobody))
		}
	}
	for _, c := range []struct {
		name string
		make func(*testing.T, string)
		o    FileOptions
		want Reason
		fact string
	}{
		{"record", write(0o644), record, "", ""},
		{"record g+w", write(0o664), record, Mode, "mode 0664, of which 0020 must not be set"},
		{"record o+w", write(0o646), record, Mode, "0002 must not be set"},
		{"key", write(0o600), key, "", ""},
		{"key g+r", write(0o640), key, Mode, "mode 0640, want 0600"},
		{"key 0400", write(0o400), key, Mode, "mode 0400, want 0600"},
		{"key setuid", write(0o4600), key, Mode, "mode 4600"},
		{"nothing asked", write(0o666), FileOptions{}, "", ""},
		{"injected uid", write(0o600), FileOptions{UID: &stranger}, ForeignUID, "want "},
		{"foreign", foreign(0o644), record, ForeignUID, "owned by uid 65534, want 0; inside a user namespace"},
		{"missing", func(*testing.T, string) {}, record, Missing, ""},
		{"below a file", func(t *testing.T, p string) {
			must(t, os.WriteFile(filepath.Dir(p), nil, 0o600))
		}, record, Missing, ""},
		{"link", func(t *testing.T, p string) { write(0o600)(t, p+".was"); must(t, os.Symlink(p+".was", p)) }, record, Symlink, ""},
		{"dangling link", func(t *testing.T, p string) { must(t, os.Symlink("none", p)) }, record, Symlink, ""},
		{"linked parent", func(t *testing.T, p string) {
			must(t, os.Rename(filepath.Dir(p), filepath.Dir(p)+".was"))
			must(t, os.Symlink(filepath.Dir(p)+".was", filepath.Dir(p)))
			write(0o600)(t, p)
		}, record, "", ""},
		{"looping parent", func(t *testing.T, p string) {
			must(t, os.Remove(filepath.Dir(p)))
			must(t, os.Symlink("d", filepath.Dir(p)))
		}, record, DirSymlink, ""},
		{"directory", func(t *testing.T, p string) { must(t, os.Mkdir(p, 0o700)) }, record, NotRegular, "a directory"},
		// Without O_NONBLOCK this row would wait for a writer for ever.
		{"named pipe", func(t *testing.T, p string) { must(t, syscall.Mkfifo(p, 0o600)) }, record, NotRegular, "a named pipe"},
		{"socket", func(t *testing.T, p string) { listen(t, p) }, record, NotRegular, "a socket"},
		{"not readable", func(t *testing.T, p string) {
			if os.Geteuid() == 0 {
				t.Skip("root reads everything")
			}
			write(0)(t, p)
		}, record, Stat, "permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := shortDir(t) + "/d/f"
			if c.name != "below a file" {
				must(t, os.Mkdir(filepath.Dir(p), 0o700))
			}
			c.make(t, p)
			before := openFiles(t)

			b, err := ReadFile(p, 4, c.o)
			if got := reasonOf(err); got != c.want {
				t.Errorf("ReadFile: reason %q, want %q (%v)", got, c.want, err)
			} else if err == nil && string(b) != "text" {
				t.Errorf("ReadFile = %q", b)
			} else if err != nil && !strings.Contains(err.Error(), c.fact) {
				t.Errorf("%v; want in it: %s", err, c.fact)
			}

			f, err := OpenFile(p, c.o)
			if got := reasonOf(err); got != c.want {
				t.Errorf("OpenFile: reason %q, want %q (%v)", got, c.want, err)
			} else if err == nil {
				if b, err := io.ReadAll(f); err != nil || string(b) != "text" {
					t.Errorf("read %q, %v", b, err)
				}
				if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
					t.Errorf("flags %x, %v: the file would leak into children", flags, err)
				}
				must(t, f.Close())
			}
			if after := openFiles(t); after != before {
				t.Errorf("open files before: %s\nafter: %s", before, after)
			}
		})
	}
	for path, want := range map[string]Reason{"": Empty, "/tmp/a\x00b": Nul, "/tmp/" + strings.Repeat("a", 300): PathTooLong} {
		if _, err := OpenFile(path, record); reasonOf(err) != want {
			t.Errorf("OpenFile(%.20q): %v, want %s", path, err, want)
		}
		if err := Dir(path, record); reasonOf(err) != want {
			t.Errorf("Dir(%.20q): %v, want %s", path, err, want)
		}
	}
}

func TestReadFileSize(t *testing.T) {
	p := shortDir(t) + "/f"
	text := bytes.Repeat([]byte("0123456789"), 1000)
	must(t, os.WriteFile(p, text, 0o600))
	for max, want := range map[int64]Reason{
		10000: "", 10001: "", 1 << 62: "", 9999: TooLarge, 1: TooLarge, 0: TooLarge, -1: TooLarge,
	} {
		b, err := ReadFile(p, max, record)
		if got := reasonOf(err); got != want {
			t.Errorf("max %d: reason %q, want %q", max, got, want)
		} else if want == "" && !bytes.Equal(b, text) {
			t.Errorf("max %d: %d bytes, not those in the file", max, len(b))
		}
	}
	must(t, os.Truncate(p, 0))
	if b, err := ReadFile(p, 0, record); err != nil || len(b) != 0 {
		t.Errorf("empty file: %q, %v", b, err)
	}
}

// A file of which fstat says less than there is to read: /proc's say 0.
func TestReadFileGrown(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	const p = "/proc/self/limits"
	want, err := os.ReadFile(p)
	must(t, err)
	if _, err := ReadFile(p, int64(len(want))-1, FileOptions{}); reasonOf(err) != TooLarge {
		t.Errorf("one byte too many: %v, want %s", err, TooLarge)
	}
	got, err := ReadFile(p, int64(len(want)), FileOptions{})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, len(want))
	}
}

func TestDir(t *testing.T) {
	stranger := os.Geteuid() + 1
	mkdir := func(mode uint32) func(*testing.T, string) {
		return func(t *testing.T, p string) {
			must(t, os.Mkdir(p, 0o700))
			bareChmod(t, p, mode)
		}
	}
	linked := func(mode uint32) func(*testing.T, string) {
		return func(t *testing.T, p string) {
			mkdir(mode)(t, p+".was")
			must(t, os.Symlink(p+".was", p))
		}
	}
	for _, c := range []struct {
		name string
		make func(*testing.T, string)
		o    FileOptions
		want Reason
	}{
		{"0700", mkdir(0o700), FileOptions{}, ""},
		{"0755", mkdir(0o755), FileOptions{}, ""},
		{"0755, but private wanted", mkdir(0o755), FileOptions{Forbid: 0o077}, DirMode},
		{"0755, but 0700 wanted", mkdir(0o755), FileOptions{Exact: 0o700}, DirMode},
		{"g+w", mkdir(0o770), FileOptions{}, DirMode},
		{"o+w", mkdir(0o702), FileOptions{}, DirMode},
		{"sticky", mkdir(0o1777), FileOptions{}, DirMode},
		{"injected uid", mkdir(0o700), FileOptions{UID: &stranger}, DirOwner},
		{"foreign", func(t *testing.T, p string) {
			needRoot(t)
			mkdir(0o755)(t, p)
			must(t, os.Chown(p, nobody, nobody))
		}, FileOptions{}, DirOwner},
		{"link", linked(0o700), FileOptions{}, ""},
		{"link to an open one", linked(0o777), FileOptions{}, DirMode},
		{"loop", func(t *testing.T, p string) { must(t, os.Symlink(p, p)) }, FileOptions{}, DirSymlink},
		{"missing", func(*testing.T, string) {}, FileOptions{}, Missing},
		{"file", func(t *testing.T, p string) { must(t, os.WriteFile(p, nil, 0o600)) }, FileOptions{}, Missing},
		{"named pipe", func(t *testing.T, p string) { must(t, syscall.Mkfifo(p, 0o600)) }, FileOptions{}, Missing},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := shortDir(t) + "/d"
			c.make(t, p)
			before := openFiles(t)
			if err := Dir(p, c.o); reasonOf(err) != c.want {
				t.Errorf("reason %q, want %q (%v)", reasonOf(err), c.want, err)
			}
			if after := openFiles(t); after != before {
				t.Errorf("open files before: %s\nafter: %s", before, after)
			}
		})
	}
}

// What OpenDir returns is the directory that was judged.
func TestOpenDir(t *testing.T) {
	base := shortDir(t)
	must(t, os.MkdirAll(base+"/d/inside", 0o700))
	d, err := OpenDir(base+"/d", FileOptions{})
	must(t, err)
	defer d.Close()
	must(t, os.Rename(base+"/d", base+"/was"))
	must(t, os.MkdirAll(base+"/d/other", 0o700))
	names, err := d.Readdirnames(-1)
	if err != nil || len(names) != 1 || names[0] != "inside" {
		t.Errorf("listed %q, %v", names, err)
	}
}
