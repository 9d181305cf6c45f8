package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/golden"
	"ccpost/inbox"
)

var (
	postsFlag = flag.Int("posts", 500, "how many posts: 10000 is the whole of it")
	seedFlag  = flag.Uint64("seed", 0, "settles what is tried; 0 takes a new one")
)

const (
	// mostAtOnce is how many posts run at once. A small run has fewer: the tests of
	// other packages beside it give what they wait for a second.
	mostAtOnce = 64
	sessions   = 12 // alive at a time
)

// TestLedger holds what every post said against what arrived.
func TestLedger(t *testing.T) {
	posts, seed := *postsFlag, *seedFlag
	if seed == 0 {
		seed = rand.Uint64() >> 32
	}
	t.Logf("%d posts, seed %d", posts, seed)
	l := open(t, seed)
	began := time.Now()

	finished := make(chan struct{})
	var keepers, posters sync.WaitGroup
	for range sessions {
		keepers.Go(func() {
			for l.keep(finished) {
			}
		})
	}
	var next atomic.Int64
	for range min(mostAtOnce, max(posts/100, 1)) {
		posters.Go(func() {
			for n := int(next.Add(1)); n <= posts; n = int(next.Add(1)) {
				l.post(n)
			}
		})
	}
	posters.Wait()
	close(finished)
	keepers.Wait()

	t.Logf("%d sessions, %.0f s\n%s", l.sessions, time.Since(began).Seconds(), l.table())
	if running := processesOf(l.binary); len(running) > 0 {
		t.Errorf("processes left behind: %d", running)
	}
	if left, _ := os.ReadDir(l.home); len(left) != 1 { // the sessions' own registry
		t.Errorf("left behind in HOME: %s", left)
	}
	l.wrong(l.stranger.got()...)
	for i, text := range l.errors {
		if i == 20 {
			t.Errorf("and %d more", len(l.errors)-i)
			break
		}
		t.Error(text)
	}
	if posts < 10_000 {
		return
	}
	for _, name := range expected {
		if l.counts[name] == 0 {
			t.Errorf("no post came to %s: is that tried still?", name)
		}
	}
}

// expected is what so many posts come to among other things.
var expected = []inbox.Name{
	inbox.Queued, inbox.Delivered, inbox.SentNoReceipt, inbox.Skipped, inbox.NoSessionRecord, inbox.NotLive, inbox.SocketMissing,
	inbox.SocketRefused, inbox.SessionChanged, inbox.ClosedAfterSend, inbox.NotRead, inbox.SocketError, inbox.Timeout,
	inbox.Held, inbox.Denied, inbox.Refused, inbox.Expired, inbox.Dropped, inbox.AuthRejected, inbox.ForeignSocket, inbox.NotASocket,
}

// ledger is one run.
type ledger struct {
	seed              uint64
	dir, home, binary string
	jobs              chan *session // each is there for one post
	stranger          stranger
	fates             []string // in the order in which sessions meet them

	mu       sync.Mutex
	sessions int
	counts   map[inbox.Name]int
	errors   []string
}

