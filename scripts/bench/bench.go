package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	sessions = 5 // in the registry of the posters' HOME

	// warm is how many rounds are thrown away first.
	warm = 5

	// peakStarts and largeStarts are the starts for one figure of memory, and for
	// one size of a large event.
	peakStarts  = 20
	largeStarts = 9
)

// patience keeps a loaded machine from ending a post, where what it takes is what
// is measured, or doesn't matter.
var patience = []string{"--timeout", "1m"}

// bench is one run.
type bench struct {
	starts int
	also   []build
	budget []string // flags for ccpost; none for what people get

	dir      string   // everything lies there, and goes with it
	peak     string   // the program that measures memory; "" without a C compiler
	skipped  []string // tools that aren't there
	versions []string // of interpreters
}

// result is what a run measured.
type result struct {
	starts   int
	machine  string
	rows     []figures
	large    []largeEvent
	skipped  []string
	versions []string
}

// figures are those of one poster.
type figures struct {
	name string
	idle bool            // it posts nothing
	wall []time.Duration // sorted
	cpu  []time.Duration // user and system, sorted
	peak int64           // bytes; 0 where it wasn't measured
	size int64           // bytes; 0 where there is no binary
}

// largeEvent is what a hook takes for an event of some size.
type largeEvent struct {
	size int64 // bytes
	wall time.Duration
	peak int64 // bytes
}

func (b *bench) run() (r result, err error) {
	if b.dir, err = os.MkdirTemp("", "b"); err != nil {
		return r, err
	}
	defer os.RemoveAll(b.dir)
	home, sockets := b.file("home"), b.file("cc-socks")
	var all []*session
	defer func() {
		for _, s := range all {
			if _, e := s.end(); err == nil {
				err = e
			}
		}
	}()
	for i := range sessions {
		s, err := startSession(home, sockets, "s"+strconv.Itoa(i), i == 1)
		if err != nil {
			return r, err
		}
		all = append(all, s)
	}
	silent, writing := all[0], all[1]
	posters, err := b.posters(silent, writing)
	if err != nil {
		return r, err
	}
	runs := make([]*runner, len(posters))
	taken := map[*session]int{}
	for i, p := range posters {
		if runs[i], err = b.runner(home, p); err != nil {
			return r, err
		}
	}
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	for round := range warm + b.starts {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			wall, cpu, err := runs[i].start()
			if err != nil {
				return r, err
			}
			taken[posters[i].session]++
			if round >= warm {
				runs[i].wall, runs[i].cpu = append(runs[i].wall, wall), append(runs[i].cpu, cpu)
			}
		}
	}
	for i, run := range runs {
		f := figures{name: posters[i].name, idle: posters[i].session == nil, wall: run.wall, cpu: run.cpu}
		slices.Sort(f.wall)
		slices.Sort(f.cpu)
		if f.size, err = posters[i].size(); err != nil {
			return r, err
		}
		for range peakStarts {
			peak, err := b.peakOf(run)
			if err != nil {
				return r, err
			}
			if b.peak != "" {
				taken[posters[i].session]++
			}
			f.peak = max(f.peak, peak)
		}
		r.rows = append(r.rows, f)
	}
	hook := runs[slices.IndexFunc(posters, func(p poster) bool { return p.name == hookNoWait })]
	n := 0
	if r.large, n, err = b.largeEvents(hook); err != nil {
		return r, err
	}
	taken[silent] += n
	for len(all) > 0 {
		s := all[0]
		all = all[1:]
		if n, err := s.end(); err != nil || n != taken[s] {
			return r, errors.Join(fmt.Errorf("a session took %d messages, and was sent %d", n, taken[s]), err)
		}
	}
	r.starts, r.machine, r.skipped, r.versions = b.starts, machine(), b.skipped, b.versions
	return r, nil
}

// runner starts one poster again and again.
type runner struct {
	poster
	env    []string
	event  []byte   // for its standard input
	errs   *os.File // its standard error
	devnul *os.File

	wall, cpu []time.Duration
}

func (b *bench) runner(home string, p poster) (*runner, error) {
	r := &runner{poster: p, env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color"}}
	var err error
	if r.devnul, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if r.errs, err = os.CreateTemp(b.dir, "stderr"); err != nil {
		return nil, err
	}
	if p.session == nil {
		return r, nil
	}
	id := ""
	for _, e := range p.session.environ {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "CLAUDE_CONFIG_DIR": // it is HOME's, as for nearly everybody
			continue
		case "CLAUDE_CODE_SESSION_ID":
			id = value
		}
		r.env = append(r.env, e)
	}
	r.event, err = event(home, id)
	return r, err
}

