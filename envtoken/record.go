package envtoken

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"ccpost/inbox"
	"ccpost/precheck"
	"ccpost/redact"
)

const (
	// maxFile bounds a record and a key, in bytes; real ones have about 600.
	maxFile = 256 << 10

	// maxDepth bounds their nesting; real ones are flat.
	maxDepth = 64

	maxSessionID = 80
)

// record is what a session writes about itself into <config dir>/sessions/<pid>.json.
// Fields that a version doesn't write are empty.
type record struct {
	PID        int
	SessionID  string
	Name       string
	Version    string
	SocketPath string
	ProcStart  string
	PIDDomain  string

	dir      string // the sessions folder
	precheck precheck.Options
}

// readRecord reads the record of one pid. A record that can't be trusted is an
// error that says why; fields that are not known are none.
func readRecord(dir string, pid int, o precheck.Options) (*record, error) {
	path := filepath.Join(dir, strconv.Itoa(pid)+".json")
	// Claude Code writes records 0644: others may read them, not write.
	data, err := precheck.ReadFile(path, maxFile, precheck.FileOptions{UID: o.UID, Forbid: 0o022})
	if err != nil {
		return nil, err
	}
	r := &record{dir: dir, precheck: o}
	err = members(data, func(key string, v gjson.Result) error {
		switch key {
		case "pid":
			if v.Type != gjson.Number || v.Num != float64(int(v.Num)) {
				return errors.New("its pid is not a whole number")
			}
			r.PID = int(v.Num)
			return nil
		case "sessionId":
			return text(&r.SessionID, key, v)
		case "name":
			return text(&r.Name, key, v)
		case "version":
			return text(&r.Version, key, v)
		case "messagingSocketPath":
			return text(&r.SocketPath, key, v)
		case "procStart":
			return text(&r.ProcStart, key, v)
		case "pidDomain":
			return text(&r.PIDDomain, key, v)
		}
		return nil
	})
	switch {
	case err != nil:
	case r.PID != pid:
		err = fmt.Errorf("it says pid %d", r.PID)
	case !validID(r.SessionID):
		err = errors.New("its sessionId is not 1 to 80 characters of A-Z a-z 0-9 _ -")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// members calls f for every member of the one object in data. A document with
// two equal keys is refused: readers differ in which of the two they take.
func members(data []byte, f func(key string, v gjson.Result) error) error {
	if err := inbox.CheckJSON(data, maxDepth); err != nil {
		return err
	}
	doc := gjson.ParseBytes(data)
	if !doc.IsObject() {
		return errors.New("not a JSON object")
	}
	var err error
	seen := make(map[string]bool, 32)
	doc.ForEach(func(k, v gjson.Result) bool {
		if key := k.String(); seen[key] {
			err = errors.New("it has one key twice")
		} else {
			seen[key] = true
			err = f(key, v)
		}
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

// current reads the record again: it says which session is at its socket now.
func (r *record) current() (string, error) {
	now, err := readRecord(r.dir, r.PID, r.precheck)
	if err != nil {
		return "", err
	}
	if now.SocketPath != r.SocketPath || now.ProcStart != r.ProcStart {
		return "", fmt.Errorf("the record of pid %d is another process's now", r.PID)
	}
	return now.SessionID, nil
}

// key reads the session's key. Its name is the hash of the socket's path as the
// record spells it, not of what links resolve to. No error quotes its content.
func (r *record) key(o precheck.Options) (redact.Token, error) {
	sum := sha256.Sum256([]byte(r.SocketPath))
	path := filepath.Join(r.dir, fmt.Sprintf("%d.%s.key", r.PID, hex.EncodeToString(sum[:])))
	data, err := precheck.ReadFile(path, maxFile, precheck.FileOptions{UID: o.UID, Exact: 0o600})
	if err != nil {
		return redact.Token{}, err
	}
	var token, procStart, pidDomain string
	err = members(data, func(k string, v gjson.Result) error {
		switch k {
		case "peerToken":
			return text(&token, k, v)
		case "procStart":
			return text(&procStart, k, v)
		case "pidDomain":
			return text(&pidDomain, k, v)
		}
		return nil
	})
	switch {
	case err != nil:
	case procStart != "" && procStart != r.ProcStart, pidDomain != "" && pidDomain != r.PIDDomain:
		err = errors.New("it is the key of another process")
	}
	if err != nil {
		return redact.Token{}, fmt.Errorf("%s: %w", path, err)
	}
	t, err := redact.Parse(token)
	if err != nil {
		return redact.Token{}, fmt.Errorf("%s: its peerToken: %w", path, err)
	}
	return t, nil
}

// recordPIDs lists the pids that have a file named like a record.
func recordPIDs(dir string) []int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		// Only the canonical spelling: 007.json is no record of pid 7.
		if pid, err := strconv.Atoi(name); ok && err == nil && pid > 0 && strconv.Itoa(pid) == name {
			pids = append(pids, pid)
		}
	}
	return pids
}
