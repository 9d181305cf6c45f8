package race

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
	"ccpost/precheck"
	"ccpost/redact"
)

var tries = flag.Int("tries", 5_000, "how often the library posts; one in a hundred more is by the binary")

const (
	token = "Uf3+Zk8~Xo5.Bq1=Js7/Vw4_Ge9-Pi2Ta6D"

	// strangerUID is nobody's account: files and processes need only the number.
	strangerUID = 54321

	// asStranger is set for the process that plays the stranger.
	asStranger = "RACE_STRANGER"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asStranger); dir != "" {
		if err := stranger(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

// places are the stranger's sockets in its directory: to be linked to, to be
// moved into the session's directory, and those of whole directories to be put
// in place of the session's.
var places = []string{"linked/1.sock", "moved", "own/1.sock", "above/d/1.sock"}

// stranger listens in all places and reads whatever comes until its standard
// input ends. Then it tells how many connections there were, and every byte.
func stranger(dir string) error {
	var mu sync.Mutex
	var got bytes.Buffer
	var connections atomic.Int64
	var readers sync.WaitGroup
	for _, place := range places {
		path := filepath.Join(dir, place)
		// All as a session's are: only whose they are gives them away.
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		l, err := net.Listen("unix", path)
		if err != nil {
			return err
		}
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				connections.Add(1)
				readers.Go(func() {
					defer c.Close()
					all, _ := io.ReadAll(c) // a reset has nothing more to say
					mu.Lock()
					defer mu.Unlock()
					got.Write(all)
				})
			}
		}()
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	readers.Wait() // every poster is gone
	fmt.Println(connections.Load())
	_, err := io.Copy(os.Stdout, &got)
	return err
}

// arena is a session's socket at base/p/d/1.sock, and a stranger.
type arena struct {
	base    string
	path    string
	reached atomic.Int64 // posts that the session read to their end
	above   int          // descriptor of base
	parent  int          // of p, wherever it is
	dir     int          // of d, wherever it is
}

// newArena gives an arena, and finish, which ends the stranger and says how many
// connections and which bytes it got.
func newArena(t *testing.T) (a *arena, finish func() (connections int, got []byte)) {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "cc")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(base)) })
	a = &arena{base: base, path: base + "/p/d/1.sock"}
	check(t, os.MkdirAll(filepath.Dir(a.path), 0o700))
	l, err := net.Listen("unix", a.path)
	check(t, err)
	check(t, os.Chmod(a.path, 0o600))
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	go a.session(l)
	for _, d := range []struct {
		fd   *int
		path string
	}{{&a.above, base}, {&a.parent, base + "/p"}, {&a.dir, base + "/p/d"}} {
		fd, err := unix.Open(d.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		check(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		*d.fd = fd
	}

	home := base + "/s"
	check(t, os.Mkdir(home, 0o700))
	self, err := os.Executable()
	check(t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Path = self
	if os.Geteuid() == 0 {
		check(t, os.Chown(home, strangerUID, strangerUID))
		// The stranger must be able to enter its own home, and to run.
		check(t, os.Chmod(base, 0o711))
		f, err := os.Open(self)
		check(t, err)
		defer f.Close()
		cmd.Path, cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{f}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangerUID, Gid: strangerUID}}
	}
	cmd.Env = []string{asStranger + "=" + home}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	line := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(out, line); err != nil {
		t.Fatal(err)
	}
	return a, func() (n int, got []byte) {
		t.Helper()
		check(t, stdin.Close())
		all, err := io.ReadAll(out)
		check(t, err)
		first, got, _ := bytes.Cut(all, []byte("\n"))
		_, err = fmt.Sscan(string(first), &n)
		check(t, err)
		return n, got
	}
}

// session takes whatever comes, as a session does.
func (a *arena) session(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if got, err := io.ReadAll(c); err == nil && bytes.Count(got, []byte("\n")) == 2 {
				a.reached.Add(1)
			}
		}()
	}
}

