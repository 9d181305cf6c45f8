package inbox

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
