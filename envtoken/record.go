package envtoken

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"ccpost/inbox"
	"ccpost/precheck"
	"ccpost/precheck/digest"
	"ccpost/redact"
)

const (
	// maxFile bounds a record and a key, in bytes; real ones have about 600.
	maxFile = 256 << 10

	// maxDepth bounds their nesting; real ones are flat.
	maxDepth = 64

	maxSessionID = 80

	// lastMilli is the last instant, in milliseconds, that RFC 3339 can spell.
	lastMilli = 253402300799999
)

// Session is what a session writes about itself into its record,
// <config dir>/sessions/<pid>.json (PROTOCOL.md, Where the inbox is). Fields that
// a version doesn't write are empty.
type Session struct {
	PID       int
	ID        string    // another one after /clear
	Name      string    // not of one session alone: two may bear it
	Cwd       string    // its working directory
	Version   string    // of Claude Code, as in 2.1.332
	Status    string    // idle, busy, waiting, shell, or whatever a version says
	Tmux      string    // SESSION:@WINDOW.%PANE, only where it runs in tmux
	Socket    string    // its inbox
	StartedAt time.Time // zero where it isn't known
	ConfigDir string    // the one whose registry has the record

	procStart, pidDomain string
	finder               *Finder
	raw                  []byte // the record's text
}

// File is the path of the record.
func (s *Session) File() string {
	return filepath.Join(s.ConfigDir, sessionsDir, strconv.Itoa(s.PID)+".json")
}

const (
	// rewrites is how often a record that makes no sense is read again: Claude
	// Code writes records in place, and a reader can see the new text with the
	// end of the old one behind it.
	rewrites = 3

	// rewriting is how long a record may stay so. Measured: under 50 µs.
	rewriting = 2 * time.Millisecond

	// fresh is the age of a file, at most, that may be being written.
	fresh = time.Second

	// patience is how long one look at a registry waits for all such records
	// together: there may be a thousand that stay broken.
	patience = 20 * time.Millisecond
)

// read reads the record of one pid, and takes what it waits from left. The error
// says why a record doesn't count; what could be read up to there is in the Session.
func (f *Finder) read(configDir string, pid int, left *time.Duration) (*Session, error) {
	var s *Session
	var err error
	for range 1 + rewrites {
		s = &Session{PID: pid, ConfigDir: configDir, finder: f}
		if s.raw, err = s.load(); err != nil {
			return s, err
		}
		if err = s.parse(s.raw); err == nil {
			return s, nil
		}
		info, statErr := os.Lstat(s.File())
		// A time to come, on whatever clock it was written, isn't fresh for ever.
		if statErr != nil || time.Since(info.ModTime()).Abs() > fresh || *left < rewriting {
			break
		}
		*left -= rewriting
		time.Sleep(rewriting)
	}
	return s, fmt.Errorf("%q: %w", s.File(), err)
}

// load is the record's text.
func (s *Session) load() ([]byte, error) {
	// Claude Code writes records 0644: others may read them, not write.
	return precheck.ReadFile(s.File(), maxFile, precheck.FileOptions{UID: s.finder.Precheck.UID, Forbid: 0o022})
}

// parse reads what a record says. Fields that aren't known say nothing.
func (s *Session) parse(data []byte) error {
	said := 0
	err := members(data, func(key string, v gjson.Result) (counts bool, err error) {
		switch key {
		case "pid":
			if v.Type != gjson.Number || v.Num != float64(int(v.Num)) {
				return true, errors.New("its pid is not a whole number")
			}
			said = int(v.Num)
			return true, nil
		case "sessionId":
			return true, text(&s.ID, key, v)
		case "name":
			return true, text(&s.Name, key, v)
		case "cwd":
			return true, text(&s.Cwd, key, v)
		case "version":
			return true, text(&s.Version, key, v)
		case "messagingSocketPath":
			return true, text(&s.Socket, key, v)
		case "procStart":
			return true, text(&s.procStart, key, v)
		case "pidDomain":
			return true, text(&s.pidDomain, key, v)
		// What is only shown must not hide a session, whatever a version makes of it.
		case "status":
			s.Status = v.String()
		case "tmux":
			s.Tmux = v.String()
		case "startedAt":
			if v.Num > 0 && v.Num <= lastMilli {
				s.StartedAt = time.UnixMilli(int64(v.Num))
			}
		}
		return false, nil
	})
	switch {
	case err != nil:
		return err
	case said != s.PID:
		return fmt.Errorf("it says pid %d", said)
	case !validID(s.ID):
		return errors.New("its sessionId is not 1 to 80 characters of A-Z a-z 0-9 _ -")
	}
	return nil
}

