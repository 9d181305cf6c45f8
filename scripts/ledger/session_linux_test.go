package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ccpost/golden"
)

// ordersEnv has the orders of the process that is to be a session.
const ordersEnv = "LEDGER_SESSION"

// TestMain also is a stand-in session in a process of its own.
func TestMain(m *testing.M) {
	if text := os.Getenv(ordersEnv); text != "" {
		if err := beSession(text); err != nil {
			fmt.Fprintln(os.Stderr, "stand-in session:", err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

// orders say what a session is like.
type orders struct {
	Seed      uint64
	Dir       string // its own: the socket directory, and its side of the ledger
	ConfigDir string // shared with the others
	Name      string
	Version   string

	Behaviour       golden.Behaviour
	DropReason      string
	Transcript      bool
	TranscriptDelay time.Duration
	ReceiptDelay    time.Duration
	Backlog         int

	Faults    float64 // the part of its connections that a fault comes to
	Pauses    float64 // the part before which it takes none for a while
	EarlyRows bool    // its transcript is there before the first message
	StaleKey  bool    // its key file has a token that it doesn't take
}

// The places in a session's own directory.
func (o orders) sockets() string   { return filepath.Join(o.Dir, "s") }
func (o orders) second() string    { return filepath.Join(o.Dir, "second") } // of the socket
func (o orders) tapes() string     { return filepath.Join(o.Dir, "tapes") }
func (o orders) rows() string      { return filepath.Join(o.Dir, "rows") }
func (o orders) decisions() string { return filepath.Join(o.Dir, "decisions") }

// announced is what a session prints once it can be posted to.
type announced struct {
	Path      string
	SessionID string
	Environ   []string
	Secrets   []string // its tokens
}

// running is a session in its own process.
type running struct {
	orders
	s         *golden.Session
	up        chan struct{} // closed once s is there
	decisions *os.File
	front     *front
}

// beSession is a session until its standard input ends. "clear" on it makes a
// new session id.
func beSession(text string) error {
	r := &running{up: make(chan struct{})}
	if err := json.Unmarshal([]byte(text), &r.orders); err != nil {
		return err
	}
	for _, dir := range []string{r.Dir, r.tapes(), r.rows()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	var err error
	if r.decisions, err = os.OpenFile(r.orders.decisions(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	r.front = newFront(r.orders)
	r.s, err = golden.Start(golden.Config{
		ConfigDir: r.ConfigDir, SocketDir: r.sockets(), Name: r.Name, Version: r.Version,
		Cwd:       filepath.Join("/ledger", r.Name),
		Behaviour: r.Behaviour, DropReason: r.DropReason,
		Transcript: r.Transcript, TranscriptDelay: r.TranscriptDelay, ReceiptDelay: r.ReceiptDelay,
		Backlog: r.Backlog, Front: r.front.take, OnLine: r.onLine,
	})
	if err != nil {
		return err
	}
	if err := os.Link(r.s.Path(), r.second()); err != nil {
		return err
	}
	env, key := r.s.Tokens()
	a := announced{Path: r.s.Path(), Environ: r.s.Environ(), Secrets: []string{env, key}}
	for _, e := range a.Environ {
		if id, ok := strings.CutPrefix(e, "CLAUDE_CODE_SESSION_ID="); ok {
			a.SessionID = id
		}
	}
	if r.StaleKey {
		if err := r.spoilKey(key); err != nil {
			return err
		}
	}
	if r.EarlyRows {
		if err := r.keepRows(a.SessionID); err != nil {
			return err
		}
	}
	close(r.up)
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		return err
	}
	ids := []string{a.SessionID}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		ids = append(ids, r.s.Clear())
	}
	if r.Transcript {
		for _, id := range ids {
			if err := r.keepRows(id); err != nil {
				return err
			}
		}
	}
	err = r.front.end()
	err = errors.Join(err, r.s.Close())
	r.front.open.Wait()
	return errors.Join(err, r.front.err())
}

// spoilKey puts another token into the key file.
func (r *running) spoilKey(token string) error {
	files, err := filepath.Glob(filepath.Join(r.ConfigDir, "sessions", fmt.Sprintf("%d.*.key", os.Getpid())))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%d key files, %v", len(files), err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	return os.WriteFile(files[0], []byte(strings.Replace(string(b), token, strings.Repeat("5", len(token)), 1)), 0o600)
}

var notInFolder = regexp.MustCompile(`[^A-Za-z0-9]`)

// keepRows gives the transcript of a session id a second name, since a session
// takes its transcripts away with it.
func (r *running) keepRows(id string) error {
	dir := filepath.Join(r.ConfigDir, "projects", notInFolder.ReplaceAllString("/ledger/"+r.Name, "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, id+".jsonl")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Link(path, filepath.Join(r.rows(), id)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// onLine has the user of a holding session decide, soon or never.
func (r *running) onLine(line []byte) {
	var f struct {
		Type  string `json:"type"`
		MsgID string `json:"msg_id"`
	}
	if r.Behaviour != golden.Hold || json.Unmarshal(line, &f) != nil || f.Type != "user" {
		return
	}
	rng := r.front.rng(f.MsgID)
	decisions := []string{"", "", "delivered", "delivered", "denied", "expired"}
	decision := decisions[rng.IntN(len(decisions))]
	if decision == "" {
		return
	}
	delay := time.Duration(rng.IntN(120)) * time.Millisecond
	go func() {
		<-r.up
		time.Sleep(delay)
		// Before it is told: the process may be killed in between.
		if _, err := io.WriteString(r.decisions, decision+" "+f.MsgID+"\n"); err != nil {
			r.front.fail(err)
		}
		decide := map[string]func(string) error{"delivered": r.s.Release, "denied": r.s.Deny, "expired": r.s.Expire}[decision]
		// The line is seen before the message is held.
		for range 100 {
			if decide(f.MsgID) == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
}

// rng gives a source of its own to what has a name.
func (f *front) rng(name string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(f.o.Seed, h))
}
