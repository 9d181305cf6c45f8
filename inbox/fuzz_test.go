package inbox_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"ccpost/golden/strict"
	"ccpost/inbox"
)

// FuzzReceipt holds the reading of a receipt against encoding/json's.
func FuzzReceipt(f *testing.F) {
	const id = "47a986dc-2044-4603-ba39-46339855a5fa"
	const good = `{"type":"control","action":"peer_message_status","status":"held","reason":"r","from":"uds:/tmp/cc/1.sock","orig_msg_id":"` + id + `","msgV":1,"msg_id":"x"}`
	for _, s := range []string{
		good, strings.Replace(good, "held", "delivered", 1), strings.Replace(good, "held", "denied", 1), strings.Replace(good, "held", "pondering", 1),
		strings.Replace(good, `"held"`, `"expired","status_detail":"refused"`, 1), strings.Replace(good, `"held"`, `"expired","status_detail":"shutdown"`, 1),
		strings.Replace(good, `"held"`, `"dropped","drop_reason":"rate-limited"`, 1), strings.Replace(good, `"held"`, `"dropped","drop_reason":"a\nb"`, 1),
		strings.Replace(good, `"held"`, `"dropped","dropped_msg_ids":["a","`+id+`"]`, 1), `{"type":"control","action":"peer_message_status","status":"dropped","dropped_msg_ids":["` + id + `"],"orig_msg_id":"other"}`,
		strings.Replace(good, `"msgV":1`, `"status":"denied"`, 1), strings.Replace(good, `"msgV":1`, `"stat\u0075s":"denied"`, 1), good + "{}", good[1:], "[]", "", "\xff",
		strings.Replace(good, `"msgV":1`, `"a":`+strings.Repeat("[", 15)+strings.Repeat("]", 15), 1), strings.Replace(good, `"msgV":1`, `"a":`+strings.Repeat("[", 16)+strings.Repeat("]", 16), 1),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, reason, ok := inbox.ReadReceipt(line, id)

		members, whole := strict.Object(line, 16)
		m, once := strict.Once(members, "type", "action", "status", "status_detail", "drop_reason", "orig_msg_id", "dropped_msg_ids")
		var want inbox.Name
		ids, _ := m["dropped_msg_ids"].([]any)
		if whole && once && m["type"] == "control" && m["action"] == "peer_message_status" &&
			(m["orig_msg_id"] == id || m["status"] == "dropped" && slices.Contains(ids, any(id))) {
			switch m["status"] {
			case "held", "delivered", "denied", "expired", "dropped":
				want = inbox.Name(m["status"].(string))
			}
			if want == inbox.Expired && m["status_detail"] == "refused" {
				want = inbox.Refused
			}
		}
		if got != want || ok != (want != "") {
			t.Fatalf("%q reads as %q, a second reading says %q", line, got, want)
		}
		if strings.Trim(string(reason), "abcdefghijklmnopqrstuvwxyz-_") != "" || len(reason) > 32 || reason != "" && want != inbox.Dropped {
			t.Fatalf("reason %q of %q", reason, line)
		}
	})
}

// FuzzTranscript holds the search for the row of a taken message against
// encoding/json's reading of all rows, however the rows come in pieces.
func FuzzTranscript(f *testing.F) {
	since := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	good := strings.TrimSuffix(rowAt(since, hello), "\n")
	for _, s := range []string{
		good + "\n", good, "{}\n" + good + "\n{}", "\n\n" + good + "\n", strings.TrimSuffix(rowAt(since.Add(-time.Millisecond), hello), "\n") + "\n",
		strings.Replace(good, "enqueue", "dequeue", 1) + "\n", strings.Replace(good, "hello", "hallo", 1) + "\n" + good + "\n",
		strings.Replace(good, "{", `{"x":`+good+`,`, 1) + "\n", `{"x":` + good + "}\n", strings.Replace(good, "{", `{"content":"x",`, 1) + "\n",
		strings.Replace(good, sessionID, "another", 1) + "\n", strings.Replace(good, "hello", `\u0068ello`, 1) + "\n", good + "\r\n", good + good + "\n", "[" + good + "]\n",
		strings.Replace(good, "enqueue", `enqueu\u0065`, 1) + "\n", good[:30] + "\n" + good[30:] + "\n", strings.Replace(good, "2026-07-01T12:00:00.000Z", "2026-07-01T14:00:00+02:00", 1) + "\n",
	} {
		f.Add([]byte(s), 7, 40)
	}
	f.Fuzz(func(t *testing.T, rows []byte, one, two int) {
		one = min(max(one, 0), len(rows))
		two = min(max(two, one), len(rows))
		got := inbox.Took(sessionID, hello, since, rows[:one], rows[one:two], rows[two:])
		if got != inbox.Took(sessionID, hello, since, rows) {
			t.Fatalf("in pieces %t, at once %t: %q", got, !got, rows)
		}

		want := false
		finished := bytes.Split(rows, []byte("\n"))
		for _, row := range finished[:len(finished)-1] {
			members, ok := strict.Object(row, 64)
			m, once := strict.Once(members, "type", "operation", "timestamp", "sessionId", "content")
			at, _ := m["timestamp"].(string)
			when, err := time.Parse(time.RFC3339, at)
			// A session writes the word in plain letters; others needn't be found.
			want = want || ok && once && err == nil && !when.Before(since) && m["type"] == "queue-operation" && m["operation"] == "enqueue" &&
				m["sessionId"] == sessionID && m["content"] == hello && bytes.Contains(row, []byte(`"enqueue"`))
		}
		if got != want {
			t.Fatalf("took says %t, a second reading %t: %q", got, want, rows)
		}
	})
}