// swaps are two names each, of which the second is exchanged for the first and
// back, by the descriptor of the directory that they stand in.
func (a *arena) swaps(t *testing.T) (list [][2]place) {
	t.Helper()
	s := a.base + "/s"
	check(t, unix.Symlinkat(s+"/linked/1.sock", a.dir, "link"))
	check(t, unix.Symlinkat("1.sock", a.dir, "self"))
	check(t, unix.Symlinkat(s+"/own", a.parent, "link"))
	check(t, unix.Symlinkat(s+"/above", a.above, "link"))
	home, err := unix.Open(s, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	check(t, err)
	t.Cleanup(func() { unix.Close(home) })
	check(t, unix.Renameat(home, "moved", a.dir, "moved"))
	return [][2]place{
		{{a.dir, "1.sock"}, {a.dir, "link"}},
		{{a.dir, "1.sock"}, {a.dir, "moved"}},
		{{a.dir, "1.sock"}, {a.dir, "moved"}}, // the one that only the peer's check can see
		{{a.dir, "1.sock"}, {a.dir, "self"}},
		{{a.parent, "d"}, {a.parent, "link"}},
		{{a.parent, "d"}, {home, "own"}},
		{{a.above, "p"}, {a.above, "link"}},
		{{a.above, "p"}, {home, "above"}},
	}
}

type place struct {
	dir  int
	name string
}

// swap exchanges pair after pair and back, until stop. One goroutine does it all:
// with more of them the session would hardly ever stand where it belongs.
func swap(stop <-chan struct{}, pairs [][2]place) error {
	for i := 0; ; i++ {
		pair := pairs[i%len(pairs)]
		for j := range 2 {
			if err := unix.Renameat2(pair[0].dir, pair[0].name, pair[1].dir, pair[1].name, unix.RENAME_EXCHANGE); err != nil {
				return err
			}
			pause(i * (1 + 2*j)) // three times as long as it should be
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// pause lets what stands there stand, between nothing and 50 µs: a post takes
// some 100.
func pause(i int) {
	for end := time.Now().Add(time.Duration(i%26) * 2 * time.Microsecond); time.Now().Before(end); {
	}
}

// post posts n times from a few places at once while everything is swapped,
// until enough, and counts the outcomes.
func (a *arena) post(t *testing.T, n int, one func() string, enough func() bool) map[string]int {
	t.Helper()
	stop := make(chan struct{})
	swapped := make(chan error)
	pairs := a.swaps(t)
	go func() { swapped <- swap(stop, pairs) }()
	var posters sync.WaitGroup
	var mu sync.Mutex
	count := map[string]int{}
	var begun atomic.Int64
	for range 4 {
		posters.Go(func() {
			for begun.Add(1) <= int64(n) && !enough() {
				outcome := one()
				mu.Lock()
				count[outcome]++
				mu.Unlock()
			}
		})
	}
	posters.Wait()
	close(stop)
	if err := <-swapped; err != nil {
		t.Errorf("swapping: %v", err)
	}
	return count
}

// library posts once through the library.
func (a *arena) library(t *testing.T, o inbox.Options) func() string {
	t.Helper()
	tok, err := redact.Parse(token)
	check(t, err)
	o.Wait = -1
	target := inbox.Target{Path: a.path, Token: tok, PID: os.Getpid()}
	return func() string {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		out, err := inbox.Post(ctx, target, inbox.Message{Body: "hello"}, o)
		var failed *inbox.Error
		switch {
		case err == nil:
			return string(out.Name)
		case errors.As(err, &failed):
			if failed.Outcome == inbox.Internal {
				t.Error(err)
			}
			return strings.TrimSpace(string(failed.Outcome) + " " + string(failed.Reason))
		}
		return err.Error()
	}
}

func never() bool { return false }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// report prints the counts, and fails where the session was hardly reached: then
// nothing was raced for.
func (a *arena) report(t *testing.T, what string, count map[string]int, connections int, got []byte) {
	t.Helper()
	t.Logf("%s: the session read %d messages; the stranger had %d connections and %d bytes", what, a.reached.Load(), connections, len(got))
	for _, outcome := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%8d %s", count[outcome], outcome)
	}
	posts := 0
	for _, n := range count {
		posts += n
	}
	if a.reached.Load() < int64(posts/500) {
		t.Errorf("of %d posts the session was reached by too few", posts)
	}
}

func TestSwap(t *testing.T) {
	a, finish := newArena(t)
	count := a.post(t, *tries, a.library(t, inbox.Options{}), never)
	connections, got := finish()
	a.report(t, "library", count, connections, got)
	if len(got) > 0 {
		t.Errorf("the stranger got %q", got)
	}
	if int64(count["sent-no-receipt"]) > a.reached.Load() {
		t.Errorf("%d were said to be read", count["sent-no-receipt"])
	}
}

// build gives the path of the binary.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "ccpost")
	cmd := exec.Command("go", "build", "-o", bin, "ccpost")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// The same by the binary, whose target is its environment's.
func TestSwapBinary(t *testing.T) {
	bin := build(t)
	a, finish := newArena(t)
	home := t.TempDir()
	count := a.post(t, max(*tries/100, 100), func() string {
		cmd := exec.Command(bin, "send", "--wait", "0", "hello")
		cmd.Env = []string{
			"HOME=" + home, "CLAUDE_CODE_MESSAGING_SOCKET=" + a.path, "CLAUDE_CODE_MESSAGING_TOKEN=" + token,
			fmt.Sprint("CLAUDE_PID=", os.Getpid()),
		}
		out, err := cmd.CombinedOutput()
		if bytes.Contains(out, []byte(token)) {
			t.Errorf("printed the token: %s", out)
		}
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
		return fmt.Sprint("exit ", cmd.ProcessState.ExitCode())
	}, never)
	connections, got := finish()
	a.report(t, "binary", count, connections, got)
	if len(got) > 0 {
		t.Errorf("the stranger got %q", got)
	}
	for code := range count {
		if !slices.Contains([]string{"exit 0", "exit 69", "exit 77"}, code) {
			t.Errorf("%d times %s", count[code], code)
		}
	}
}

// Where whoever answers is believed, the stranger is reached: so the race is one.
func TestSwapReachesTheCredulous(t *testing.T) {
	believed := precheck.Cred{UID: os.Geteuid(), PID: os.Getpid()}
	var strangers atomic.Int64
	peer := func(fd int) (precheck.Cred, error) {
		if c, err := precheck.PeerCred(fd); err != nil || c != believed {
			strangers.Add(1)
		}
		return believed, nil
	}
	a, finish := newArena(t)
	count := a.post(t, 1_000_000, a.library(t, inbox.Options{Peer: peer}), func() bool { return strangers.Load() >= 3 })
	connections, got := finish()
	a.report(t, "credulous library", count, connections, got)
	if !bytes.Contains(got, []byte(token)) {
		t.Error("the stranger didn't get the token")
	}
}
