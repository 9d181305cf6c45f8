package inbox

import "time"

// MessageLine makes a message line for tests outside of the package, which read
// it back with package golden.
func MessageLine(m Message, msgID, sessionID string) ([]byte, error) {
	content, failed := m.content()
	if failed != nil {
		return nil, failed
	}
	line, failed := m.line(msgID, content)(sessionID, "")
	if failed != nil {
		return nil, failed
	}
	return line, nil
}

var (
	AppendString = appendString
	NewMsgID     = newMsgID
	OlderThan    = olderThan
	ReplyName    = replyName
)

// ReadReceipt reads one line that came to the reply socket.
func ReadReceipt(line []byte, msgID string) (Name, Reason, bool) {
	v, ok := readReceipt(line, msgID)
	return v.name, v.reason, ok
}

// Took reports whether what is appended to a session's transcript since the
// message was written, in these pieces, has the row of its being taken.
func Took(sessionID, content string, since time.Time, pieces ...[]byte) bool {
	t := transcript{sessionID: sessionID, content: content, since: since}
	for _, b := range pieces {
		if t.feed(b) {
			return true
		}
	}
	return false
}