func open(t *testing.T, seed uint64) *ledger {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &ledger{
		seed: seed, dir: dir, home: filepath.Join(dir, "home"), binary: filepath.Join(dir, "ccpost"),
		jobs: make(chan *session), counts: map[inbox.Name]int{}, fates: slices.Clone(fates),
	}
	// Dealt, not drawn: the thirty sessions of a short run meet every one of them.
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(l.fates), func(i, j int) { l.fates[i], l.fates[j] = l.fates[j], l.fates[i] })
	for _, name := range []string{"sessions", "projects"} {
		if err := os.MkdirAll(filepath.Join(l.configDir(), name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("../build", l.binary).CombinedOutput(); err != nil {
		t.Fatalf("scripts/build: %v\n%s", err, out)
	}
	return l
}

func (l *ledger) configDir() string { return filepath.Join(l.home, ".claude") }

func (l *ledger) wrong(text ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, text...)
}

// table is how many posts came to what.
func (l *ledger) table() string {
	total := 0
	var b strings.Builder
	for _, row := range inbox.Table {
		if n := l.counts[row.Name]; n > 0 {
			fmt.Fprintf(&b, "%7d  %-18s exit %d\n", n, row.Name, row.Exit)
			total += n
		}
	}
	fmt.Fprintf(&b, "%7d  in all, a post to several sessions counted for each; %d wrong\n", total, len(l.errors))
	return b.String()
}

// post makes one post, or two at once of the same text, to the sessions whose
// turn it is.
func (l *ledger) post(n int) {
	to := []*session{<-l.jobs}
	for n%25 == 0 && len(to) < 3 {
		var more *session
		select {
		case more = <-l.jobs:
		case <-time.After(10 * time.Millisecond): // those that are left may all wait for us
		}
		if more == nil {
			break
		}
		if slices.Contains(to, more) {
			more.posting.Done()
			continue
		}
		to = append(to, more)
	}
	twins := []int{0}
	if n%10 == 0 {
		twins = []int{1, 2}
	}
	var both sync.WaitGroup
	for _, twin := range twins {
		both.Go(func() { l.run(compose(l.seed, n, twin, l.home, os.Getenv("PATH"), to)) })
	}
	both.Wait()
	for _, s := range to {
		s.posting.Done()
	}
}

// run runs one post, and enters it.
func (l *ledger) run(p *post) {
	p.run(l.binary)
	l.mu.Lock()
	for _, r := range p.reports {
		l.counts[r.Outcome]++
	}
	if p.wrong != "" {
		l.errors = append(l.errors, p.wrong+"\n"+p.String())
	}
	l.mu.Unlock()
	for _, s := range p.sessions {
		s.mu.Lock()
		s.posts = append(s.posts, p)
		s.mu.Unlock()
	}
}

// session is one stand-in session and what befalls it.
type session struct {
	orders
	announced
	l       *ledger
	pid     int
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	fate    string
	posting sync.WaitGroup // posts that may be at it, and its fate
	exact   bool           // all that arrived there is known: it was not ended while posts were

	mu    sync.Mutex
	posts []*post
}

func (s *session) String() string {
	return fmt.Sprintf("session %s (pid %d, %s, version %s, fate %q)", s.Name, s.pid, s.Behaviour, s.Version, s.fate)
}

func (s *session) tells(text string) bool {
	return slices.ContainsFunc(s.Secrets, func(secret string) bool { return strings.Contains(text, secret) })
}

// keep starts a session, has it posted to, and holds it against its posters. It
// reports whether there is more to do.
func (l *ledger) keep(finished <-chan struct{}) bool {
	l.mu.Lock()
	l.sessions++
	n := l.sessions
	l.mu.Unlock()
	rng := rand.New(rand.NewPCG(l.seed, 1<<40+uint64(n)))
	s := &session{orders: l.orders(rng, n), l: l, exact: true, fate: l.fates[n%len(l.fates)]}
	if s.fate == "end" {
		s.EarlyRows = true // what is written while it ends must not be lost
	}
	if err := s.start(); err != nil {
		l.wrong(fmt.Sprintf("%s: %v", s, err))
		return false
	}
	life := 8 + rng.IntN(60)
	fateAt := rng.IntN(life)
	// Of one that has met its fate there is not much more to learn.
	life = min(life, fateAt+8)
	more := true
	for i := 0; i < life && more; i++ {
		s.posting.Add(1)
		select {
		case l.jobs <- s:
		case <-finished:
			s.posting.Done()
			more = false
		}
		if i == fateAt && s.fate != "" {
			delay := time.Duration(rng.IntN(150)) * time.Millisecond
			s.posting.Go(func() {
				time.Sleep(delay)
				if err := s.meet(rng); err != nil {
					l.wrong(fmt.Sprintf("%s: %v", s, err))
				}
			})
		}
	}
	s.posting.Wait()
	if err := s.end(); err != nil {
		l.wrong(fmt.Sprintf("%s: %v", s, err))
	}
	l.wrong(s.reconcile(s.posts)...)
	if err := s.remove(); err != nil {
		l.wrong(err.Error())
	}
	return more
}

// orders make up the nth session.
func (l *ledger) orders(rng *rand.Rand, n int) orders {
	one := func(of ...float64) float64 { return of[rng.IntN(len(of))] }
	o := orders{
		Seed: rng.Uint64(), Dir: filepath.Join(l.dir, strconv.Itoa(n)), ConfigDir: l.configDir(), Name: fmt.Sprintf("session %d", n),
		Version: "2.1.332", Behaviour: golden.Accept, Transcript: rng.IntN(4) > 0, EarlyRows: rng.IntN(2) == 0,
		TranscriptDelay: time.Duration(rng.IntN(2)*rng.IntN(100)) * time.Millisecond,
		ReceiptDelay:    time.Duration(rng.IntN(2)*rng.IntN(80)) * time.Millisecond,
		Faults:          one(0, 0.1, 0.3, 0.8),
	}
	switch rng.IntN(12) {
	case 0, 1, 2:
		o.Behaviour = golden.Hold
	case 3:
		o.Behaviour = golden.Refuse
	case 4:
		o.Behaviour = golden.Drop
		o.DropReason = []string{"duplicate", "rate-limited", "queue-full"}[rng.IntN(3)]
	case 5:
		o.Behaviour, o.Version, o.StaleKey = golden.AuthRequired, "2.1.240", rng.IntN(2) == 0
	case 6:
		if rng.IntN(3) == 0 {
			o.Behaviour = golden.WrongSession
		}
	}
	if rng.IntN(4) == 0 {
		o.Backlog, o.Pauses = 1+rng.IntN(2), one(0.1, 0.5)
	}
	return o
}

func (s *session) start() error {
	text, err := json.Marshal(s.orders)
	if err != nil {
		return err
	}
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env, s.cmd.Stderr = []string{"PATH=" + os.Getenv("PATH"), ordersEnv + "=" + string(text)}, os.Stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.pid = s.cmd.Process.Pid
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		return errors.Join(err, s.cmd.Wait())
	}
	return json.Unmarshal(line, &s.announced)
}

