package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/golden"
	"ccpost/inbox"
	"ccpost/precheck"
	"ccpost/redact"
)

const (
	sessionID = "2591a99c-71bf-4913-9747-f2bf141661a5"
	token     = "0123456789abcdef0123456789abcdef"
	hello     = "<cross-session-message from-name=\"ci\">\nhello\n</cross-session-message>"
)

// peer is a session that takes the frame and lets a test say the rest.
type peer struct {
	t        *testing.T
	dir      string // of its socket
	projects string
	target   inbox.Target
	frame    golden.Frame
	listener net.Listener
	conn     net.Conn
}

// answer starts one and runs act once a message has come.
func answer(t *testing.T, act func(*peer)) *peer {
	t.Helper()
	p := &peer{t: t, dir: socketDir(t), projects: t.TempDir()}
	path := filepath.Join(p.dir, "1.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	p.listener = l
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		p.conn = c
		var got []byte
		buf := make([]byte, 1<<20)
		for bytes.Count(got, []byte("\n")) < 2 {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			got = append(got, buf[:n]...)
		}
		lines := bytes.SplitN(got, []byte("\n"), 3)
		if p.frame, err = golden.ParseLine(lines[1]); err != nil {
			t.Errorf("%v: %s", err, lines[1])
			return
		}
		act(p)
		_, _ = c.Read(buf) // the half-close
	}()
	p.target = inbox.Target{Path: path, Token: parse(t, token), SessionID: sessionID, Projects: p.projects, Cwd: "/home/dev/api"}
	return p
}

// receipt writes lines to the reply socket, in one piece.
func (p *peer) receipt(lines ...string) {
	c, err := net.Dial("unix", strings.TrimPrefix(p.frame.From, "uds:"))
	if err != nil {
		p.t.Errorf("reply socket: %v", err)
		return
	}
	defer c.Close()
	// The poster may have what it wants and be gone.
	_, _ = c.Write([]byte(strings.Join(lines, "")))
}

// status is one receipt for this message; more are further members.
func (p *peer) status(status, more string) string {
	return fmt.Sprintf(`{"type":"control","action":"peer_message_status","status":%q,"orig_msg_id":%q%s}`+"\n", status, p.frame.MsgID, more)
}

// row is what a taken message leaves in the transcript.
func row(content string) string { return rowAt(time.Now(), content) }

func rowAt(at time.Time, content string) string {
	c, _ := json.Marshal(content)
	return `{"type":"queue-operation","operation":"enqueue","timestamp":"` + at.UTC().Format("2006-01-02T15:04:05.000Z") +
		`","sessionId":"` + sessionID + `","content":` + string(c) + "}\n"
}

// transcript is the file that the session's cwd gives.
func (p *peer) transcript() string {
	dir := filepath.Join(p.projects, "-home-dev-api")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Error(err)
	}
	return filepath.Join(dir, sessionID+".jsonl")
}

func (p *peer) write(path string, text string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		p.t.Error(err)
	}
}

func (p *peer) post(wait time.Duration) (inbox.Outcome, error) {
	return inbox.Post(within(p.t, 5*time.Second), p.target, inbox.Message{Body: "hello", From: "ci"}, inbox.Options{Wait: wait})
}

