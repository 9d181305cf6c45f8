package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"ccpost/precheck/digest"
)

// record has the fields of capture/registry-record.json in their order.
// Those that a session may not have are left out then.
type record struct {
	PID                    int      `json:"pid"`
	SessionID              string   `json:"sessionId"`
	Cwd                    string   `json:"cwd"`
	StartedAt              int64    `json:"startedAt"` // ms since 1970, like the other times
	ProcStart              string   `json:"procStart,omitzero"`
	Version                string   `json:"version"`
	PeerProtocol           int      `json:"peerProtocol"`
	PeerFeatures           []string `json:"peerFeatures"`
	Kind                   string   `json:"kind"`
	Entrypoint             string   `json:"entrypoint"`
	PIDDomain              string   `json:"pidDomain,omitzero"`
	AsksForConvertedSkills any      `json:"asksForConvertedSkills"`
	MessagingSocketPath    string   `json:"messagingSocketPath,omitzero"`
	Name                   string   `json:"name,omitzero"`
	NameSource             string   `json:"nameSource,omitzero"`
	NameSince              int64    `json:"nameSince,omitzero"`
	UpdatedAt              int64    `json:"updatedAt"`
	Status                 string   `json:"status"`
	StatusUpdatedAt        int64    `json:"statusUpdatedAt"`
}

func (r *record) named(name, source string) {
	r.Name, r.NameSource, r.NameSince = name, source, time.Now().UnixMilli()
}

// key has the fields of capture/registry-key.json in their order.
type key struct {
	PeerToken string `json:"peerToken"`
	ProcStart string `json:"procStart,omitzero"`
	PIDDomain string `json:"pidDomain,omitzero"`
}

// row has the fields of the enqueue row in capture/transcript-rows.ndjson.
type row struct {
	Type      string `json:"type"`
	Operation string `json:"operation"`
	Timestamp string `json:"timestamp"`
	SessionID string `json:"sessionId"`
	Content   string `json:"content"`
}

// register publishes the session: the key first, since whoever finds the
// record looks for it.
func (s *Session) register() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UnixMilli()
	s.record = record{
		PID: s.cfg.PID, SessionID: s.cfg.SessionID, Cwd: s.cfg.Cwd, StartedAt: now,
		ProcStart: procStart(s.cfg.PID), Version: s.cfg.Version,
		PeerProtocol: 1, PeerFeatures: []string{"notify_idle", "reply_across_default_dirs", "artifact_yield"},
		Kind: "interactive", Entrypoint: "cli", PIDDomain: pidDomain(s.cfg.PID),
		MessagingSocketPath: s.path, Status: "idle", StatusUpdatedAt: now,
	}
	if s.cfg.Headless {
		s.record.Entrypoint = "sdk-cli"
	}
	if s.cfg.Name != "" {
		s.record.named(s.cfg.Name, "user")
	}
	if s.cfg.NoSocketPath {
		s.record.MessagingSocketPath = ""
	}
	if s.cfg.ConfigDir == "" {
		return nil
	}
	if err := s.makeDir(s.sessionsDir()); err != nil {
		return err
	}
	if !s.cfg.NoSocketPath {
		name := fmt.Sprintf("%d.%x.key", s.cfg.PID, digest.Sum256([]byte(s.path)))
		if err := s.writeJSON(name, 0o600, key{s.cfg.PeerToken, s.record.ProcStart, s.record.PIDDomain}); err != nil {
			return err
		}
	}
	return s.writeRecord()
}

func (s *Session) sessionsDir() string { return filepath.Join(s.cfg.ConfigDir, "sessions") }

// writeRecord publishes s.record as it stands. s.mu is held.
func (s *Session) writeRecord() error {
	s.record.UpdatedAt = time.Now().UnixMilli()
	if s.cfg.ConfigDir == "" || s.closed {
		return nil
	}
	return s.writeJSON(strconv.Itoa(s.cfg.PID)+".json", 0o644, s.record)
}

// writeJSON puts a file into the registry in one step: a reader sees the old
// one or the new one, whole. s.mu is held.
func (s *Session) writeJSON(name string, mode os.FileMode, v any) (err error) {
	line, err := marshalLine(v)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.sessionsDir(), ".tmp-")
	if err != nil {
		return err
	}
	path := filepath.Join(s.sessionsDir(), name)
	_, err = temp.Write(bytes.TrimSuffix(line, []byte("\n")))
	// CreateTemp makes it 0600; Chmod is not subject to the umask.
	err = errors.Join(err, temp.Chmod(mode), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	s.made(path)
	return nil
}

// writeRow adds the enqueue row to the transcript of session id.
func (s *Session) writeRow(id, content string) error {
	line, err := marshalLine(row{
		"queue-operation", "enqueue", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), id, content,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	dir := filepath.Join(s.cfg.ConfigDir, "projects", projectDir(s.cfg.Cwd))
	if err := s.makeDir(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, id+".jsonl")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	s.made(path)
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}

// projectDir spells a working directory as the vendor does: a dash for every
// UTF-16 unit that is no ASCII letter or digit.
func projectDir(cwd string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, astral(cwd))
}

// astral doubles the characters that take two UTF-16 units.
func astral(text string) string {
	var out strings.Builder
	for _, r := range text {
		for range utf16.RuneLen(r) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// makeDir makes dir and its parents, 0700, and notes those that it made.
func (s *Session) makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrNotExist) {
		if err := s.makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, os.ErrExist) {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", dir)
		}
		return err
	}
	if err == nil {
		s.made(dir)
	}
	return err
}

// made notes a file or directory for Close to remove. One noted twice is gone
// the second time, which is no error there.
func (s *Session) made(path string) { s.files = append(s.files, path) }

func newToken() (string, error) {
	b, err := random()
	return fmt.Sprintf("%x", b), err
}

// newUUID makes a random (version 4) UUID.
func newUUID() (string, error) {
	b, err := random()
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), err
}

// random reads the device because crypto/rand ends the process, past any
// recover, where it cannot read.
func random() (b [16]byte, err error) {
	file, err := os.Open("/dev/urandom")
	if err != nil {
		return b, err
	}
	_, err = io.ReadFull(file, b[:])
	return b, errors.Join(err, file.Close())
}
