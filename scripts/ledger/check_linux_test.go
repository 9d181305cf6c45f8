package ledger

import (
	"testing"

	"ccpost/golden"
	"ccpost/inbox"
)

const (
	authLine = `{"type":"auth","token":"0123456789abcdef0123456789abcdef"}` + "\n"
	userLine = `{"msgV":1,"msg_id":"9f0c1b6e-3d3f-4c55-8a43-0d6a3f0a7c11","type":"user","message":{"role":"user","content":"<cross-session-message from-name=\"ci\">\n(1/1)text\n</cross-session-message>"},"priority":"next"}` + "\n"
	wire     = authLine + userLine
)

// The ledger finds what is wrong, and nothing where all is right.
func TestCheck(t *testing.T) {
	nothing := []arrival(nil)
	auth := []arrival{{read: []byte(authLine)}}
	part := []arrival{{read: []byte(wire[:100]), left: []byte(wire[100:200])}}
	left := []arrival{{left: []byte(wire)}}
	most := []arrival{{read: []byte(wire[:len(wire)-1]), left: []byte("\n")}}
	all := []arrival{{read: []byte(wire)}}
	more := []arrival{{read: []byte(wire + "x")}}
	twice := []arrival{all[0], all[0]}

	type facts struct {
		name      inbox.Name
		arrivals  []arrival
		behaviour golden.Behaviour
		rows      int
		decisions []string
		reason    inbox.Reason
	}
	right := map[string]facts{
		"queued":            {inbox.Queued, all, golden.Accept, 1, nil, ""},
		"sent-no-receipt":   {inbox.SentNoReceipt, all, golden.Accept, 1, nil, ""},
		"its row is late":   {inbox.SentNoReceipt, all, golden.Accept, 0, nil, ""},
		"delivered":         {inbox.Delivered, all, golden.Hold, 1, []string{"delivered"}, ""},
		"skipped":           {inbox.Skipped, nothing, golden.Accept, 0, nil, ""},
		"socket-refused":    {inbox.SocketRefused, nothing, golden.Accept, 0, nil, ""},
		"behind the auth":   {inbox.SocketRefused, auth, golden.Accept, 0, nil, ""},
		"timeout":           {inbox.Timeout, nothing, golden.Accept, 0, nil, ""},
		"closed-after-send": {inbox.ClosedAfterSend, most, golden.Accept, 0, nil, ""},
		"not-read":          {inbox.NotRead, left, golden.Accept, 0, nil, ""},
		"socket-error":      {inbox.SocketError, part, golden.Accept, 0, nil, ""},
		"held":              {inbox.Held, all, golden.Hold, 0, nil, ""},
		"denied":            {inbox.Denied, all, golden.Hold, 0, []string{"denied"}, ""},
		"refused":           {inbox.Refused, all, golden.Refuse, 0, nil, ""},
		"dropped":           {inbox.Dropped, all, golden.Drop, 0, nil, "queue-full"},
		"auth-rejected":     {inbox.AuthRejected, auth, golden.AuthRequired, 0, nil, ""},
		"foreign-socket":    {inbox.ForeignSocket, nothing, golden.Accept, 0, nil, ""},
	}
	wrong := map[string]facts{
		"queued, in no row":              {inbox.Queued, all, golden.Accept, 0, nil, ""},
		"queued, in two":                 {inbox.Queued, all, golden.Accept, 2, nil, ""},
		"queued, and unread":             {inbox.Queued, left, golden.Accept, 1, nil, ""},
		"queued, one byte unread":        {inbox.Queued, most, golden.Accept, 1, nil, ""},
		"sent-no-receipt, and unread":    {inbox.SentNoReceipt, most, golden.Accept, 0, nil, ""},
		"sent-no-receipt, and nothing":   {inbox.SentNoReceipt, nothing, golden.Accept, 0, nil, ""},
		"sent-no-receipt, and more":      {inbox.SentNoReceipt, more, golden.Accept, 0, nil, ""},
		"sent-no-receipt, twice":         {inbox.SentNoReceipt, twice, golden.Accept, 0, nil, ""},
		"twice, whatever is said":        {inbox.ClosedAfterSend, twice, golden.Accept, 0, nil, ""},
		"delivered, and nobody let it":   {inbox.Delivered, all, golden.Hold, 1, []string{"denied"}, ""},
		"denied, and nobody did":         {inbox.Denied, all, golden.Hold, 0, nil, ""},
		"skipped, and sent":              {inbox.Skipped, part, golden.Accept, 0, nil, ""},
		"socket-refused, and begun":      {inbox.SocketRefused, part, golden.Accept, 0, nil, ""},
		"socket-refused, and there":      {inbox.SocketRefused, left, golden.Accept, 0, nil, ""},
		"timeout, and begun":             {inbox.Timeout, part, golden.Accept, 0, nil, ""},
		"session-changed, and sent":      {inbox.SessionChanged, all, golden.Accept, 0, nil, ""},
		"foreign-socket, and begun":      {inbox.ForeignSocket, part, golden.Accept, 0, nil, ""},
		"auth-rejected, and begun":       {inbox.AuthRejected, part, golden.AuthRequired, 0, nil, ""},
		"auth-rejected, unasked":         {inbox.AuthRejected, nothing, golden.AuthRequired, 0, nil, ""},
		"closed-after-send, a part":      {inbox.ClosedAfterSend, part, golden.Accept, 0, nil, ""},
		"not-read, a part":               {inbox.NotRead, part, golden.Accept, 0, nil, ""},
		"socket-error, all":              {inbox.SocketError, all, golden.Accept, 0, nil, ""},
		"socket-error, nothing":          {inbox.SocketError, auth, golden.Accept, 0, nil, ""},
		"held by who accepts":            {inbox.Held, all, golden.Accept, 0, nil, ""},
		"held, and unread":               {inbox.Held, left, golden.Hold, 0, nil, ""},
		"refused by who accepts":         {inbox.Refused, all, golden.Accept, 0, nil, ""},
		"dropped by who accepts":         {inbox.Dropped, all, golden.Accept, 0, nil, "queue-full"},
		"dropped for another reason":     {inbox.Dropped, all, golden.Drop, 0, nil, "duplicate"},
		"what nothing here can come to":  {inbox.Internal, nothing, golden.Accept, 0, nil, ""},
		"what the command can't come to": {inbox.RenameSent, all, golden.Accept, 0, nil, ""},
	}
	// entered is the entry of these facts, with a report that says the same.
	entered := func(f facts) entry {
		sent, offered := false, inbox.AuthNone
		for _, a := range f.arrivals {
			offered = inbox.AuthOffered
			sent = sent || len(a.read)+len(a.left) > len(authLine)
		}
		evidence := inbox.EvidenceNone
		switch f.name {
		case inbox.Queued:
			evidence = inbox.EvidenceTranscript
		case inbox.SentNoReceipt:
			evidence = inbox.EvidenceRead
		case inbox.Delivered, inbox.Held, inbox.Denied, inbox.Refused, inbox.Dropped:
			evidence = inbox.EvidenceReceipt
		}
		s := &session{exact: true}
		s.Behaviour, s.DropReason, s.StaleKey = f.behaviour, "queue-full", true
		return entry{
			post:    &post{mark: "(1/1)", body: "(1/1)text", json: true},
			report:  report{Outcome: f.name, Reason: f.reason, Sent: sent, Auth: offered, Evidence: evidence},
			session: s, arrivals: f.arrivals, rows: f.rows, twins: 1, decisions: f.decisions,
		}
	}
	for name, f := range right {
		if got := entered(f).check(); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		// What the report says of it must be so, too.
		for what, change := range map[string]func(*report){
			"sent": func(r *report) { r.Sent = !r.Sent },
			"auth": func(r *report) {
				r.Auth = map[bool]string{true: inbox.AuthOffered, false: inbox.AuthNone}[r.Auth == inbox.AuthNone]
			},
			"evidence": func(r *report) { r.Evidence += "x" },
		} {
			e := entered(f)
			change(&e.report)
			if what == "evidence" && f.name == inbox.ClosedAfterSend {
				continue // it may have read it all, for a session that changed meanwhile
			}
			if e.check() == "" {
				t.Errorf("%s: another %s was not found", name, what)
			}
		}
	}
	for name, f := range wrong {
		if entered(f).check() == "" {
			t.Errorf("%s: was not found", name)
		}
	}
	// Of a session that was killed some is not known, and the rest is as wrong.
	for name, want := range map[string]bool{
		"closed-after-send, a part": true, "not-read, a part": true, "socket-error, nothing": true,
		"sent-no-receipt, and unread": false, "socket-refused, and begun": false, "queued, in no row": false, "twice, whatever is said": false,
	} {
		e := entered(wrong[name])
		e.exact = false
		if got := e.check(); (got == "") != want {
			t.Errorf("killed: %s: %q", name, got)
		}
	}
}
