package precheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	_ "ccpost/golden/update"
)

// The test binary is also the other processes that the tests need.
func TestMain(m *testing.M) {
	switch os.Getenv("PRECHECK_CHILD") {
	case "":
		os.Exit(m.Run())
	case "listen":
		childListen()
	case "nofile":
		childNoFile()
	}
}

func child(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = []string{"PRECHECK_CHILD=" + role}
	cmd.Stderr = os.Stderr
	return cmd
}

// childListen listens at os.Args[1] as user os.Args[2], says so, and stays
// until its standard input ends.
func childListen() {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(3)
		}
	}
	uid, err := strconv.Atoi(os.Args[2])
	check(err)
	if uid != os.Geteuid() {
		check(syscall.Setuid(uid))
	}
	l, err := net.Listen("unix", os.Args[1])
	check(err)
	defer l.Close()
	fmt.Println("listening")
	os.Stdin.Read(make([]byte, 1))
}

// childNoFile tries everything that opens something where nothing can be
// opened, and prints the reasons.
func childNoFile() {
	limit := syscall.Rlimit{Cur: 3, Max: 3}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(3)
	}
	sock, file := os.Args[1], os.Args[2]
	got := map[string]Reason{}
	_, err := Path(sock, Options{})
	got["Path"] = reasonOf(err)
	_, err = OpenFile(file, FileOptions{})
	got["OpenFile"] = reasonOf(err)
	_, err = ReadFile(file, 10, FileOptions{})
	got["ReadFile"] = reasonOf(err)
	got["Dir"] = reasonOf(Dir(filepath.Dir(sock), FileOptions{}))
	json.NewEncoder(os.Stdout).Encode(got)
}

// reasonOf is "" for nil, and a word that is no reason for any other error
// than ours.
func reasonOf(err error) Reason {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Reason
	}
	return Reason("not ours: " + err.Error())
}

const nobody = 65534

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to have a second user")
	}
}

// shortDir is a directory of mode 0700 with a name that fits a socket address,
// and without links in it.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cc")
	must(t, err)
	t.Cleanup(func() {
		filepath.Walk(dir, func(p string, fi os.FileInfo, err error) error {
			if fi != nil && fi.IsDir() {
				os.Chmod(p, 0o700)
			}
			return nil
		})
		os.RemoveAll(dir)
	})
	dir, err = filepath.EvalSymlinks(dir)
	must(t, err)
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listen puts a listening socket of mode 0600 at path, in a directory that it
// makes if need be.
func listen(t testing.TB, path string) *net.UnixListener {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	must(t, os.Chmod(path, 0o600))
	return l
}

// bareChmod sets all twelve bits, which os.Chmod spells differently.
func bareChmod(t testing.TB, path string, mode uint32) {
	t.Helper()
	must(t, syscall.Chmod(path, mode))
}

// openFiles lists the descriptors of this process, "" where that is not known.
func openFiles(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return ""
	}
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	var names []string
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(to, "/proc/") {
			names = append(names, e.Name()+"="+to)
		}
	}
	return strings.Join(names, " ")
}