func TestReceipts(t *testing.T) {
	const long, short = 5 * time.Second, 100 * time.Millisecond
	for _, c := range []struct {
		name   string
		act    func(*peer)
		wait   time.Duration
		want   inbox.Name
		reason inbox.Reason
	}{
		{"held", func(p *peer) { p.receipt(p.status("held", "")) }, short, inbox.Held, ""},
		{"held, then delivered", func(p *peer) { p.receipt(p.status("held", "")); p.receipt(p.status("delivered", "")) }, long, inbox.Delivered, ""},
		{"held, then denied", func(p *peer) { p.receipt(p.status("held", ""), p.status("denied", "")) }, long, inbox.Denied, ""},
		{"held, then expired", func(p *peer) { p.receipt(p.status("held", "")); p.receipt(p.status("expired", "")) }, long, inbox.Expired, ""},
		{"refused", func(p *peer) { p.receipt(p.status("expired", `,"status_detail":"refused"`)) }, long, inbox.Refused, ""},
		{"dropped", func(p *peer) { p.receipt(p.status("dropped", `,"drop_reason":"rate-limited"`)) }, long, inbox.Dropped, "rate-limited"},
		{"dropped, told with others", func(p *peer) {
			p.receipt(`{"type":"control","action":"peer_message_status","status":"dropped","orig_msg_id":"x","drop_reason":"queue-full","dropped_msg_ids":["a","` + p.frame.MsgID + `"]}` + "\n")
		}, long, inbox.Dropped, "queue-full"},
		{"another's, told with ours, that are no drops", func(p *peer) {
			p.receipt(`{"type":"control","action":"peer_message_status","status":"delivered","orig_msg_id":"x","dropped_msg_ids":["` + p.frame.MsgID + `"]}` + "\n")
		}, short, inbox.SentNoReceipt, ""},
		{"one status twice", func(p *peer) { p.receipt(p.status("delivered", `,"status":"denied"`)) }, short, inbox.SentNoReceipt, ""},
		{"one id twice", func(p *peer) { p.receipt(p.status("denied", `,"orig_msg_id":"x"`)) }, short, inbox.SentNoReceipt, ""},
		{"one unknown member twice", func(p *peer) { p.receipt(p.status("denied", `,"x":1,"x":2`)) }, long, inbox.Denied, ""},
		{"held, and another's row", func(p *peer) { p.receipt(p.status("held", "")); p.write(p.transcript(), row(hello)) }, short, inbox.Held, ""},
		{"dropped for a reason that is no word", func(p *peer) { p.receipt(p.status("dropped", `,"drop_reason":"a\nb"`)) }, long, inbox.Dropped, ""},
		{"the last line without a newline", func(p *peer) { p.receipt(strings.TrimSuffix(p.status("denied", ""), "\n")) }, long, inbox.Denied, ""},
		{"for another message", func(p *peer) {
			p.receipt(`{"type":"control","action":"peer_message_status","status":"denied","orig_msg_id":"8f7209b8-24ac-4e36-b38a-9b0db8cfbb6a"}` + "\n")
		}, short, inbox.SentNoReceipt, ""},
		{"an unknown status, then a known one", func(p *peer) { p.receipt(p.status("pondering", "")); p.receipt(p.status("denied", "")) }, long, inbox.Denied, ""},
		{"a second receipt after the first", func(p *peer) { p.receipt(p.status("denied", ""), p.status("delivered", "")) }, long, inbox.Denied, ""},
		{"not JSON, an array, too deep, the wrong types", func(p *peer) {
			p.receipt("x\n", "[]\n", strings.Repeat("[", 100)+"\n", `{"type":1,"action":2,"status":3,"orig_msg_id":4}`+"\n", "\xff\n")
		}, short, inbox.SentNoReceipt, ""},
		{"half a line, then silence", func(p *peer) {
			c, err := net.Dial("unix", strings.TrimPrefix(p.frame.From, "uds:"))
			if err != nil {
				p.t.Error(err)
				return
			}
			p.t.Cleanup(func() { c.Close() })
			fmt.Fprint(c, p.status("denied", "")[:40])
		}, short, inbox.SentNoReceipt, ""},
		{"a good one that is too long", func(p *peer) { p.receipt(p.status("denied", `,"x":"`+strings.Repeat("x", 100<<10)+`"`)) }, short, inbox.SentNoReceipt, ""},
		{"a line without end", func(p *peer) { p.receipt(strings.Repeat("x", 100<<10)); p.receipt(p.status("denied", "")) }, long, inbox.Denied, ""},
		{"ten at once, one of them right", func(p *peer) {
			var conns []net.Conn // all there before the right one says its word
			for range 10 {
				c, err := net.Dial("unix", strings.TrimPrefix(p.frame.From, "uds:"))
				if err != nil {
					p.t.Error(err)
					return
				}
				defer c.Close()
				conns = append(conns, c)
			}
			for i, c := range conns {
				said := "{}\n"
				if i == 7 {
					said = p.status("denied", "")
				}
				_, _ = c.Write([]byte(said))
			}
		}, long, inbox.Denied, ""},
		{"more than are kept, and none of them ends", func(p *peer) {
			for i := range 2 * 10 {
				c, err := net.Dial("unix", strings.TrimPrefix(p.frame.From, "uds:"))
				if err != nil {
					p.t.Error(err)
					return
				}
				p.t.Cleanup(func() { c.Close() })
				time.Sleep(5 * time.Millisecond) // within the backlog
				if i == 19 {
					fmt.Fprint(c, p.status("denied", ""))
				}
			}
		}, long, inbox.Denied, ""},
		{"later than the wait, before it closes", func(p *peer) {
			buf := make([]byte, 1)
			_, _ = p.conn.Read(buf) // the half-close
			p.receipt(p.status("denied", ""))
		}, short, inbox.Denied, ""},
		{"closed early, then a word", func(p *peer) { p.conn.Close(); p.receipt(p.status("expired", `,"status_detail":"refused"`)) }, long, inbox.Refused, ""},
		{"closed early, without a word", func(p *peer) { p.conn.Close() }, short, inbox.ClosedAfterSend, inbox.ReasonClosedEarly},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := answer(t, c.act)
			out, err := p.post(c.wait)
			check(t, out, err, c.want, c.reason)
			told := c.want != inbox.SentNoReceipt && c.want != inbox.ClosedAfterSend
			if told != (out.Evidence == inbox.EvidenceReceipt && out.Auth == inbox.AuthConfirmed) {
				t.Errorf("%+v", out)
			}
			if left, _ := filepath.Glob(filepath.Join(p.dir, "????????????????.sock")); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// The row of a held message that is released stands there before its receipt.
func TestRowBeforeDelivered(t *testing.T) {
	p := answer(t, func(p *peer) {
		p.receipt(p.status("held", ""))
		time.Sleep(50 * time.Millisecond) // some ticks: each is seen for itself
		p.write(p.transcript(), row(hello))
		time.Sleep(50 * time.Millisecond)
		p.receipt(p.status("delivered", ""))
	})
	out, err := p.post(5 * time.Second)
	check(t, out, err, inbox.Delivered, "")
}

// A receipt counts only from the session's process.
func TestReceiptFromAnotherProcess(t *testing.T) {
	p := answer(t, func(p *peer) { p.receipt(p.status("denied", "")) })
	calls := 0
	o := inbox.Options{Wait: 200 * time.Millisecond, Peer: func(fd int) (precheck.Cred, error) {
		if calls++; calls == 1 {
			return precheck.PeerCred(fd) // the inbox
		}
		return precheck.Cred{UID: os.Geteuid(), PID: os.Getpid() + 1}, nil // who connects to the reply socket
	}}
	out, err := inbox.Post(within(t, 5*time.Second), p.target, inbox.Message{Body: "hello", From: "ci"}, o)
	check(t, out, err, inbox.SentNoReceipt, "")
	if calls < 2 {
		t.Error("nobody asked who connected")
	}
}

func TestHeldIsFinal(t *testing.T) {
	p := answer(t, func(p *peer) { p.receipt(p.status("held", "")) })
	out, err := inbox.Post(within(t, 5*time.Second), p.target, inbox.Message{Body: "hello"}, inbox.Options{Wait: time.Minute, HeldIsFinal: true})
	check(t, out, err, inbox.Held, "")
}

func TestTranscript(t *testing.T) {
	const long, short = 5 * time.Second, 150 * time.Millisecond
	user := func(content string) string {
		c, _ := json.Marshal(map[string]any{"type": "user", "sessionId": sessionID, "content": "x", "message": row(content)})
		return string(c) + "\n"
	}
	for _, c := range []struct {
		name   string
		before func(*peer)
		act    func(*peer)
		want   inbox.Name
	}{
		{"the row", func(p *peer) { p.write(p.transcript(), row("other")) }, func(p *peer) { p.write(p.transcript(), row(hello)) }, inbox.Queued},
		{"a file that appears later", nil, func(p *peer) { p.write(p.transcript(), row(hello)) }, inbox.Queued},
		{"in another folder of projects", func(p *peer) {
			os.MkdirAll(filepath.Join(p.projects, "elsewhere"), 0o700)
			p.write(filepath.Join(p.projects, "elsewhere", sessionID+".jsonl"), "{}\n")
		}, func(p *peer) { p.write(filepath.Join(p.projects, "elsewhere", sessionID+".jsonl"), row(hello)) }, inbox.Queued},
		{"in two pieces", func(p *peer) { p.write(p.transcript(), "{}\n") }, func(p *peer) {
			p.write(p.transcript(), row(hello)[:50])
			time.Sleep(20 * time.Millisecond)
			p.write(p.transcript(), row(hello)[50:])
		}, inbox.Queued},
		{"behind the cut end of an earlier row", func(p *peer) { p.write(p.transcript(), row(hello)[:50]) }, func(p *peer) { p.write(p.transcript(), "\n"+row(hello)) }, inbox.Queued},
		{"among others, 50 MB of them before", func(p *peer) { p.write(p.transcript(), strings.Repeat(user("x"), 50<<20/len(user("x")))) },
			func(p *peer) { p.write(p.transcript(), user(hello)+row("other")+row(hello)+row("more")) }, inbox.Queued},

		{"far from the last look", nil, func(p *peer) {
			p.write(p.transcript(), strings.Repeat(user("x"), 5<<20/len(user("x")))+row(hello))
		}, inbox.Queued},

		{"of an earlier message, in a file that appears later", nil, func(p *peer) { p.write(p.transcript(), rowAt(time.Now().Add(-time.Second), hello)) }, inbox.SentNoReceipt},
		{"without a time", nil, func(p *peer) { p.write(p.transcript(), strings.Replace(row(hello), "timestamp", "x", 1)) }, inbox.SentNoReceipt},
		{"with a time that is none", nil, func(p *peer) { p.write(p.transcript(), strings.Replace(row(hello), `Z"`, `"`, 1)) }, inbox.SentNoReceipt},
		{"a row with another content last", nil, func(p *peer) {
			p.write(p.transcript(), strings.Replace(row(hello), "}\n", `,"content":"x"}`+"\n", 1))
		}, inbox.SentNoReceipt},
		{"a row with another operation last", nil, func(p *peer) {
			p.write(p.transcript(), strings.Replace(row(hello), "}\n", `,"operation":"dequeue"}`+"\n", 1))
		}, inbox.SentNoReceipt},
		{"only before the write", func(p *peer) { p.write(p.transcript(), row(hello)) }, nil, inbox.SentNoReceipt},
		{"cut in the middle", nil, func(p *peer) { p.write(p.transcript(), strings.TrimSuffix(row(hello), "\n")) }, inbox.SentNoReceipt},
		{"inside another row's field", nil, func(p *peer) { p.write(p.transcript(), user(hello)) }, inbox.SentNoReceipt},
		{"another content", nil, func(p *peer) { p.write(p.transcript(), row(hello+" ")) }, inbox.SentNoReceipt},
		{"another session", nil, func(p *peer) { p.write(p.transcript(), strings.Replace(row(hello), sessionID, "x", 1)) }, inbox.SentNoReceipt},
		{"another operation", nil, func(p *peer) { p.write(p.transcript(), strings.Replace(row(hello), "enqueue", "dequeue", 1)) }, inbox.SentNoReceipt},
		{"another type", nil, func(p *peer) { p.write(p.transcript(), strings.Replace(row(hello), "queue-operation", "note", 1)) }, inbox.SentNoReceipt},
		{"a row with another content first", nil, func(p *peer) {
			p.write(p.transcript(), strings.Replace(row(hello), `"timestamp"`, `"content":"x","timestamp"`, 1))
		}, inbox.SentNoReceipt},
		{"a file that shrank", func(p *peer) { p.write(p.transcript(), row("a")+row("b")) }, func(p *peer) {
			os.Truncate(p.transcript(), 0)
			p.write(p.transcript(), row(hello))
		}, inbox.SentNoReceipt},
		{"a file that was replaced", func(p *peer) { p.write(p.transcript(), row("a")) }, func(p *peer) {
			os.Remove(p.transcript())
			p.write(p.transcript(), row("a")+row(hello))
		}, inbox.SentNoReceipt},
		{"a link", func(p *peer) { os.Symlink(filepath.Join(p.projects, "real"), p.transcript()) },
			func(p *peer) { p.write(filepath.Join(p.projects, "real"), row(hello)) }, inbox.SentNoReceipt},
		{"a fifo", func(p *peer) { unix.Mkfifo(p.transcript(), 0o600) }, nil, inbox.SentNoReceipt},
		{"writable by others", func(p *peer) { p.write(p.transcript(), "{}\n"); os.Chmod(p.transcript(), 0o666) },
			func(p *peer) { p.write(p.transcript(), row(hello)) }, inbox.SentNoReceipt},
		{"the address is another's by now", nil, func(p *peer) {
			os.Remove(strings.TrimPrefix(p.frame.From, "uds:"))
			p.write(p.transcript(), row(hello))
		}, inbox.SentNoReceipt},
		{"a drop and the row", nil, func(p *peer) { p.receipt(p.status("dropped", "")); p.write(p.transcript(), row(hello)) }, inbox.Dropped},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := answer(t, func(p *peer) {
				if c.act != nil {
					c.act(p)
				}
			})
			if c.before != nil {
				c.before(p)
			}
			wait := long
			if c.want == inbox.SentNoReceipt {
				wait = short
			}
			out, err := p.post(wait)
			check(t, out, err, c.want, "")
			if (c.want == inbox.Queued) != (out.Evidence == inbox.EvidenceTranscript) {
				t.Errorf("evidence %s", out.Evidence)
			}
		})
	}
}

