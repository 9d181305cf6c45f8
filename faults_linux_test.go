package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
)

var (
	allFaults  = flag.Bool("faults.all", false, "inject every fault, not only a sample")
	faultsOnly = flag.String("faults.only", "", "inject the faults whose names this regular expression matches, such as 'send, write 1: EIO'")
	faultsSeed = flag.Uint64("faults.seed", 1, "which sample of the faults is injected")
)

const (
	// sampled is how many faults the default run injects.
	sampled = 500

	// faultsAt is how many of the calls of one kind are made to fail, one in each run.
	faultsAt = 60

	// faultsOver bounds one run beyond its own budget of 2 s.
	faultsOver = 2*time.Second + 10*time.Second
)

var errnos = []string{"EINTR", "EAGAIN", "ENOBUFS", "EMFILE", "ENFILE", "ENOMEM", "EIO", "ENOSPC", "EACCES", "EPERM", "EINVAL"}

// runtimeCalls are those that Go's runtime lives on: where one of them fails the
// process can't go on, whatever the program does.
var runtimeCalls = regexp.MustCompile(`^(execve|mmap|munmap|mprotect|madvise|brk|mincore|futex|clone3?|vfork|fork|rt_.*|sig.*|gettid|getpid|gete?[ug]id|tgkill|sched_.*|set_.*|rseq|arch_prctl|prctl|prlimit64|setrlimit|getrlimit|exit.*|nanosleep|clock_.*|epoll_.*|eventfd2|restart_syscall|getrandom|uname|timer_.*|wait4|waitid)$`)

// inboxOf is a session that keeps every byte it is sent.
type inboxOf struct {
	t      testing.TB
	dir    string
	path   string
	config string
	id     string
	does   string

	listener *net.UnixListener
	flushed  chan struct{}
	release  chan struct{} // a word for each connection that is kept

	mu   sync.Mutex
	open int // connections that are being read, or kept
	came []byte
}

// flush is what a test sends to know that all that came before has been accepted.
const flush = "flush\n"

func takeAll(t testing.TB, does string) *inboxOf {
	t.Helper()
	dir := shortDir(t)
	i := &inboxOf{
		t: t, dir: filepath.Join(dir, "s"), config: filepath.Join(dir, "c"), does: does,
		id: "2591a99c-71bf-4913-9747-f2bf141661a5", flushed: make(chan struct{}, 1), release: make(chan struct{}),
	}
	i.path = filepath.Join(i.dir, strconv.Itoa(os.Getpid())+".sock")
	do(t, os.Mkdir(i.dir, 0o700))
	var err error
	i.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: i.path, Net: "unix"})
	do(t, err)
	do(t, os.Chmod(i.path, 0o600))
	register(t, i.config, os.Getpid(), i.path, i.id)
	record := filepath.Join(i.config, "sessions", strconv.Itoa(os.Getpid())+".json")
	edit(t, record, "{", fmt.Sprintf(`{"name":"api","cwd":%q,"procStart":%q,`, dir, startOf(t, os.Getpid())))
	do(t, os.Chmod(record, 0o644))
	do(t, os.MkdirAll(filepath.Dir(i.transcript()), 0o700))
	do(t, os.WriteFile(i.transcript(), nil, 0o600))
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := i.listener.Accept()
			if err != nil {
				return
			}
			i.mu.Lock()
			i.open++
			i.mu.Unlock()
			go i.serve(c)
		}
	}()
	t.Cleanup(func() { i.listener.Close(); <-served; i.drain() })
	return i
}

// startOf is when a process started, as records spell it.
func startOf(t testing.TB, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	do(t, err)
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[22-3]
}

func (i *inboxOf) transcript() string {
	folder := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(filepath.Dir(i.dir), "-")
	return filepath.Join(i.config, "projects", folder, i.id+".jsonl")
}

// serve reads one connection to its end. A message is answered as soon as its
// line is whole.
func (i *inboxOf) serve(c net.Conn) {
	var got []byte
	defer func() {
		c.Close()
		i.mu.Lock()
		defer i.mu.Unlock()
		i.open--
		i.came = append(i.came, got...)
	}()
	buf := make([]byte, 64<<10)
	if (i.does == closes || i.does == shuts) && begins(c.(*net.UnixConn)) != flush[0] {
		if i.does == shuts {
			_ = c.(*net.UnixConn).CloseWrite()
			<-i.release
		}
		return
	}
	for {
		n, err := c.Read(buf)
		lines := bytes.Count(got, []byte("\n"))
		got = append(got, buf[:n]...)
		if string(got) == flush {
			got = nil
			i.flushed <- struct{}{}
			return
		}
		if all := bytes.SplitAfter(got, []byte("\n")); lines < 2 && len(all) > 2 {
			i.answer(all[1])
		}
		if err != nil {
			return
		}
	}
}

