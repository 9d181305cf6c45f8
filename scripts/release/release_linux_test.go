//go:build release

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tag is that of the commit which the tests release: the highest that there can
// be for a module without a major version in its path, and one that packages
// spell in their own way.
const tag = "v1.999.0-rc.1"

const version = "1.999.0-rc.1"

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "released"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(scratch)
	// Also where the checkout is another user's.
	config := filepath.Join(scratch, "gitconfig")
	if err := os.WriteFile(config, []byte("[safe]\n\tdirectory = *\n"), 0o600); err != nil {
		panic(err)
	}
	os.Setenv("GIT_CONFIG_GLOBAL", config)
	m.Run() // the testing package exits with its result when TestMain returns
}

// command runs a program to its end and returns all that it printed.
func command(dir string, env []string, args ...string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// notRun skips a test with a line of its own, which CI shows.
func notRun(t *testing.T, why string) {
	t.Helper()
	fmt.Printf("release: not run: %s: %s\n", t.Name(), strings.TrimSpace(why))
	t.Skip(why)
}

// checkout is a clone of this one's last commit, with the tag.
func checkout(dir string) error {
	if _, err := command("../..", nil, "git", "clone", "-q", ".", dir); err != nil {
		return err
	}
	_, err := command(dir, nil, "git", "tag", tag)
	return err
}

// first is a release from a checkout of its own.
var first = sync.OnceValues(func() (string, error) {
	repo, out := filepath.Join(scratch, "a"), filepath.Join(scratch, "first")
	if err := checkout(repo); err != nil {
		return "", err
	}
	_, err := command(repo, nil, "go", "run", "./scripts/release", out)
	return out, err
})

func released(t *testing.T) string {
	t.Helper()
	out, err := first()
	do(t, err)
	return out
}

func archiveOf(s system) string { return fmt.Sprintf("ccpost_%s_%s_%s", version, s.os, s.arch) }

// member is one of an archive's.
type member struct {
	tar.Header
	data []byte
}

func members(t *testing.T, path string) (all []member) {
	t.Helper()
	f, err := os.Open(path)
	do(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	do(t, err)
	if z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("%s: gzip's header has the name %q and the time %v", path, z.Name, z.ModTime)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		do(t, err)
		data, err := io.ReadAll(r)
		do(t, err)
		all = append(all, member{*h, data})
	}
}

func TestSameBytes(t *testing.T) {
	a := released(t)
	// From another folder, with another umask, zone and processor in mind.
	repo, b := filepath.Join(scratch, "somewhere", "else", "b"), filepath.Join(scratch, "second")
	do(t, checkout(repo))
	_, err := command(filepath.Join(repo, "hook"), []string{"TZ=Asia/Tokyo", "GOAMD64=v2"},
		"sh", "-c", `umask 077; exec go run ../scripts/release "$1"`, "sh", b)
	do(t, err)
	names := func(dir string) (names []string) {
		entries, err := os.ReadDir(dir)
		do(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	want := []string{"SHA256SUMS"}
	for _, s := range systems {
		want = append(want, archiveOf(s)+".tar.gz")
		if s.os == "linux" {
			want = append(want, archiveOf(s)+".deb", archiveOf(s)+".rpm")
		}
	}
	slices.Sort(want)
	for _, dir := range []string{a, b} {
		if diff := cmp.Diff(want, names(dir)); diff != "" {
			t.Errorf("a release is (-want +got):\n%s", diff)
		}
	}
	for _, name := range want {
		inA, err := os.ReadFile(filepath.Join(a, name))
		do(t, err)
		inB, err := os.ReadFile(filepath.Join(b, name))
		do(t, err)
		if !bytes.Equal(inA, inB) {
			t.Errorf("%s is not the same", name)
		}
	}

	// Those two share what the compiler made. This one begins with nothing.
	again := filepath.Join(scratch, "again")
	_, err = command(repo, []string{"GOFLAGS=-buildvcs=true", "GOOS=linux", "GOARCH=amd64", "GOCACHE=" + filepath.Join(scratch, "cache")},
		"scripts/build", again)
	do(t, err)
	got, err := os.ReadFile(again)
	do(t, err)
	for _, m := range members(t, filepath.Join(a, archiveOf(system{"linux", "amd64"})+".tar.gz")) {
		if filepath.Base(m.Name) == "ccpost" && m.Typeflag == tar.TypeReg && !bytes.Equal(m.data, got) {
			t.Error("compiled anew, ccpost is not the same")
		}
	}
}

func TestSums(t *testing.T) {
	dir := released(t)
	out, err := command(dir, nil, "sha256sum", "-c", "--strict", "SHA256SUMS")
	do(t, err)
	entries, err := os.ReadDir(dir)
	do(t, err)
	if got := strings.Count(out, ": OK\n"); got != len(entries)-1 {
		t.Errorf("%d of %d files are in the list:\n%s", got, len(entries)-1, out)
	}
}

func TestArchive(t *testing.T) {
	want := []string{
		"-rw-r--r-- CHANGELOG.md",
		"-rw-r--r-- LICENSE",
		"-rw-r--r-- README.md",
		"-rwxr-xr-x ccpost",
		"-rwxr-xr-x ccpost-doctor",
		"-rw-r--r-- ccpost.1",
		"-rw-r--r-- completions/_ccpost",
		"-rw-r--r-- completions/ccpost.bash",
		"-rw-r--r-- completions/ccpost.fish",
		"-rw-r--r-- plugin/.claude-plugin/plugin.json",
		"-rw-r--r-- plugin/README.md",
		"-rwxr-xr-x plugin/bin/ccpost = ccpost",
		"-rw-r--r-- plugin/hooks/hooks.json",
	}
	dir := released(t)
	stamp, err := command(filepath.Join(scratch, "a"), nil, "git", "log", "-1", "--format=%ct")
	do(t, err)
	for _, s := range systems {
		folder := archiveOf(s) + "/"
		var got []string
		for _, m := range members(t, filepath.Join(dir, archiveOf(s)+".tar.gz")) {
			name, below := strings.CutPrefix(m.Name, folder)
			line := fs.FileMode(m.Mode).String() + " " + name
			if m.Typeflag == tar.TypeLink {
				line += " = " + strings.TrimPrefix(m.Linkname, folder)
			} else if len(m.data) == 0 {
				t.Errorf("%s is empty", m.Name)
			}
			got = append(got, line)
			if !below || m.Uid != 0 || m.Gid != 0 || fmt.Sprintln(m.ModTime.Unix()) != stamp {
				t.Errorf("%s is of %d:%d and %v", m.Name, m.Uid, m.Gid, m.ModTime)
			}
			switch {
			case name == "plugin/.claude-plugin/plugin.json" && !strings.Contains(string(m.data), `"version": "`+version+`"`):
				t.Errorf("the plugin's manifest is %s", m.data)
			case m.Mode == 0o755 && m.Typeflag == tar.TypeReg:
				inspect(t, s, m)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
}

// inspect looks at a program of an archive.
func inspect(t *testing.T, s system, m member) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(m.data))
	do(t, err)
	got := map[string]string{"version": info.Main.Version}
	for _, set := range info.Settings {
		got[set.Key] = set.Value
	}
	for key, want := range map[string]string{
		"version": tag, "GOOS": s.os, "GOARCH": s.arch, "CGO_ENABLED": "0", "-trimpath": "true", "vcs.modified": "false",
	} {
		if got[key] != want {
			t.Errorf("%s has %s %q, want %q", m.Name, key, got[key], want)
		}
	}
	if s.os == "linux" && !static(t, m.data) {
		t.Errorf("%s is not static", m.Name)
	}
}

// static reports whether a program needs no loader.
func static(t *testing.T, program []byte) bool {
	t.Helper()
	e, err := elf.NewFile(bytes.NewReader(program))
	do(t, err)
	return !slices.ContainsFunc(e.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// What isn't in the commit is in no release, and outside of git there is none.
func TestRefusesWhatIsNotACommit(t *testing.T) {
	released(t) // so that it is compiled
	repo := filepath.Join(scratch, "changed")
	do(t, checkout(repo))
	out := filepath.Join(scratch, "none")
	refused := func(why string) {
		t.Helper()
		said, err := command(repo, nil, "go", "run", "./scripts/release", out)
		if err == nil || !strings.Contains(said, why) {
			t.Errorf("it says %q, want %q in it", said, why)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("it left %s", out)
		}
	}
	do(t, os.WriteFile(filepath.Join(repo, "note"), nil, 0o600))
	refused("the checkout has changes")
	do(t, os.RemoveAll(filepath.Join(repo, ".git")))
	refused("is this a checkout?")
}

// root is a folder to be the root of what runs in it, with little more than /tmp.
func root(t *testing.T) string {
	t.Helper()
	switch {
	case os.Geteuid() != 0:
		notRun(t, "not root")
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64":
		notRun(t, "no package for "+runtime.GOOS+"/"+runtime.GOARCH)
	}
	dir := t.TempDir()
	do(t, os.Chmod(dir, 0o755))
	for _, name := range []string{"proc", "dev", "tmp"} {
		do(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	do(t, os.Chmod(filepath.Join(dir, "tmp"), 0o777|fs.ModeSticky))
	return dir
}

// stranger is a user whom nothing was prepared for.
const stranger = 1000

// inside runs a program in such a root, as the stranger. Its processes and mounts
// are in namespaces of their own: nothing of them outlives it.
func inside(t *testing.T, root string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-ec", fmt.Sprintf(`
		path=$PATH PATH=/usr/sbin:/usr/bin:/sbin:/bin
		root=$1; shift
		mount -t proc proc "$root/proc"
		mount -t tmpfs -o mode=755 tmpfs "$root/dev"
		mknod -m 666 "$root/dev/null" c 1 3
		mknod -m 666 "$root/dev/urandom" c 1 9
		chroot=$(command -v chroot) PATH=$path
		exec "$chroot" --userspec=%d:%[1]d "$root" "$@"`, stranger), "sh", root}, args...)...)
	cmd.Dir, cmd.Env = "/", append([]string{"PATH=/bin"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		notRun(t, "root may not have namespaces here")
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// left is what stands below dir that is not a folder, or has ccpost in its path.
func left(t *testing.T, dir string) (all []string) {
	t.Helper()
	do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir)
		if err == nil && strings.HasPrefix(name, "/usr/") && (!d.IsDir() || strings.Contains(name, "ccpost")) {
			all = append(all, name)
		}
		return err
	}))
	return all
}

func TestDeb(t *testing.T) { testPackage(t, "deb", "/usr/share/zsh/vendor-completions/_ccpost") }
func TestRPM(t *testing.T) { testPackage(t, "rpm", "/usr/share/zsh/site-functions/_ccpost") }

// A package is installed in a root of its own, used, and removed.
func testPackage(t *testing.T, format, zsh string) {
	dir := root(t)
	file := filepath.Join(released(t), archiveOf(system{"linux", runtime.GOARCH})+"."+format)
	manager := func(args ...string) string {
		t.Helper()
		out, err := command("/", nil, args...)
		do(t, err)
		return out
	}
	var remove []string
	switch format {
	case "deb":
		if _, err := exec.LookPath("dpkg"); err != nil {
			notRun(t, "no dpkg")
		}
		for _, name := range []string{"info", "updates"} {
			do(t, os.MkdirAll(filepath.Join(dir, "var/lib/dpkg", name), 0o755))
		}
		do(t, os.WriteFile(filepath.Join(dir, "var/lib/dpkg/status"), nil, 0o644))
		manager("dpkg", "--root="+dir, "--log=/dev/null", "-i", file)
		remove = []string{"dpkg", "--root=" + dir, "--log=/dev/null", "--purge", "ccpost"}
		if got := manager("dpkg-deb", "-f", file, "Version", "Architecture"); got != "Version: 1.999.0~rc.1\nArchitecture: "+runtime.GOARCH+"\n" {
			t.Errorf("the package is %s", got)
		}
	case "rpm":
		if _, err := exec.LookPath("rpm"); err != nil {
			notRun(t, "no rpm")
		}
		manager("rpm", "--root", dir, "-i", "--nosignature", file)
		remove = []string{"rpm", "--root", dir, "-e", "ccpost"}
		if got := manager("rpm", "--root", dir, "-V", "ccpost"); got != "" {
			t.Errorf("rpm -V says %s", got)
		}
	}
	want := []string{
		"/usr/bin/ccpost",
		"/usr/bin/ccpost-doctor",
		"/usr/lib/ccpost",
		"/usr/lib/ccpost/plugin",
		"/usr/lib/ccpost/plugin/.claude-plugin",
		"/usr/lib/ccpost/plugin/.claude-plugin/plugin.json",
		"/usr/lib/ccpost/plugin/README.md",
		"/usr/lib/ccpost/plugin/bin",
		"/usr/lib/ccpost/plugin/bin/ccpost",
		"/usr/lib/ccpost/plugin/hooks",
		"/usr/lib/ccpost/plugin/hooks/hooks.json",
		"/usr/share/bash-completion/completions/ccpost",
		"/usr/share/doc/ccpost",
		"/usr/share/doc/ccpost/CHANGELOG.md",
		"/usr/share/doc/ccpost/README.md",
		"/usr/share/doc/ccpost/copyright",
		"/usr/share/fish/vendor_completions.d/ccpost.fish",
		"/usr/share/man/man1/ccpost.1.gz",
		zsh,
	}
	if diff := cmp.Diff(want, left(t, dir)); diff != "" {
		t.Errorf("what is installed (-want +got):\n%s", diff)
	}
	for _, name := range []string{"/usr/bin/ccpost", "/usr/lib/ccpost/plugin/bin/ccpost"} {
		if got, want := inside(t, dir, nil, name, "version"), "ccpost "+tag+" "; !strings.HasPrefix(got, want) {
			t.Errorf("%s version says %q, want %q", name, got, want)
		}
	}
	if got := inside(t, dir, nil, "/usr/bin/ccpost", "demo"); !strings.Contains(got, "the tests passed") {
		t.Errorf("ccpost demo says %q", got)
	}
	if man, err := exec.LookPath("man"); err == nil {
		page := filepath.Join(dir, "usr/share/man/man1/ccpost.1.gz")
		if got := manager(man, "-M", filepath.Join(dir, "usr/share/man"), "-w", "ccpost"); got != page+"\n" {
			t.Errorf("man finds %s", got)
		}
	}
	manager(remove...)
	if got := left(t, dir); got != nil {
		t.Errorf("once removed, it leaves %q", got)
	}
}
