package main

import (
	"os"
	"path/filepath"

	"ccpost/golden"
	"ccpost/inbox"
)

type demoCmd struct{}

// run posts as `send` does: the stand-in session is found by its environment,
// checked and written to like any other.
func (demoCmd) run(a *app) int {
	s, end, err := standIn(golden.Config{Name: "demo"}, func(line string) { a.ui.say("  " + line) })
	if err != nil {
		return a.ui.fail(err)
	}
	defer end()
	a.ui.say("a stand-in session listens at " + s.Path() + "; what arrives there:")
	p := posting{As: "ccpost-demo"}
	ctx, cancel := p.budget(a.ctx, sendTimeout)
	defer cancel()
	a.getenv = func(key string) string { return lookup(s.Environ(), key) }
	return p.deliver(a, ctx, "the tests passed", false, nil)
}

// standIn starts a stand-in session in a folder of its own and gives every line
// that it is sent to show, its tokens taken out. Call end when it is done.
func standIn(c golden.Config, show func(line string)) (s *golden.Session, end func(), err error) {
	dir, err := os.MkdirTemp("", "ccpost")
	if err != nil {
		return nil, nil, inbox.Fail(inbox.Internal, inbox.ReasonTempDir, err)
	}
	remove := func() { _ = os.RemoveAll(dir) }
	c.Transcript = true
	c.ConfigDir, c.SocketDir = filepath.Join(dir, "config"), filepath.Join(dir, "cc-socks")
	started := make(chan struct{})
	c.OnLine = func(line []byte) {
		<-started // a line can come before Start has returned
		show(string(s.Redact(line)))
	}
	if s, err = golden.Start(c); err != nil {
		remove()
		return nil, nil, inbox.Fail(inbox.Internal, inbox.ReasonTempDir, err)
	}
	close(started)
	return s, func() { _ = s.Close(); remove() }, nil
}
