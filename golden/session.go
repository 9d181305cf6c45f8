// Package golden is a stand-in Claude Code session that behaves at its inbox
// as a real one was captured to behave, and an independent second reading of
// the protocol.
//
// [Start] starts one, [Session.Environ] is what its commands would have in their
// environment, and [Session.Wait] and [Session.Messages] say what it took.
// [ParseLine] and [ParseEnvelope] read what a client writes, more strictly than a
// session does.
//
// Its contract: a writer that can only look at sockets and files must not be
// able to tell the stand-in from a session, for each Behaviour that it offers.
// What the inbox does, and how each fact was measured, is in PROTOCOL.md
// beside this file; the captured lines are in capture.
//
// It imports nothing of this module, so that a mistake in the client cannot
// repeat itself in the reading that judges it. It runs no model, counts no
// limits (queue, rate, duplicates) and reads no settings: which of them
// applies is what the Behaviour says.
package golden

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Behaviour is one way in which a session deals with its inbox.
type Behaviour string

const (
	// Accept reads the lines, takes the messages, and closes once the writer
	// has half-closed.
	Accept Behaviour = "accept"
	// Hold tells the sender `held` and waits for Release, Deny or Expire.
	Hold Behaviour = "hold"
	// Refuse tells the sender `expired`, detail `refused`.
	Refuse Behaviour = "refuse"
	// Drop tells the sender `dropped` with Config.DropReason.
	Drop Behaviour = "drop"
	// AuthRequired closes without a word unless the first line is an auth line
	// with one of the session's tokens, as versions 2.1.228 to 2.1.247 may.
	AuthRequired Behaviour = "auth-required"
	// CloseEarly closes after the first complete line, before the writer's
	// half-close, having read all that had come by then.
	CloseEarly Behaviour = "close-early"
	// StopReading takes the connection, reads nothing, and keeps it open.
	StopReading Behaviour = "stop-reading"
	// NeverClose accepts, but does not answer the half-close with its own.
	NeverClose Behaviour = "never-close"
	// WrongSession shows one session id in the record and has another, so that
	// a frame with a session_id is dropped without a word.
	WrongSession Behaviour = "wrong-session"
	// CloseUnread waits until bytes have come and closes without reading them.
	CloseUnread Behaviour = "close-unread"
	// ShutUnread waits until bytes have come, shuts down its side without
	// reading them, and keeps the connection: an end of file that says nothing.
	ShutUnread Behaviour = "shut-unread"
)

// Behaviours lists every Behaviour, Accept first.
func Behaviours() []Behaviour {
	return []Behaviour{Accept, Hold, Refuse, Drop, AuthRequired, CloseEarly, StopReading, NeverClose, WrongSession, CloseUnread, ShutUnread}
}

// firstLineTime is how long a session waits for the first complete line
// (PROTOCOL.md, "Writing"); after it the connection may be silent for long.
const firstLineTime = 30 * time.Second

// Config says what Start starts. Only SocketDir must be set.
type Config struct {
	// ConfigDir gets sessions/<pid>.json and the key; empty for neither.
	ConfigDir string
	// SocketDir is the absolute directory of the socket, made 0700 when absent.
	SocketDir string
	// PID stands in the record and in the socket's name; 0 is this process.
	// What the kernel tells about the socket's peer is this process always.
	PID int

	SessionID string // default: a fresh UUID
	Name      string // default: no name
	Cwd       string // default: the working directory
	Version   string // default: 2.1.332, the captured one

	Behaviour  Behaviour // default: Accept
	DropReason string    // default: duplicate

	// Token is the environment's, PeerToken the key file's. Default: 32 hex
	// digits each, new ones.
	Token, PeerToken string

	// Transcript makes every taken message leave its enqueue row in
	// ConfigDir/projects, TranscriptDelay after it was taken.
	Transcript      bool
	TranscriptDelay time.Duration
	// ReceiptDelay is the time between a message and its first receipt.
	ReceiptDelay time.Duration

	// OnLine is given each complete line as it came, without its newline, from
	// one goroutine at a time. It may run before Start has returned, and must
	// not call Close.
	OnLine func(line []byte)

	// Front, where it is set, is given each connection once it is taken, and gives
	// the one that the session reads and closes in its place. Until it returns,
	// no other is taken, and at most Backlog wait.
	Front func(conn *os.File) *os.File
	// Backlog is how many connections may wait; default: as many as the system lets.
	Backlog int

	// NoSocketPath leaves the socket out of the record and the environment, and
	// publishes no key, as `--bare` does.
	NoSocketPath bool
	// Headless makes a `-p` session, which ignores a rename.
	Headless bool

	firstLine time.Duration // tests only; default firstLineTime
}