// fates are what befalls a session in the midst of its posts: mostly nothing.
var fates = []string{"", "", "", "", "", "", "", "", "", "", "", "", "kill", "kill", "kill", "end", "stop", "stop", "lose", "clear", "stranger", "file", "deaf", "datagram", "link"}

// meet is the session's fate.
func (s *session) meet(rng *rand.Rand) error {
	swap := func(put func(path string) error) error {
		beside := s.Path + ".new"
		if err := put(beside); err != nil {
			return err
		}
		return os.Rename(beside, s.Path)
	}
	switch s.fate {
	case "kill":
		s.exact = false
		return s.cmd.Process.Kill()
	case "end":
		s.exact = false
		return s.stdin.Close()
	case "stop":
		if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
		return s.cmd.Process.Signal(syscall.SIGCONT)
	case "lose":
		return os.Remove(s.Path)
	case "clear":
		_, err := io.WriteString(s.stdin, "clear\n")
		return err
	case "stranger":
		return swap(s.l.stranger.listen)
	case "file":
		return swap(func(path string) error { return os.WriteFile(path, nil, 0o600) })
	case "deaf":
		return swap(func(path string) error { return bind(path, unix.SOCK_STREAM) })
	case "datagram":
		return swap(func(path string) error { return bind(path, unix.SOCK_DGRAM) })
	case "link":
		aside := s.Path + ".aside"
		return errors.Join(os.Rename(s.Path, aside), os.Symlink(aside, s.Path))
	}
	return fmt.Errorf("no fate is called %q", s.fate)
}

// bind leaves a socket that nobody listens at.
func bind(path string, kind int) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}

// end ends the session, unless that was its fate, and waits for it. Nobody posts
// to it any more.
func (s *session) end() error {
	if s.fate == "file" || s.fate == "link" {
		_ = os.Remove(s.Path)
	}
	_ = s.stdin.Close()
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	if err := s.cmd.Wait(); err != nil && s.fate != "kill" {
		return err
	}
	return nil
}

// stranger is another process than the session's, in place of a session's: ours.
type stranger struct {
	open sync.WaitGroup

	mu        sync.Mutex
	listeners []net.Listener
	heard     []string
}

// listen takes every connection at path.
func (x *stranger) listen(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	x.mu.Lock()
	x.listeners = append(x.listeners, l)
	x.mu.Unlock()
	x.open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			x.open.Go(func() {
				defer conn.Close()
				if b, _ := io.ReadAll(conn); len(b) > 0 {
					x.mu.Lock()
					x.heard = append(x.heard, fmt.Sprintf("a stranger was sent %.300q", b))
					x.mu.Unlock()
				}
			})
		}
	})
	return os.Chmod(path, 0o600)
}

// got ends it and says what it was sent. Every poster must be gone.
func (x *stranger) got() []string {
	x.mu.Lock()
	for _, l := range x.listeners {
		l.Close()
	}
	x.mu.Unlock()
	x.open.Wait()
	return x.heard
}

// processesOf gives the processes that run this program.
func processesOf(binary string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == binary {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}