// members calls f for every member of the one object in data. A document that has
// a key twice that counts to f is refused: readers differ in which of the two they
// take. No error quotes the document, which may be a key.
func members(data []byte, f func(key string, v gjson.Result) (counts bool, err error)) error {
	if err := inbox.CheckJSON(data, maxDepth); err != nil {
		return err
	}
	doc := gjson.ParseBytes(data)
	if !doc.IsObject() {
		return errors.New("not a JSON object")
	}
	var err error
	seen := make([]string, 0, 16) // of those that count, which are few
	doc.ForEach(func(k, v gjson.Result) bool {
		var counts bool
		key := k.String()
		if counts, err = f(key, v); !counts || err != nil {
			return err == nil
		}
		if slices.Contains(seen, key) {
			err = errors.New("it has one key twice")
		}
		seen = append(seen, key)
		return err == nil
	})
	return err
}

// text takes a string; null is as good as missing.
func text(dst *string, key string, v gjson.Result) error {
	switch v.Type {
	case gjson.String:
		*dst = v.Str
	case gjson.Null:
	default:
		return fmt.Errorf("its %s is not a string", key)
	}
	return nil
}

func validID(s string) bool {
	if s == "" || len(s) > maxSessionID {
		return false
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// Now reads the record again: the same process's, or an error.
func (s *Session) Now() (*Session, error) {
	if raw, err := s.load(); err == nil && bytes.Equal(raw, s.raw) {
		return s, nil // nearly always: nothing was written since
	}
	left := patience
	now, err := s.finder.read(s.ConfigDir, s.PID, &left)
	if err != nil {
		return nil, err
	}
	if now.Socket != s.Socket || now.procStart != s.procStart {
		return nil, inbox.Changed(fmt.Sprintf("pid %d is another process now", s.PID))
	}
	return now, nil
}

// current says which session is at the socket now.
func (s *Session) current() (string, error) {
	now, err := s.Now()
	if err != nil {
		return "", err
	}
	return now.ID, nil
}

// named is current for a session that was chosen by its name: it must still
// bear it.
func (s *Session) named() (string, error) {
	now, err := s.Now()
	if err != nil {
		return "", err
	}
	if now.Name != s.Name {
		return "", inbox.Changed(fmt.Sprintf("pid %d was called %q, and is called %q now", s.PID, s.Name, now.Name))
	}
	return now.ID, nil
}

// token reads the session's key. Its name is the hash of the socket's path as the
// record spells it, not of what links resolve to.
func (s *Session) token() (redact.Token, error) {
	sum := digest.Sum256([]byte(s.Socket))
	path := filepath.Join(s.ConfigDir, sessionsDir, fmt.Sprintf("%d.%s.key", s.PID, hex.EncodeToString(sum[:])))
	data, err := precheck.ReadFile(path, maxFile, precheck.FileOptions{UID: s.finder.Precheck.UID, Exact: 0o600})
	if err != nil {
		return redact.Token{}, err
	}
	var token, procStart, pidDomain string
	err = members(data, func(k string, v gjson.Result) (counts bool, err error) {
		switch k {
		case "peerToken":
			return true, text(&token, k, v)
		case "procStart":
			return true, text(&procStart, k, v)
		case "pidDomain":
			return true, text(&pidDomain, k, v)
		}
		return false, nil
	})
	if err == nil && (procStart != "" && procStart != s.procStart || pidDomain != "" && pidDomain != s.pidDomain) {
		err = errors.New("it is the key of another process")
	}
	var t redact.Token
	if err == nil {
		if t, err = redact.Parse(token); err != nil {
			err = fmt.Errorf("its peerToken: %w", err)
		}
	}
	if err != nil {
		return redact.Token{}, fmt.Errorf("%q: %w", path, err)
	}
	return t, nil
}