// begins is the first byte that comes on a connection, which stays there.
func begins(c *net.UnixConn) byte {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var first [1]byte
	_ = raw.Read(func(fd uintptr) bool {
		_, _, err := unix.Recvfrom(int(fd), first[:], unix.MSG_PEEK)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	return first[0]
}

// taken is what a session needs of a message line.
type taken struct {
	From    string                   `json:"from"`
	MsgID   string                   `json:"msg_id"`
	Message struct{ Content string } `json:"message"`
}

// tell sends a receipt for the message.
func (m taken) tell(status string) {
	c, err := net.Dial("unix", strings.TrimPrefix(m.From, "uds:"))
	if err != nil {
		return // the poster is gone
	}
	defer c.Close()
	fmt.Fprintf(c, `{"type":"control","action":"peer_message_status",%s,"orig_msg_id":%q}`+"\n", status, m.MsgID)
}

func (i *inboxOf) answer(line []byte) {
	var frame taken
	if json.Unmarshal(line, &frame) != nil || frame.From == "" {
		return
	}
	if i.does == refuses {
		frame.tell(`"status":"expired","status_detail":"refused"`)
		return
	}
	row, _ := json.Marshal(map[string]string{
		"type": "queue-operation", "operation": "enqueue", "sessionId": i.id, "content": frame.Message.Content,
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	})
	f, err := os.OpenFile(i.transcript(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(row, '\n'))
}

// taken gives every byte that came since it was asked last, once every
// connection has ended. No writer may live any more.
func (i *inboxOf) taken() string {
	i.t.Helper()
	c, err := net.Dial("unix", i.path)
	do(i.t, err)
	defer c.Close()
	_, err = io.WriteString(c, flush)
	do(i.t, err)
	<-i.flushed
	i.drain()
	i.mu.Lock()
	defer i.mu.Unlock()
	came := string(i.came)
	i.came = nil
	return came
}

// drain returns once no connection is being read, or kept.
func (i *inboxOf) drain() {
	for {
		i.mu.Lock()
		open := i.open
		i.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case i.release <- struct{}{}:
		case <-time.After(time.Millisecond):
		}
	}
}

func (i *inboxOf) environ(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "CLAUDE_CONFIG_DIR=" + i.config,
		"CLAUDE_CODE_MESSAGING_SOCKET=" + i.path, "CLAUDE_CODE_MESSAGING_TOKEN=" + envToken,
		"CLAUDE_CODE_SESSION_ID=" + i.id, "CLAUDE_PID=" + strconv.Itoa(os.Getpid()),
	}
}

// replies are the reply sockets in the inbox's directory.
func (i *inboxOf) replies() []string {
	all, _ := filepath.Glob(filepath.Join(i.dir, "????????????????.sock"))
	return all
}

// walk is one command whose calls are made to fail.
type walk struct {
	name   string
	args   []string
	stdin  string
	posts  bool   // it sends the message to the inbox
	does   string // what the session makes of it
	exit   int    // where nothing fails
	only   string // the calls that are made to fail; "" is all
	acl    bool   // the settings file has an access control list
	before string // the settings file; "" is none, and stays away where after is ""
	after  string
}

// What a session makes of a message, besides taking it.
const (
	refuses = "refuses" // it says so by a receipt, and writes no row
	closes  = "closes"  // without reading
	shuts   = "shuts"   // down its side, without reading
)

const (
	walkEvent    = `{"hook_event_name":"PostToolUse","session_id":"2591a99c-71bf-4913-9747-f2bf141661a5","tool_name":"Bash","cwd":"/tmp"}`
	walkSettings = "{\n  \"model\": \"x\"\n}\n"
	walkAccepts  = "{\n  \"crossSessionInbound\": \"accept\",\n  \"model\": \"x\"\n}\n"
)

var walks = []walk{
	{name: "send", args: []string{"send", "--json", "--wait", "50ms", "--timeout", "2s", "--to", "name:api", "hello"}, posts: true},
	{name: "send from standard input", args: []string{"send", "--json", "--wait", "50ms", "--timeout", "2s", "-"}, stdin: "hello", posts: true},
	{name: "send to who refuses", args: []string{"send", "--json", "--wait", "50ms", "--timeout", "2s", "--to", "self", "hello"}, posts: true, does: refuses, exit: 76},
	{name: "send to who closes unread", args: []string{"send", "--json", "--wait", "20ms", "--timeout", "300ms", "hello"}, posts: true, does: closes, exit: 74, only: "read ioctl write shutdown poll"},
	{name: "send to who shuts down unread", args: []string{"send", "--json", "--wait", "20ms", "--timeout", "300ms", "hello"}, posts: true, does: shuts, exit: 74, only: "read ioctl"},
	{name: "hook", args: []string{"hook", "--wait", "50ms", "--timeout", "2s"}, stdin: walkEvent, posts: true},
	{name: "policy accept", args: []string{"policy", "accept", "--json"}, before: walkSettings, after: walkAccepts},
	{name: "policy unset", args: []string{"policy", "unset", "--json"}, before: walkAccepts, after: walkSettings},
	{name: "policy of no file", args: []string{"policy", "hold", "--json"}, after: "{\n  \"crossSessionInbound\": \"hold\"\n}\n"},
	{name: "policy of a file with an access list", args: []string{"policy", "accept", "--json"}, before: walkSettings, acl: true, exit: 78, only: "fgetxattr renameat2 fstat"},
	{name: "policy show", args: []string{"policy", "show", "--json"}, before: walkAccepts, after: walkAccepts},
	{name: "list", args: []string{"list", "--json"}},
	{name: "check", args: []string{"check", "--json"}},
	{name: "check --connect", args: []string{"check", "--json", "--connect", "--to", "name:api"}},
}

// fault is one injection: the n-th call of one kind fails with an errno.
type fault struct {
	w     *walk
	call  string
	errno string
	n     int
	on    string // "+": and so do all that follow
}

func (f fault) String() string {
	return fmt.Sprintf("%s, %s %d%s: %s", f.w.name, f.call, f.n, f.on, f.errno)
}

// rank is 0 where a sample must hold the fault.
func (f fault) rank() int {
	if f.w.posts && f.call == "write" {
		return 0
	}
	return 1
}

// lasting are the calls of which all can fail from one on: where one of them that
// fails is made again, a single fault says little.
var lasting = []string{"accept4", "connect", "fgetxattr", "flock", "fsync", "ioctl", "newfstatat", "poll", "renameat2", "unlinkat"}

// tracer runs a command under strace.
type tracer struct {
	program string
	speedy  []string // strace's flags for only stopping at what is traced
}

// needStrace skips a test where no process can be traced.
func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace isn't installed")
	}
	if b, err := exec.Command("strace", "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace can't trace here: %v: %s", err, b)
	}
}

