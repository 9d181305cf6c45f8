package inbox

// MessageLine is messageLine for tests outside of the package, which read it
// back with package golden.
func MessageLine(m Message, msgID, sessionID string) ([]byte, error) {
	line, failed := messageLine(m, msgID, sessionID)
	if failed != nil {
		return nil, failed
	}
	return line, nil
}

var (
	NewMsgID  = newMsgID
	OlderThan = olderThan
)
