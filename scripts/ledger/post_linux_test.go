package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ccpost/inbox"
)

// patience bounds what must happen. It is no assertion on time.
const patience = time.Minute

// report is what --json says of one target.
type report struct {
	Outcome  inbox.Name   `json:"outcome"`
	Reason   inbox.Reason `json:"reason"`
	Exit     int          `json:"exit"`
	Sent     bool         `json:"sent"`
	Auth     string       `json:"auth"`
	Evidence string       `json:"evidence"`
	MsgID    string       `json:"msg_id"`
}

// post is one process of ccpost, and how it ended.
type post struct {
	n        int
	mark     string // stands in its body, and in no other's
	body     string // "" where only the mark is known of it
	raw      bool
	json     bool // whether it says more than the outcome
	args     []string
	env      []string
	stdin    string
	sessions []*session // one for each --to, in their order; one alone may be self

	pid            int
	exit           int // -1: a signal ended it
	stdout, stderr string
	reports        []report // one for each session
	wrong          string   // how it broke its word before any session was asked
}

func (p *post) String() string {
	return fmt.Sprintf("post %d (pid %d): ccpost %.200q: exit %d\nstdout: %.700s\nstderr: %.700s", p.n, p.pid, p.args, p.exit, p.stdout, p.stderr)
}

// compose decides on one post to these sessions. Twins, 1 and 2, are of one sender
// and one text. The first waits and has the reply address, the second takes none:
// a row of its text must not pass for the first one's.
func compose(seed uint64, n, twin int, home, path string, sessions []*session) *post {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))                       // of both
	own := rand.New(rand.NewPCG(seed, 1<<50+uint64(n)<<1+uint64(twin))) // of each
	p := &post{n: n, mark: fmt.Sprintf("(%d/%d)", seed, n), sessions: sessions}
	p.env = []string{"PATH=" + path, "HOME=" + home, "TMPDIR=" + home}
	var flags []string
	add := func(f ...string) { flags = append(flags, f...) }
	timeouts := []string{"60ms", "150ms", "400ms", "400ms", "1s"}
	waits := []string{"", "0", "0", "20ms", "20ms", "100ms", "100ms", "100ms"}
	add("--timeout", timeouts[own.IntN(len(timeouts))])
	wait := waits[own.IntN(len(waits))]
	switch twin {
	case 1:
		wait = "200ms"
	case 2:
		wait = "0"
	}
	if wait != "" {
		add("--wait", wait)
	}
	// Few senders share a reply socket, many have one each.
	if rng.IntN(3) > 0 {
		add("--as", fmt.Sprintf("sender %d", rng.IntN(400)))
	}
	if rng.IntN(10) == 0 {
		add("--if-present")
	}
	for _, s := range sessions {
		who := []string{"", s.Path, "uds:" + s.Path, "id:" + s.SessionID, s.SessionID, s.Name, "pid:" + strconv.Itoa(s.pid)}
		to := who[own.IntN(len(who))]
		if to == "" && len(sessions) == 1 {
			p.env = append(p.env, s.Environ...)
			continue
		} else if to == "" {
			to = s.Path
		}
		add("--to", to)
	}
	switch way := rng.IntN(20); {
	case way == 0 && len(sessions) == 1:
		// Its body tells how long it took.
		p.args = append(append([]string{"run", "--verbose", "--require-post", "--label", p.mark, "--tail", "0"}, flags...), "--", "true")
	case way < 4 && len(sessions) == 1:
		p.body = p.mark + filler(rng, 300)
		event, _ := json.Marshal(map[string]string{
			"session_id": sessions[0].SessionID, "hook_event_name": "Notification", "notification_type": "agent_needs_input", "message": p.body,
		})
		p.stdin = string(event)
		p.args = append([]string{"hook", "--verbose", "--text", "{message}"}, flags...)
	default:
		size := []int{10, 100, 100, 1000, 3000}[rng.IntN(5)]
		if rng.IntN(10) == 0 {
			size = []int{30_000, 900_000, 900_000}[rng.IntN(3)]
		}
		p.body = p.mark + filler(rng, size)
		p.json = true
		if p.raw = rng.IntN(10) == 0; p.raw {
			add("--raw")
		}
		p.args = append([]string{"send", "--json"}, flags...)
		if len(p.body) > 2000 || rng.IntN(4) == 0 {
			p.args, p.stdin = append(p.args, "-"), p.body
		} else {
			p.args = append(p.args, p.body)
		}
	}
	return p
}

// filler is up to most characters, no two runs of them alike, that are sent as
// they are.
func filler(rng *rand.Rand, most int) string {
	var b strings.Builder
	for size := rng.IntN(most); b.Len() < size; {
		b.WriteString(strconv.FormatUint(rng.Uint64(), 36))
		b.WriteString([]string{" ", "\n", "\"", "\\", "é", "<a>"}[rng.IntN(6)])
	}
	return b.String() + "."
}

// run runs it to its end.
func (p *post) run(binary string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, p.args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.env, strings.NewReader(p.stdin), &stdout, &stderr
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		p.wrong = "it was not started: " + err.Error()
		return
	}
	p.pid = cmd.Process.Pid
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		p.wrong = err.Error()
	}
	p.exit, p.stdout, p.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	if ctx.Err() != nil {
		p.wrong = "it didn't end by itself"
	}
	p.read()
}

// told is a line of run's and hook's that says what became of the message.
var told = regexp.MustCompile(`(?m)^(?:ccpost: )?([a-z-]+): `)

// rests is what --verbose says besides.
var rests = regexp.MustCompile(`, evidence ([a-z]+), `)

// successes are the outcomes with exit code 0 by what they rest on.
var successes = map[string]inbox.Name{
	inbox.EvidenceTranscript: inbox.Queued, inbox.EvidenceReceipt: inbox.Delivered, inbox.EvidenceRead: inbox.SentNoReceipt,
}

// read reads what it said.
func (p *post) read() {
	if p.json {
		for line := range strings.Lines(p.stdout) {
			var r report
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				p.wrong = "its report: " + err.Error()
				return
			}
			p.reports = append(p.reports, r)
		}
		if p.stderr != "" {
			p.wrong = "a report, and something on standard error"
		}
	} else {
		r := report{Outcome: inbox.Skipped, Exit: p.exit} // which is silent
		for _, m := range told.FindAllStringSubmatch(p.stderr, -1) {
			if name := inbox.Name(m[1]); name == name.Row().Name {
				r.Outcome = name
				break
			}
		}
		// hook says nothing about success but what it rests on.
		if m := rests.FindStringSubmatch(p.stderr); m != nil && r.Outcome == inbox.Skipped {
			r.Outcome = successes[m[1]]
		}
		p.reports = []report{r}
		if p.stdout != "" {
			p.wrong = "something on standard output"
		}
	}
	exit := 0
	for _, r := range p.reports {
		if row := r.Outcome.Row(); row.Name != r.Outcome || row.Exit != r.Exit {
			p.wrong = fmt.Sprintf("no outcome is named %s and exits with %d", r.Outcome, r.Exit)
		}
		if exit == 0 {
			exit = r.Exit
		}
	}
	switch {
	case p.wrong != "":
	case len(p.reports) != len(p.sessions):
		p.wrong = fmt.Sprintf("%d reports on %d sessions", len(p.reports), len(p.sessions))
	case exit != p.exit:
		p.wrong = fmt.Sprintf("its reports say exit code %d", exit)
	case slices.ContainsFunc(p.sessions, func(s *session) bool { return s.tells(p.stdout + p.stderr) }):
		p.wrong = "it printed a token"
	}
}
