package main

import (
	"encoding/json"
	"strings"
	"testing"

	"ccpost/inbox"
)

// A session older than 2.1.248 is offered the token alone, and may go away then:
// with --if-present that is a skip, and the token was offered all the same.
func TestSkipTellsOfTheToken(t *testing.T) {
	for _, auth := range []string{inbox.AuthNone, inbox.AuthOffered} {
		var out strings.Builder
		a := app{ui: ui{out: &out, json: true, scrub: func(s string) string { return s }, exit: func(code int) int { return code }}}
		e := ending{err: inbox.Fail(inbox.SocketRefused, "", nil), out: inbox.Outcome{Name: inbox.SocketRefused, Auth: auth, Evidence: inbox.EvidenceNone}, skip: true}
		code := a.report([]ending{e})
		var r report
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			t.Fatal(err)
		}
		if code != 0 || r.Outcome != inbox.Skipped || r.Auth != auth || r.Sent {
			t.Errorf("exit %d, %s", code, &out)
		}
	}
}
