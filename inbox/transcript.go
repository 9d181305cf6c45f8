package inbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf16"

	"ccpost/precheck"
)

const (
	// maxRow bounds one transcript row, in bytes: a message's own row has its
	// content, escaped; longer rows are others' and are passed over.
	maxRow = 8 << 20

	// readChunk is how much of a transcript is read at a time, and readMost
	// between two looks at the time and at the receipts.
	readChunk = 64 << 10
	readMost  = 1 << 20

	maxRowDepth = 64
)

// transcript watches a session's transcript for the row that says that it took
// the message: only what is appended after the watch began, and only whole rows.
// Whatever makes it unsure (a file that shrinks, can't be read, is not ours)
// ends the watch: no row, no claim.
type transcript struct {
	path      string // where it is or will appear
	sessionID string
	content   string
	since     time.Time // when the message was written, or a little before
	file      *os.File
	offset    int64
	row       []byte // the beginning of a row whose end isn't written yet
	skipping  bool   // the row is too long to be ours
	off       bool
	uid       *int
}

// OpenTranscript opens a session's transcript: a regular file of the user's own
// that nobody else can write. Its errors are a *precheck.Error or the system's.
func OpenTranscript(path string) (*os.File, error) { return openTranscript(path, nil) }

func openTranscript(path string, uid *int) (*os.File, error) {
	return precheck.OpenFile(path, precheck.FileOptions{UID: uid, Forbid: 0o022})
}

// watchTranscript notes how far a transcript is written, and watches it from
// there on. projects is <config dir>/projects; the folder in it is the one that
// cwd gives, else, listed once, the one that has the file.
func watchTranscript(projects, cwd, sessionID, content string, uid *int) *transcript {
	t := &transcript{sessionID: sessionID, content: content, uid: uid}
	t.since = time.Now().Truncate(time.Millisecond) // as rows tell the time
	name := sessionID + ".jsonl"
	t.path = filepath.Join(projects, projectFolder(cwd), name)
	if t.open(io.SeekEnd); t.file != nil || t.off {
		return t
	}
	folders, _ := os.ReadDir(projects)
	expected := t.path
	for _, d := range folders {
		t.path = filepath.Join(projects, d.Name(), name)
		if t.open(io.SeekEnd); t.file != nil || t.off {
			return t
		}
	}
	t.path = expected // it may be written later, and then is ours from its start
	return t
}

// projectFolder is how a session names its project's folder: every UTF-16 unit
// of its directory but letters and digits made a hyphen.
func projectFolder(cwd string) string {
	units := utf16.Encode([]rune(cwd))
	for i, r := range units {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') {
			units[i] = '-'
		}
	}
	return string(utf16.Decode(units))
}

// open opens the file, if it is there, at its start or its end.
func (t *transcript) open(whence int) {
	f, err := openTranscript(t.path, t.uid)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		t.offset, err = f.Seek(0, whence)
	}
	if err != nil {
		t.off = true
		return
	}
	t.file = f
}

// took reads what was appended and reports whether our row was in it.
func (t *transcript) took() bool {
	if t.off {
		return false
	}
	if t.file == nil {
		if t.open(io.SeekStart); t.file == nil {
			return false
		}
	}
	info, err := t.file.Stat()
	if err != nil || info.Size() < t.offset {
		t.off = true
		return false
	}
	for most := min(info.Size(), t.offset+readMost); t.offset < most; {
		chunk := make([]byte, min(readChunk, most-t.offset))
		n, err := t.file.ReadAt(chunk, t.offset)
		t.offset += int64(n)
		if t.feed(chunk[:n]) {
			return true
		}
		if err != nil && err != io.EOF || n == 0 {
			t.off = n == 0 || err != io.EOF
			return false
		}
	}
	return false
}

// feed takes the next bytes and reports whether they end our row.
func (t *transcript) feed(b []byte) bool {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		if len(t.row)+len(part) > maxRow {
			t.skipping, t.row = true, nil
		}
		if !t.skipping {
			t.row = append(t.row, part...)
		}
		if end < 0 {
			return false
		}
		ours := !t.skipping && t.ours(t.row)
		t.row, t.skipping, b = t.row[:0], false, b[end+1:]
		if ours {
			return true
		}
	}
	return false
}

// ours reports whether a row is the one that a taken message leaves
// (PROTOCOL.md, What becomes of it): its own fields say so, not text in them,
// and it is no earlier message's row.
func (t *transcript) ours(row []byte) bool {
	if !bytes.Contains(row, []byte(`"enqueue"`)) {
		return false
	}
	f, ok := members(row, maxRowDepth, "type", "operation", "timestamp", "sessionId", "content")
	if !ok || f["type"].str() != "queue-operation" || f["operation"].str() != "enqueue" ||
		f["sessionId"].str() != t.sessionID || f["content"].str() != t.content {
		return false
	}
	at, err := time.Parse(time.RFC3339, f["timestamp"].str())
	// A time to come is from before the clock was set back, and so may the
	// message be.
	return err == nil && !at.Before(t.since) && !at.After(time.Now())
}

func (t *transcript) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}