// Every UTF-16 unit but a letter or a digit is a hyphen in the folder's name.
func TestTranscriptFolder(t *testing.T) {
	p := answer(t, func(p *peer) {
		dir := filepath.Join(p.projects, "-home-dev----x-b")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Error(err)
		}
		p.write(filepath.Join(dir, sessionID+".jsonl"), row(hello))
	})
	p.target.Cwd = "/home/dev/🚀.x-b"
	out, err := p.post(5 * time.Second)
	check(t, out, err, inbox.Queued, "")
}

// A transcript that grows without end keeps nobody beyond the time.
func TestTranscriptWithoutEnd(t *testing.T) {
	p := answer(t, func(p *peer) {
		p.write(p.transcript(), "{}\n")
		if err := os.Truncate(p.transcript(), 20<<30); err != nil { // a hole
			p.t.Error(err)
		}
	})
	out, err := p.post(200 * time.Millisecond)
	check(t, out, err, inbox.SentNoReceipt, "")
	if out.Elapsed > 4*time.Second {
		t.Errorf("it took %v", out.Elapsed)
	}
}

// A session that never stops telling keeps nobody either.
func TestReceiptsWithoutEnd(t *testing.T) {
	p := answer(t, func(p *peer) {
		c, err := net.Dial("unix", strings.TrimPrefix(p.frame.From, "uds:"))
		if err != nil {
			p.t.Error(err)
			return
		}
		go func() {
			defer c.Close()
			for err == nil {
				_, err = c.Write([]byte(strings.Repeat("{}\n", 10_000)))
			}
		}()
	})
	out, err := p.post(200 * time.Millisecond)
	check(t, out, err, inbox.SentNoReceipt, "")
	if out.Elapsed > 4*time.Second {
		t.Errorf("it took %v", out.Elapsed)
	}
}