// Message is one that the session took: what its model would be shown.
type Message struct {
	Body     string // without the envelope, the vendor's escapes undone
	FromName string // empty when the sender gave none
	MsgID    string
	Priority string // as sent; empty stands for next
}

// Session is a running stand-in session.
type Session struct {
	cfg      Config
	path     string
	listener *os.File
	done     chan struct{} // closed by Close
	closing  sync.Once
	work     sync.WaitGroup
	onLine   sync.Mutex // one line at a time, in the order of lines

	mu       sync.Mutex
	closed   bool
	err      error
	record   record
	realID   string // what frames must name; differs from the record's under WrongSession
	conns    map[*os.File]struct{}
	lines    [][]byte
	messages []Message
	held     map[string]heldMessage
	news     chan struct{} // closed and replaced when messages, err or closed change
	files    []string      // made by us, in order; Close removes them from the last to the first
}

// Start makes the directory, the socket (0600 from its first instant), the key
// and the record, in that order, and serves the inbox until Close.
// A socket path that does not fit into the system's address is an error.
func Start(cfg Config) (*Session, error) {
	s := &Session{
		done:  make(chan struct{}),
		conns: map[*os.File]struct{}{},
		held:  map[string]heldMessage{},
		news:  make(chan struct{}),
	}
	if err := s.start(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("stand-in session: %w", err), s.Close())
	}
	return s, nil
}

func (s *Session) start(cfg Config) (err error) {
	if s.cfg, err = withDefaults(cfg); err != nil {
		return err
	}
	s.realID = s.cfg.SessionID
	if s.cfg.Behaviour == WrongSession {
		if s.realID, err = newUUID(); err != nil {
			return err
		}
	}
	s.path = filepath.Join(s.cfg.SocketDir, strconv.Itoa(s.cfg.PID)+".sock")
	if most := len(unix.RawSockaddrUnix{}.Path) - 1; len(s.path) > most {
		return fmt.Errorf("the socket path has %d bytes, at most %d fit: %s", len(s.path), most, s.path)
	}
	if err := s.makeDir(s.cfg.SocketDir); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	if err := s.register(); err != nil {
		return err
	}
	s.spawn(s.accept)
	return nil
}

func withDefaults(cfg Config) (Config, error) {
	if !filepath.IsAbs(cfg.SocketDir) {
		return cfg, fmt.Errorf("the socket directory must be absolute, not %q", cfg.SocketDir)
	}
	cfg.SocketDir = filepath.Clean(cfg.SocketDir)
	if cfg.PID == 0 {
		cfg.PID = os.Getpid()
	}
	known := false
	for _, b := range Behaviours() {
		known = known || cfg.Behaviour == b
	}
	if cfg.Behaviour == "" {
		cfg.Behaviour = Accept
	} else if !known {
		return cfg, fmt.Errorf("no behaviour is named %q", cfg.Behaviour)
	}
	if cfg.Version == "" {
		cfg.Version = "2.1.332"
	}
	if cfg.DropReason == "" {
		cfg.DropReason = "duplicate"
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = unix.SOMAXCONN
	}
	if cfg.firstLine == 0 {
		cfg.firstLine = firstLineTime
	}
	var err error
	fill := func(field *string, fresh func() (string, error)) {
		if *field == "" && err == nil {
			*field, err = fresh()
		}
	}
	fill(&cfg.Cwd, os.Getwd)
	fill(&cfg.SessionID, newUUID)
	fill(&cfg.Token, newToken)
	fill(&cfg.PeerToken, newToken)
	return cfg, err
}