func newTracer(t *testing.T) *tracer {
	t.Helper()
	needStrace(t)
	tr := &tracer{program: filepath.Join(t.TempDir(), "ccpost")}
	build := exec.Command("go", "build", "-o", tr.program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	if exec.Command("strace", "-f", "--seccomp-bpf", "-e", "trace=openat", "-o", os.DevNull, "true").Run() == nil {
		tr.speedy = []string{"--seccomp-bpf"}
	}
	return tr
}

// traced is how a traced run ended, and what strace wrote down.
type traced struct {
	ended
	log  string
	hung bool
}

func (tr *tracer) run(t testing.TB, w *walk, i *inboxOf, home string, options ...string) traced {
	t.Helper()
	log := filepath.Join(home, "log")
	ctx, cancel := context.WithTimeout(context.Background(), faultsOver)
	defer cancel()
	args := append([]string{"-f", "-o", log}, options...)
	cmd := exec.CommandContext(ctx, "strace", append(append(args, tr.program), w.args...)...)
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = i.environ(home), strings.NewReader(w.stdin), &stdout, &stderr
	// A strace that is asked to end takes what it traces along only when it isn't killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("strace: %v", err)
	}
	b, err := os.ReadFile(log)
	do(t, err)
	return traced{ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, string(b), ctx.Err() != nil}
}

const aclName = "system.posix_acl_access"

// accessList lets one more user read.
var accessList = []byte{2, 0, 0, 0,
	1, 0, 6, 0, 255, 255, 255, 255,
	2, 0, 4, 0, 0x39, 0x30, 0, 0,
	4, 0, 0, 0, 255, 255, 255, 255,
	16, 0, 4, 0, 255, 255, 255, 255,
	32, 0, 0, 0, 255, 255, 255, 255,
}

