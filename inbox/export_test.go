package inbox

// MessageLine is Message.line for tests outside of the package, which read it
// back with package golden.
func MessageLine(m Message, msgID, sessionID string) ([]byte, error) {
	line, failed := m.line(msgID, sessionID)
	if failed != nil {
		return nil, failed
	}
	return line, nil
}

var (
	NewMsgID  = newMsgID
	OlderThan = olderThan
)