func (s *Session) listen() error {
	fd, err := newSocket()
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	if err := bindPrivate(fd, s.path); err != nil {
		unix.Close(fd)
		return fmt.Errorf("bind %s: %w", s.path, err)
	}
	s.made(s.path)
	if err := unix.Listen(fd, s.cfg.Backlog); err != nil {
		unix.Close(fd)
		return os.NewSyscallError("listen", err)
	}
	s.listener = os.NewFile(uintptr(fd), s.path)
	return nil
}

// Path is the socket's path as the record spells it.
func (s *Session) Path() string { return s.path }

// Tokens gives the environment's token and the key file's, for tests.
func (s *Session) Tokens() (env, peer string) { return s.cfg.Token, s.cfg.PeerToken }

// Environ gives the variables that the session's hooks and Bash commands get.
// They hold the session's token.
func (s *Session) Environ() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var env []string
	if !s.cfg.NoSocketPath {
		env = append(env, "CLAUDE_CODE_MESSAGING_SOCKET="+s.path, "CLAUDE_CODE_MESSAGING_TOKEN="+s.cfg.Token)
	}
	env = append(env, "CLAUDE_CODE_SESSION_ID="+s.record.SessionID, "CLAUDE_PID="+strconv.Itoa(s.cfg.PID))
	if s.cfg.ConfigDir != "" {
		env = append(env, "CLAUDE_CONFIG_DIR="+s.cfg.ConfigDir)
	}
	return env
}

// Lines gives every line that came, the auth lines among them, in order.
func (s *Session) Lines() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.lines...)
}

// Messages gives the messages that the session took, in order.
func (s *Session) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
}

// Wait returns once n messages were taken, or with the error of ctx or of the
// session, or when the session was closed.
func (s *Session) Wait(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		taken, err, closed, news := len(s.messages), s.err, s.closed, s.news
		s.mu.Unlock()
		switch {
		case taken >= n:
			return nil
		case err != nil:
			return err
		case closed:
			return fmt.Errorf("the session was closed after %d of %d messages", taken, n)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages: %w", taken, n, ctx.Err())
		}
	}
}

// Err is the first thing that went wrong inside the session, nil so far.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Clear does what /clear does: a new session id, in the record at once, while
// socket and tokens stay. It returns what the record now shows.
func (s *Session) Clear() string {
	shown, err := newUUID()
	hidden := shown
	if err == nil && s.cfg.Behaviour == WrongSession {
		hidden, err = newUUID()
	}
	if err != nil {
		s.fail(err)
		return ""
	}
	s.mu.Lock()
	s.record.SessionID, s.realID = shown, hidden
	err = s.writeRecord()
	s.mu.Unlock()
	s.fail(err)
	return shown
}

// Close ends every connection and removes socket, key, record, transcripts and
// the directories that Start had to make. It returns what Err knows, once; a
// second call does nothing.
func (s *Session) Close() error {
	var err error
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		close(s.done)
		if s.listener != nil {
			s.listener.Close()
		}
		for conn := range s.conns {
			conn.Close()
		}
		s.tellNews()
		s.mu.Unlock()
		s.work.Wait()

		s.mu.Lock()
		defer s.mu.Unlock()
		err = s.err
		for i := len(s.files) - 1; i >= 0; i-- {
			// A directory that others have come to use stays.
			if e := os.Remove(s.files[i]); e != nil && !errors.Is(e, os.ErrNotExist) && !errors.Is(e, unix.ENOTEMPTY) && !errors.Is(e, unix.EEXIST) {
				err = errors.Join(err, e)
			}
		}
	})
	return err
}

// Format keeps the tokens out of whatever prints a Session.
func (s *Session) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "session "+s.path) }

// spawn runs f on a goroutine that Close waits for. A panic becomes the
// session's error: as a crash it would end the whole program with status 2.
func (s *Session) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		defer func() {
			if p := recover(); p != nil {
				s.fail(fmt.Errorf("panic: %v", p))
			}
		}()
		f()
	}()
}

// after runs f after d: here and now for 0, so that what f does comes before
// all that the caller does next.
func (s *Session) after(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	s.spawn(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			f()
		case <-s.done:
		}
	})
}

func (s *Session) fail(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.tellNews()
	}
}

// tellNews wakes Wait. s.mu is held.
func (s *Session) tellNews() {
	close(s.news)
	s.news = make(chan struct{})
}