// prepare puts the settings file where the walk begins.
func (w *walk) prepare(t testing.TB, i *inboxOf) {
	t.Helper()
	file := filepath.Join(i.config, "settings.json")
	do(t, os.RemoveAll(file))
	if w.before != "" {
		do(t, os.WriteFile(file, []byte(w.before), 0o600))
	}
	if w.acl {
		do(t, unix.Setxattr(file, aclName, accessList, 0))
	}
}

var calledName = regexp.MustCompile(`(?m)^\d+ +(\w+)\(`)

// faults lists what can be injected into one walk.
func (tr *tracer) faults(t *testing.T, w *walk) (all []fault) {
	t.Helper()
	i := takeAll(t, w.does)
	w.prepare(t, i)
	r := tr.run(t, w, i, shortDir(t))
	if r.code != w.exit {
		t.Fatalf("%s without a fault: want exit %d: %v", w.name, w.exit, r.ended)
	}
	calls := map[string]int{}
	for _, m := range calledName.FindAllStringSubmatch(r.log, -1) {
		if !runtimeCalls.MatchString(m[1]) && (w.only == "" || slices.Contains(strings.Fields(w.only), m[1])) {
			calls[m[1]]++
		}
	}
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		first := 1
		if call == "fcntl" {
			first += 3 // the runtime's, of which each must know its standard descriptor
		}
		for n := first; n <= min(calls[call], faultsAt); n++ {
			for _, errno := range errnos {
				all = append(all, fault{w, call, errno, n, ""})
				// A signal breaks off no call for ever, and EAGAIN is what accept
				// says where nobody has come.
				if slices.Contains(lasting, call) && errno != "EINTR" && call+errno != "accept4EAGAIN" {
					all = append(all, fault{w, call, errno, n, "+"})
				}
			}
		}
	}
	return all
}

// Whatever call of the system's fails, and however: what ccpost says became of
// the message is what became of it, and nothing is left behind.
func TestFaults(t *testing.T) {
	tr := newTracer(t)
	var all []fault
	probe := filepath.Join(shortDir(t), "probe")
	do(t, os.WriteFile(probe, nil, 0o600))
	lists := unix.Setxattr(probe, aclName, accessList, 0)
	for k := range walks {
		if w := &walks[k]; w.acl && lists != nil {
			t.Logf("not %s: %v", w.name, lists)
			continue
		}
		all = append(all, tr.faults(t, &walks[k])...)
	}
	total := len(all)
	switch {
	case *faultsOnly != "":
		only := regexp.MustCompile(*faultsOnly)
		all = slices.DeleteFunc(all, func(f fault) bool { return !only.MatchString(f.String()) })
	case !*allFaults:
		r := rand.New(rand.NewPCG(*faultsSeed, 0))
		r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		// What fails in the midst of a post's writes is where a message can be sent
		// twice, or be said not to have been: none of that is left to chance.
		slices.SortStableFunc(all, func(a, b fault) int { return cmp.Compare(a.rank(), b.rank()) })
		all = all[:min(sampled, len(all))]
	}
	var mu sync.Mutex
	counts, missed := map[string]int{}, 0
	work := make(chan fault)
	var workers sync.WaitGroup
	for range 2 {
		inboxes := map[string]*inboxOf{}
		for _, does := range []string{"", refuses, closes, shuts} {
			inboxes[does] = takeAll(t, does)
		}
		home := shortDir(t)
		workers.Go(func() {
			for f := range work {
				outcome, injected := tr.inject(t, f, inboxes[f.w.does], home)
				mu.Lock()
				counts[fmt.Sprintf("%s %s", f.w.args[0], outcome)]++
				if !injected {
					missed++
				}
				mu.Unlock()
			}
		})
	}
	for _, f := range all {
		work <- f
	}
	close(work)
	workers.Wait()
	t.Logf("%d of %d faults injected, %d of them were not reached", len(all), total, missed)
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[k], k)
	}
}

