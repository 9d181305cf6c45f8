package inbox_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
)

// A row of the same text is another post's, one without a wait for example,
// where this one's bytes were not all read: it never says queued then.
func TestQueuedNeedsTheRead(t *testing.T) {
	for _, closesFirst := range []bool{false, true} {
		p := &peer{t: t, dir: socketDir(t), projects: t.TempDir()}
		l, err := net.Listen("unix", filepath.Join(p.dir, "1.sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Chmod(l.Addr().String(), 0o600); err != nil {
			t.Fatal(err)
		}
		p.write(p.transcript(), row("other"))
		p.target = inbox.Target{Path: l.Addr().String(), Token: parse(t, token), SessionID: sessionID, Projects: p.projects, Cwd: "/home/dev/api"}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			// Most of it stays where it is.
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			if closesFirst {
				c.Close()
				p.write(p.transcript(), row(hello))
				return
			}
			p.write(p.transcript(), row(hello))
			raw, err := c.(*net.UnixConn).SyscallConn()
			if err != nil {
				t.Error(err)
				return
			}
			// Until the poster has half-closed.
			_ = raw.Control(func(fd uintptr) {
				_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}, 10_000)
			})
			if err != nil {
				t.Error(err)
			}
		}()
		out, err := p.post(300 * time.Millisecond)
		check(t, out, err, inbox.ClosedAfterSend, inbox.ReasonReset)
		<-done
	}
}