// start is one start: what it took from before fork until it was reaped, and the
// time that it computed.
func (r *runner) start() (wall, cpu time.Duration, err error) {
	in, err := filled(r.event)
	if err != nil {
		return 0, 0, err
	}
	defer in.Close()
	status, usage, wall, err := r.spawn(r.argv, in, r.devnul)
	if err == nil && status.ExitStatus() != 0 {
		err = r.failed(status.ExitStatus())
	}
	return wall, time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// spawn forks, runs and reaps, with as little as Go has for it.
func (r *runner) spawn(argv []string, in, out *os.File) (status syscall.WaitStatus, usage syscall.Rusage, wall time.Duration, err error) {
	attr := syscall.ProcAttr{Env: r.env, Files: []uintptr{in.Fd(), out.Fd(), r.errs.Fd()}}
	begin := time.Now()
	pid, err := syscall.ForkExec(argv[0], argv, &attr)
	for err == nil {
		if _, err = syscall.Wait4(pid, &status, 0, &usage); err != syscall.EINTR {
			break
		}
	}
	return status, usage, time.Since(begin), err
}

func (r *runner) failed(code int) error {
	said, _ := os.ReadFile(r.errs.Name())
	return fmt.Errorf("%s exited with %d\n%s", r.name, code, bytes.TrimSpace(said))
}

// filled is a pipe that holds b, and then ends: a hook's standard input as its
// session leaves it.
func filled(b []byte) (*os.File, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if _, err = out.Write(b); err == nil {
		err = out.Close()
	}
	return in, err
}

// peakOf is the peak memory of one start in bytes, 0 where nothing measures it.
func (b *bench) peakOf(r *runner) (int64, error) {
	if b.peak == "" {
		return 0, nil
	}
	in, err := filled(r.event)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return b.peakWith(r, r.argv, in)
}

func (b *bench) peakWith(r *runner, argv []string, in *os.File) (int64, error) {
	out, err := os.CreateTemp(b.dir, "peak")
	if err != nil {
		return 0, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	status, _, _, err := r.spawn(append([]string{b.peak}, argv...), in, out)
	if err != nil {
		return 0, err
	}
	if status.ExitStatus() != 0 {
		return 0, r.failed(status.ExitStatus())
	}
	said, err := os.ReadFile(out.Name())
	if err != nil {
		return 0, err
	}
	// Last, behind what the command itself may have said.
	fields := bytes.Fields(said)
	if len(fields) == 0 {
		return 0, errors.New("peak said nothing")
	}
	kib, err := strconv.ParseInt(string(fields[len(fields)-1]), 10, 64)
	return kib << 10, err
}

// largeEvents posts from events of 1 to 32 MiB, which is the most that a hook
// takes, and counts its posts.
func (b *bench) largeEvents(hook *runner) (list []largeEvent, posts int, err error) {
	argv := append(slices.Clip(hook.argv), patience...)
	for mib := int64(1); mib <= 32; mib *= 2 {
		e := largeEvent{size: mib << 20}
		name := b.file("event")
		data := bytes.Replace(hook.event, []byte(`"stdout":"`), fmt.Appendf(nil, `"stdout":"%s`, strings.Repeat("x", int(e.size)-len(hook.event))), 1)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return nil, posts, err
		}
		var walls []time.Duration
		for i := range 2 * largeStarts {
			in, err := os.Open(name)
			if err != nil {
				return nil, posts, err
			}
			if i < largeStarts {
				status, _, wall, spawnErr := hook.spawn(argv, in, hook.devnul)
				if err = spawnErr; err == nil && status.ExitStatus() != 0 {
					err = hook.failed(status.ExitStatus())
				}
				walls, posts = append(walls, wall), posts+1
			} else if b.peak != "" {
				var peak int64
				peak, err = b.peakWith(hook, argv, in)
				e.peak, posts = max(e.peak, peak), posts+1
			}
			_ = in.Close()
			if err != nil {
				return nil, posts, err
			}
		}
		slices.Sort(walls)
		e.wall = percentile(walls, 50)
		list = append(list, e)
	}
	return list, posts, nil
}

// event is a PostToolUse event of this session, as in golden/capture/hook-input,
// and its transcript: a conversation of some 100 KB, in which the turn that the
// event is from is the last.
func event(home, sessionID string) ([]byte, error) {
	raw, err := os.ReadFile("golden/capture/hook-input/PostToolUse-Bash.json")
	if err != nil {
		return nil, err
	}
	// Not decoded and encoded: the order of the fields stays.
	var e struct {
		Transcript string `json:"transcript_path"`
		SessionID  string `json:"session_id"`
		Cwd        string `json:"cwd"`
		PromptID   string `json:"prompt_id"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	path := filepath.Join(home, ".claude/projects/-the-bench", sessionID+".jsonl")
	out := strings.NewReplacer(e.Transcript, path, e.SessionID, sessionID, e.Cwd+`"`, home+`"`).Replace(string(raw))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return []byte(out), os.WriteFile(path, transcript(sessionID, e.PromptID), 0o600)
}

// transcript has rows with the fields that one row of golden/capture has and
// that tell how a turn began.
func transcript(sessionID, promptID string) []byte {
	var b bytes.Buffer
	row := func(turn int, role, content string) {
		id := promptID
		if turn > 0 {
			id = fmt.Sprintf("%08x-5b9c-4f0e-9d51-6a3f2f8f4c11", turn)
		}
		fmt.Fprintf(&b, `{"parentUuid":"9d9ba3c9-4fd2-4003-8e96-f7447562b134","isSidechain":false,"promptId":"%s","type":"%s","message":{"role":"%[2]s","content":%s},"uuid":"e5f14d46-232c-43b2-8c8c-38a1e9c361cd","timestamp":"2026-11-30T20:24:27.470Z","permissionMode":"default","userType":"external","cwd":"/home/dev/api","sessionId":"%s","version":"2.1.332","gitBranch":"HEAD"}`+"\n", id, role, content, sessionID)
	}
	for turn := 12; turn >= 0; turn-- {
		row(turn, "user", `"what does the build say?"`)
		for range 4 {
			row(turn, "assistant", `[{"type":"tool_use","id":"toolu_1796071060823","name":"Bash","input":{"command":"make","description":"Build"}}]`)
			row(turn, "user", `[{"type":"tool_result","tool_use_id":"toolu_1796071060823","content":"`+strings.Repeat(`go: building\n`, 40)+`"}]`)
		}
	}
	return b.Bytes()
}

// percentile of sorted durations.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// machine says where a run was made.
func machine() string {
	return fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}