// inject runs the walk with one fault and holds what was said against what came.
func (tr *tracer) inject(t *testing.T, f fault, i *inboxOf, home string) (outcome string, injected bool) {
	f.w.prepare(t, i)
	trace := []string{"-e", "trace=" + f.call, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d%s", f.call, f.errno, f.n, f.on)}
	r := tr.run(t, f.w, i, home, append(trace, tr.speedy...)...)
	wrong := func(format string, args ...any) {
		t.Errorf("%v: %s\n%v\n%s", f, fmt.Sprintf(format, args...), r.ended, injectedLines(r.log))
	}
	if r.hung {
		wrong("it hung")
	}
	if r.code < 0 || r.code == 1 || r.code == 2 || r.code > 128 {
		wrong("no exit code of ccpost's")
	}
	came := i.taken()
	outcome, reason := outcomeOf(r.ended)
	f.judge(wrong, r.ended, inbox.Name(outcome), reason, came)
	if part, found := leak(r.stdout+r.stderr, envToken, keyToken); found {
		wrong("it printed %q of a token", part)
	}
	if left := i.replies(); len(left) > 0 {
		clean := tr.run(t, &walk{args: f.w.args, stdin: f.w.stdin}, i, home, "-e", "trace=exit_group")
		again := i.replies()
		// What can't be looked at for good, or not removed, is for the next run.
		excused := f.call == "unlinkat" || f.call == "newfstatat" && f.on != ""
		if i.taken(); len(again) > 0 || !excused {
			wrong("it left %v, and the next run %v: %v", left, again, clean.ended)
		}
		for _, s := range again {
			os.Remove(s)
		}
	}
	f.judgeSettings(t, wrong, r.ended, i)
	return outcome, strings.Contains(r.log, "(INJECTED)")
}

func injectedLines(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, "(INJECTED)") {
			b.WriteString(line)
		}
	}
	return b.String()
}

var hookLine = regexp.MustCompile(`(?m)^ccpost: ([a-z-]+): `)

// outcomeOf is the outcome that a run reported.
func outcomeOf(e ended) (outcome, reason string) {
	var r reported
	if json.Unmarshal([]byte(e.stdout), &r) == nil && r.Outcome != "" {
		return string(r.Outcome), string(r.Reason)
	}
	if m := hookLine.FindStringSubmatch(e.stderr); m != nil {
		return m[1], ""
	}
	return fmt.Sprintf("exit %d", e.code), ""
}

// judge holds the outcome against the bytes that the session was sent.
func (f fault) judge(wrong func(string, ...any), e ended, outcome inbox.Name, reason, came string) {
	// The auth line is no part of the message.
	_, message, _ := strings.Cut(came, "\n")
	whole := strings.Count(message, `"type":"user"`)
	switch {
	case !f.w.posts:
		if came != "" {
			wrong("%q was sent", came)
		}
	case whole > 1:
		wrong("it came %d times", whole)
	case e.code == 0 && (whole != 1 || !strings.HasSuffix(message, "\n")):
		wrong("exit 0, and the session had %q", message)
	case e.code == 0 && f.w.does == refuses && reason == "":
		wrong("exit 0, and the session refused it")
	case (e.code >= 64 && e.code <= 70 || e.code == 75 || e.code == 77 || e.code == 78) && message != "":
		wrong("nothing was sent, and the session had %q", message)
	}
	// The session was there, and well, all the time.
	forbidden := f.errno == "EACCES" || f.errno == "EPERM"
	switch outcome {
	case inbox.NoSocketPath, inbox.SocketMissing, inbox.SocketRefused, inbox.SessionChanged, inbox.ChannelOff, inbox.NotASocket,
		inbox.AmbiguousTarget, inbox.BadEnvironment, inbox.BadRequest:
		wrong("%s is not true", outcome)
	case inbox.NoSessionRecord, inbox.NotLive, inbox.NoAuthKey, inbox.PermissionDenied, inbox.Usage:
		// What may not be read doesn't count.
		if !forbidden {
			wrong("%s is not true", outcome)
		}
	case inbox.ClosedAfterSend, inbox.NotRead:
		// What was read isn't known where the system never tells.
		untold := f.call == "ioctl" && f.on != "" && outcome == inbox.NotRead
		if f.w.does != closes && f.w.does != shuts && !untold {
			wrong("%s is not true", outcome)
		}
	}
}