// The connection is watched for the whole wait also where no receipt can come.
func TestTakenAddressAndLateRefusal(t *testing.T) {
	from := make(chan string, 1)
	p := answer(t, func(p *peer) {
		from <- p.frame.From
		time.Sleep(50 * time.Millisecond)
		p.conn.Close()
	})
	l, err := net.Listen("unix", filepath.Join(p.dir, inbox.ReplyName(os.Geteuid(), "ci", p.target.Path)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, perr := p.post(5 * time.Second)
	check(t, out, perr, inbox.ClosedAfterSend, inbox.ReasonClosedEarly)
	if got := <-from; got != "" {
		t.Errorf("from %s, which is another's", got)
	}
}

// A wait as long as the budget leaves the session time to close.
func TestWaitAsLongAsTheBudget(t *testing.T) {
	p := answer(t, func(p *peer) {
		_, _ = p.conn.Read(make([]byte, 1)) // the half-close
		time.Sleep(30 * time.Millisecond)
	})
	out, err := inbox.Post(within(t, time.Second), p.target, inbox.Message{Body: "hello"}, inbox.Options{Wait: time.Minute})
	check(t, out, err, inbox.SentNoReceipt, "")
}

// A session that holds the message and then is gone holds nothing any more; one
// that is there does, whatever it did with the connection.
func TestHeldThenClosed(t *testing.T) {
	for _, c := range []struct {
		name   string
		gone   bool
		wait   time.Duration
		want   inbox.Name
		reason inbox.Reason
	}{
		{"gone", true, time.Minute, inbox.ClosedAfterSend, inbox.ReasonClosedEarly},
		{"there", false, 400 * time.Millisecond, inbox.Held, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := answer(t, func(p *peer) {
				p.receipt(p.status("held", ""))
				time.Sleep(50 * time.Millisecond) // the receipt is read first
				if c.gone {
					p.listener.Close()
				}
				p.conn.Close()
			})
			out, err := inbox.Post(within(t, 20*time.Second), p.target, inbox.Message{Body: "hello"}, inbox.Options{Wait: c.wait})
			check(t, out, err, c.want, c.reason)
			if out.Elapsed > 10*time.Second {
				t.Errorf("it took %v", out.Elapsed)
			}
		})
	}
}

// Sockets that a crash left behind are bound again, by many at once.
func TestManyStale(t *testing.T) {
	dir := socketDir(t)
	targets := make([]inbox.Target, 8)
	for i := range targets {
		s, err := golden.Start(golden.Config{SocketDir: dir, PID: 100 + i, SessionID: sessionID, Behaviour: golden.Refuse})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		env, _ := s.Tokens()
		targets[i] = inbox.Target{Path: s.Path(), Token: parse(t, env), SessionID: sessionID}
		stale, err := net.Listen("unix", filepath.Join(dir, inbox.ReplyName(os.Geteuid(), "ci", s.Path())))
		if err != nil {
			t.Fatal(err)
		}
		stale.(*net.UnixListener).SetUnlinkOnClose(false)
		stale.Close()
	}
	var wg sync.WaitGroup
	for _, target := range targets {
		wg.Go(func() {
			out, err := inbox.Post(within(t, 5*time.Second), target, inbox.Message{Body: "hello", From: "ci"}, inbox.Options{})
			check(t, out, err, inbox.Refused, "")
		})
	}
	wg.Wait()
	if left, _ := filepath.Glob(filepath.Join(dir, "????????????????.sock")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Of two posts of one text under one name at most one can say queued: the row
// in the transcript is one of theirs, and only one has the reply address.
func TestQueuedOnce(t *testing.T) {
	config, dir := t.TempDir(), socketDir(t)
	s, err := golden.Start(golden.Config{ConfigDir: config, SocketDir: filepath.Join(dir, "s"), SessionID: sessionID, Transcript: true, TranscriptDelay: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	env, _ := s.Tokens()
	wd, _ := os.Getwd()
	target := inbox.Target{Path: s.Path(), Token: parse(t, env), SessionID: sessionID, Projects: filepath.Join(config, "projects"), Cwd: wd}
	names := make([]inbox.Name, 8)
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			out, _ := inbox.Post(within(t, 5*time.Second), target, inbox.Message{Body: "hello", From: "ci"}, inbox.Options{})
			names[i] = out.Name
			if out.Name == inbox.SentNoReceipt && out.Reason != inbox.ReasonReplyTaken {
				t.Errorf("sent-no-receipt for reason %q", out.Reason)
			}
		})
	}
	wg.Wait()
	if queued := strings.Count(fmt.Sprint(names), "queued"); queued == 0 || len(s.Messages()) != len(names) {
		t.Errorf("%v, %d taken", names, len(s.Messages()))
	}
}

// The reply address is the same for one sender and target, and another for
// another; where a dead process left its socket, it is bound again, and a live
// one's is left alone.
func TestReplyAddress(t *testing.T) {
	var from []string
	for _, name := range []string{"ci", "ci", "other", ""} {
		s, target := session(t, golden.Config{})
		target.Path = s.Path()
		_, err := inbox.Post(within(t, 5*time.Second), target, inbox.Message{Body: "x", From: name, Raw: name == ""}, inbox.Options{Wait: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		f, err := golden.ParseLine(s.Lines()[1])
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(f.From) != "uds:"+filepath.Dir(s.Path()) {
			t.Errorf("%s is not beside %s", f.From, s.Path())
		}
		from = append(from, filepath.Base(f.From))
	}
	s, target := session(t, golden.Config{})
	post := func() (inbox.Outcome, string) {
		out, err := inbox.Post(within(t, 5*time.Second), target, inbox.Message{Body: "x", From: "ci"}, inbox.Options{Wait: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		lines := s.Lines()
		f, err := golden.ParseLine(lines[len(lines)-1])
		if err != nil {
			t.Fatal(err)
		}
		return out, f.From
	}
	_, first := post()
	if _, again := post(); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	path := strings.TrimPrefix(first, "uds:")
	if n := len(filepath.Base(path)); n != len("0123456789abcdef.sock") {
		t.Errorf("%s has %d characters", path, n)
	}

	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	out, live := post()
	if live != "" || out.Reason != inbox.ReasonReplyTaken {
		t.Errorf("a live process has it: from %q, reason %q", live, out.Reason)
	}
	stale.Close()
	if out, bound := post(); bound != first || out.Reason != "" {
		t.Errorf("nobody has it: from %q, reason %q", bound, out.Reason)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("left behind: %v", err)
	}

	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, bound := post()
	if bound != "" || out.Reason != inbox.ReasonReplyTaken {
		t.Errorf("a file is there: from %q, reason %q", bound, out.Reason)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the file: %v", err)
	}
	_ = from
}

// The reply socket is private, whatever the umask.
func TestReplySocketMode(t *testing.T) {
	seen := make(chan os.FileMode, 1)
	p := answer(t, func(p *peer) {
		if fi, err := os.Lstat(strings.TrimPrefix(p.frame.From, "uds:")); err == nil {
			seen <- fi.Mode().Perm()
		}
	})
	out, err := p.post(20 * time.Millisecond)
	check(t, out, err, inbox.SentNoReceipt, "")
	select {
	case mode := <-seen:
		if mode != 0o600 {
			t.Errorf("mode %o", mode)
		}
	default:
		t.Error("no reply socket was there")
	}
}

// Whatever ends a post, the reply socket goes.
func TestReplySocketRemoved(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(inbox.Target)
	}{
		{"panic", func(target inbox.Target) {
			inbox.Post(within(t, time.Second), target, inbox.Message{Body: "x"}, inbox.Options{OnBind: func() { panic("planted") }})
		}},
		{"called off", func(target inbox.Target) {
			ctx, cancel := context.WithCancel(context.Background())
			inbox.Post(ctx, target, inbox.Message{Body: "x"}, inbox.Options{Wait: time.Minute, OnBind: func() { time.AfterFunc(30*time.Millisecond, cancel) }})
		}},
	} {
		_, target := session(t, golden.Config{Behaviour: golden.NeverClose})
		c.do(target)
		if left, _ := os.ReadDir(filepath.Dir(target.Path)); len(left) != 1 {
			t.Errorf("%s: %v", c.name, left)
		}
	}
}

// Where it can't be bound, the message goes without.
func TestReplyCannotBeBound(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write into any directory")
	}
	s, target := session(t, golden.Config{})
	dir := filepath.Dir(s.Path())
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	out, err := inbox.Post(within(t, 5*time.Second), target, inbox.Message{Body: "x"}, inbox.Options{})
	check(t, out, err, inbox.SentNoReceipt, inbox.ReasonNoReplySocket)
}

func BenchmarkDefaultWait(b *testing.B) {
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	projects := filepath.Join(dir, "p")
	os.MkdirAll(filepath.Join(projects, "-x"), 0o700)
	os.WriteFile(filepath.Join(projects, "-x", sessionID+".jsonl"), []byte("{}\n"), 0o600)
	s, err := golden.Start(golden.Config{SocketDir: filepath.Join(dir, "s"), SessionID: sessionID})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	env, _ := s.Tokens()
	tok, _ := redact.Parse(env)
	target := inbox.Target{Path: s.Path(), Token: tok, SessionID: sessionID, Projects: projects, Cwd: "/x"}
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &before)
	for b.Loop() {
		if _, err := inbox.Post(context.Background(), target, inbox.Message{Body: "x"}, inbox.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	unix.Getrusage(unix.RUSAGE_SELF, &after)
	cpu := func(r unix.Rusage) int64 { return r.Utime.Nano() + r.Stime.Nano() }
	b.ReportMetric(float64(cpu(after)-cpu(before))/1000/float64(b.N), "cpu-µs/op")
}