// judgeSettings holds the settings file against what was said of it.
func (f fault) judgeSettings(t *testing.T, wrong func(string, ...any), e ended, i *inboxOf) {
	b, err := os.ReadFile(filepath.Join(i.config, "settings.json"))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	want := f.w.before
	if e.code == 0 {
		want = f.w.after
	}
	if string(b) != want {
		wrong("the settings file is %q, want %q", b, want)
	}
	if n, err := unix.Getxattr(filepath.Join(i.config, "settings.json"), aclName, nil); f.w.acl && n <= 0 {
		wrong("its access control list is lost: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(i.config, ".settings.json.*"))
	for _, l := range left {
		os.Remove(l)
	}
	if len(left) > 0 && f.call != "unlinkat" {
		wrong("%v was left", left)
	}
}

// storm sends a process signals that mean nothing to it, and stops it again and
// again, until it has ended. sent counts them.
func storm(p *os.Process, sent *atomic.Int64) {
	for n := 0; ; n++ {
		signals := []syscall.Signal{syscall.SIGURG, syscall.SIGWINCH, syscall.SIGCHLD}
		if n%50 == 0 {
			signals = append(signals, syscall.SIGSTOP, syscall.SIGCONT)
		}
		for _, s := range signals {
			if p.Signal(s) != nil {
				return
			}
			sent.Add(1)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// Signals break off every call there is: a connect to a full backlog, a write to
// a slow reader, the wait for a receipt, and its accept.
func TestSignalStorm(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "1.sock")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	do(t, err)
	defer unix.Close(fd)
	do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	do(t, os.Chmod(path, 0o600))
	do(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(patience.Seconds())}))
	do(t, unix.Listen(fd, 0)) // which has room for one
	first, err := net.Dial("unix", path)
	do(t, err)
	defer first.Close()

	body := strings.Repeat("0123456789", 90_000)
	var stdout, stderr strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ccpost", "send", "--json", "--timeout", "50s", "--wait", "50s", "-")
	cmd.Env = environ(t, "CLAUDE_CODE_MESSAGING_SOCKET="+path, "CLAUDE_CODE_MESSAGING_TOKEN="+envToken)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(body), &stdout, &stderr
	do(t, cmd.Start())
	var sent atomic.Int64
	over := make(chan struct{})
	go func() { storm(cmd.Process, &sent); close(over) }()
	reaped := make(chan error, 1)
	go func() { reaped <- cmd.Wait() }()
	// more returns after some more signals, or once the process has ended.
	more := func() {
		for until := sent.Load() + 1000; sent.Load() < until; time.Sleep(time.Millisecond) {
			select {
			case <-over:
				return
			default:
			}
		}
	}

	more() // at the full backlog
	var conns []net.Conn
	for range 2 {
		c, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
		do(t, err)
		f := os.NewFile(uintptr(c), "")
		conn, err := net.FileConn(f)
		do(t, err)
		f.Close()
		defer conn.Close()
		do(t, conn.SetDeadline(time.Now().Add(2*patience)))
		conns = append(conns, conn)
	}
	var got []byte
	buf := make([]byte, 16<<10)
	for bytes.Count(got, []byte("\n")) < 2 {
		n, err := conns[1].Read(buf)
		if got = append(got, buf[:n]...); err != nil {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	_, line, _ := bytes.Cut(got, []byte("\n"))
	var frame taken
	do(t, json.Unmarshal(line, &frame))
	for _, status := range []string{"held", "delivered"} {
		more() // in the wait for it
		frame.tell(`"status":"` + status + `"`)
	}
	rest, _ := io.ReadAll(conns[1])
	<-reaped
	<-over
	e := ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	if o, _ := outcomeOf(e); o != string(inbox.Delivered) || e.code != 0 {
		t.Error(e)
	}
	if len(rest) != 0 || !strings.Contains(frame.Message.Content, "\n"+body+"\n") {
		t.Errorf("another message came, of %d bytes, and %d bytes more", len(line), len(rest))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "????????????????.sock")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	t.Logf("%d signals", sent.Load())
}

// A clock that is set anew moves no deadline: time.Now tells the monotonic time
// too, by which times are compared, and these are all the places that do without
// it. Each is of the age or the order of what others wrote down.
func TestWallClock(t *testing.T) {
	wall := regexp.MustCompile(`\.(Truncate|Round|UTC|Local|In\(time|UnixMilli|UnixNano|Unix|ModTime)\(|time\.(Parse|Unix|UnixMilli|Date)\(`)
	found := map[string]int{}
	for _, dir := range []string{".", "hook", "envtoken", "inbox", "precheck", "redact"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		do(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			do(t, err)
			if n := len(wall.FindAllIndex(b, -1)); n > 0 {
				found[file] = n
			}
		}
	}
	want := map[string]int{
		"envtoken/record.go":  2, // the age of a record that may be being written, and when its session started
		"inbox/transcript.go": 2, // the row's time against the write's
	}
	if !maps.Equal(found, want) {
		t.Errorf("the wall clock is in %v, want %v", found, want)
	}
}
