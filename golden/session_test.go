package golden

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// What a writer sees of each behaviour, and what the session makes of it. The
// token is sent as it stands; auth "" sends no auth line.
func TestBehaviours(t *testing.T) {
	const own = "0123456789abcdef0123456789abcdef"
	rows := []struct {
		behaviour Behaviour
		auth      string
		sessionID string
		close     bool // half-close after writing
		end       string
		lines     int
		taken     int
	}{
		{Accept, own, "", true, "eof", 2, 1},
		{Accept, own, "shown", true, "eof", 2, 1},
		{Accept, own, "older", true, "eof", 2, 0},
		{Accept, "wrong", "", true, "eof", 2, 1},
		{Accept, "", "", true, "eof", 1, 1},
		{Accept, own, "", false, "silence", 2, 1},
		{Hold, own, "", true, "eof", 2, 0},
		{Hold, own, "", false, "silence", 2, 0},
		{Refuse, own, "", true, "eof", 2, 0},
		{Drop, own, "", true, "eof", 2, 0},
		{AuthRequired, own, "", true, "eof", 2, 1},
		{AuthRequired, "peer", "", true, "eof", 2, 1},
		{AuthRequired, "wrong", "", false, "eof", 1, 0},
		{AuthRequired, "", "", false, "eof", 1, 0},
		{CloseEarly, own, "", false, "eof", 1, 0},
		{CloseEarly, "", "", false, "eof", 1, 1},
		{StopReading, own, "", true, "silence", 0, 0},
		{NeverClose, own, "", true, "silence", 2, 1},
		{WrongSession, own, "shown", true, "eof", 2, 0},
		{WrongSession, own, "", true, "eof", 2, 1},
		{CloseUnread, own, "", true, "reset", 0, 0},
		{CloseUnread, own, "", false, "reset", 0, 0},
		{ShutUnread, own, "", true, "eof", 0, 0},
		{ShutUnread, own, "", false, "eof", 0, 0},
	}
	seen := map[Behaviour]bool{}
	for _, row := range rows {
		seen[row.behaviour] = true
		t.Run(fmt.Sprintf("%s/auth=%s/id=%s/close=%v", row.behaviour, row.auth, row.sessionID, row.close), func(t *testing.T) {
			s := start(t, Config{Behaviour: row.behaviour, Token: own, PeerToken: "peer", SessionID: "shown"})
			text := userLine("id-1", "text", "", row.sessionID) + "\n"
			if row.auth != "" {
				text = authLine(row.auth) + "\n" + text
			}
			conn := dial(t, s.Path())
			write(t, conn, text)
			if row.close {
				// A session that has closed already has no other end to shut.
				if err := conn.CloseWrite(); err != nil && !errors.Is(err, unix.ENOTCONN) {
					t.Fatal(err)
				}
			}
			wait := patience
			if row.end == "silence" {
				wait = silence
				if row.taken > 0 {
					taken(t, s, row.taken)
				}
			}
			if got := end(t, conn, wait); got != row.end {
				t.Errorf("the writer saw %s, want %s", got, row.end)
			}
			if got := len(s.Lines()); got != row.lines {
				t.Errorf("%d lines came, want %d", got, row.lines)
			}
			if got := len(s.Messages()); got != row.taken {
				t.Errorf("%d messages were taken, want %d", got, row.taken)
			}
		})
	}
	for _, b := range Behaviours() {
		if !seen[b] {
			t.Errorf("no row tries %s", b)
		}
	}
}

// A writer that goes on after the session has closed sees a broken pipe.
func TestWriteAfterClose(t *testing.T) {
	for _, b := range []Behaviour{CloseEarly, CloseUnread, AuthRequired} {
		s := start(t, Config{Behaviour: b})
		conn := dial(t, s.Path())
		write(t, conn, authLine("wrong")+"\n")
		if got := end(t, conn, patience); got != "eof" && got != "reset" {
			t.Errorf("%s: the writer saw %s", b, got)
		}
		if _, err := conn.Write([]byte("x\n")); !errors.Is(err, unix.EPIPE) {
			t.Errorf("%s: writing on gave %v, want EPIPE", b, err)
		}
	}
}

// A session that doesn't read lets the writer fill the socket, no more.
func TestStopReadingBlocksTheWriter(t *testing.T) {
	s := start(t, Config{Behaviour: StopReading})
	conn := dial(t, s.Path())
	conn.SetWriteDeadline(time.Now().Add(silence))
	if n, err := conn.Write(make([]byte, 8<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("8 MiB: wrote %d, %v", n, err)
	}
}

func TestWhatIsTaken(t *testing.T) {
	long := func(units int, fill string) string {
		const frame = `{"type":"user","message":{"role":"user","content":""}}`
		n := (units - len(frame)) / utf16Len([]byte(fill))
		pad := units - len(frame) - n*utf16Len([]byte(fill))
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", pad)+strings.Repeat(fill, n)+`"`, 1)
	}
	const most = 1_048_576 // a literal: the session's own constant must not judge itself
	rows := []struct {
		name  string
		text  string
		lines int
		want  []string
	}{
		{"two lines", userLine("1", "a", "", "") + "\n" + userLine("2", "b", "", "") + "\n", 2, []string{"a", "b"}},
		{"no newline at the end", userLine("1", "a", "", ""), 1, []string{"a"}},
		{"not JSON, then a message", "GET / HTTP/1.1\r\n" + userLine("1", "a", "", ""), 2, []string{"a"}},
		{"empty lines", "\n\n" + userLine("1", "a", "", "") + "\n\n", 4, []string{"a"}},
		{"carriage return", userLine("1", "a", "", "") + "\r\n", 1, []string{"a"}},
		{"an envelope", userLine("1", "<cross-session-message from-name=\"ci\">\nb <\\/cross-session-message>\n</cross-session-message>", "", "") + "\n", 1, []string{"b </cross-session-message>"}},
		{"an envelope and more", userLine("1", "<cross-session-message>\nb\n</cross-session-message> ", "", "") + "\n", 1, []string{"<cross-session-message>\nb\n</cross-session-message> "}},
		{"array", "[" + userLine("1", "a", "", "") + "]\n", 1, nil},
		{"array content", `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a"}]}}` + "\n", 1, nil},
		{"empty content", `{"type":"user","message":{"role":"user","content":""}}` + "\n", 1, nil},
		{"other role", `{"type":"user","message":{"role":"system","content":"a"}}` + "\n", 1, nil},
		{"other type", `{"type":"assistant","message":{"role":"user","content":"a"}}` + "\n", 1, nil},
		{"keys in another case", `{"Type":"user","Message":{"Role":"user","Content":"a"}}` + "\n", 1, nil},
		{"unknown control", `{"type":"control","action":"stop"}` + "\n", 1, nil},
		{"another session", userLine("1", "a", "", "11111111") + "\n", 1, nil},
		{"session_id no string", `{"type":"user","session_id":7,"message":{"role":"user","content":"a"}}` + "\n", 1, nil},
		{"unknown keys", `{"type":"user","extra":{},"message":{"role":"user","content":"a","more":1}}` + "\n", 1, []string{"a"}},
		{"brackets", strings.Repeat("[", 900_000) + "\n" + userLine("1", "a", "", ""), 2, []string{"a"}},
		{"longest line", long(most, "x") + "\n", 1, []string{"*"}},
		{"longest line of three-byte characters", long(most, "€") + "\n", 1, []string{"*"}},
		{"longest line of pairs", long(most, "😀") + "\n", 1, []string{"*"}},
		{"longest line without newline", long(most, "€"), 1, []string{"*"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := start(t, Config{})
			post(t, s, row.text)
			var got []string
			for _, m := range s.Messages() {
				if len(m.Body) > 10_000 {
					m.Body = "*"
				}
				got = append(got, m.Body)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			if got := len(s.Lines()); got != row.lines {
				t.Errorf("%d lines came, want %d", got, row.lines)
			}
		})
	}
	for _, fill := range []string{"x", "€", "😀"} {
		for _, tail := range []string{"", "\n"} {
			t.Run("too long/"+fill+fmt.Sprintf("/newline=%v", tail != ""), func(t *testing.T) {
				s := start(t, Config{})
				conn := dial(t, s.Path())
				// Just over, it may look like success; it isn't taken.
				_, err := conn.Write([]byte(long(most+1, fill) + tail))
				if err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
					t.Errorf("write: %v", err)
				}
				if got := end(t, conn, patience); got != "eof" && got != "reset" {
					t.Errorf("the writer saw %s", got)
				}
				if len(s.Messages()) != 0 || len(s.Lines()) != 0 {
					t.Errorf("a line that was too long was taken")
				}
			})
		}
	}
}

func TestMessageFields(t *testing.T) {
	s := start(t, Config{})
	post(t, s, string(captured(t, "sender-frames.ndjson")[1])+"\n")
	want := []Message{{
		Body:     "esc <b> & \"q\" </cross-session-message> <cross-session-message from=\"x\"> tail",
		FromName: "api-worker", MsgID: "47a986dc-2044-4603-ba39-46339855a5fa", Priority: "next",
	}}
	if diff := cmp.Diff(want, s.Messages()); diff != "" {
		t.Error(diff)
	}
}

// Half a line is not a line; after a whole one the session is patient.
func TestFirstLineTime(t *testing.T) {
	s := start(t, Config{firstLine: silence / 5})
	late := dial(t, s.Path())
	write(t, late, `{"type":"us`)
	if got := end(t, late, patience); got != "eof" {
		t.Errorf("without a line the writer saw %s, want eof", got)
	}
	s = start(t, Config{firstLine: time.Second})
	patient := dial(t, s.Path())
	write(t, patient, "{}\n")
	if got := end(t, patient, 1500*time.Millisecond); got != "silence" {
		t.Errorf("after a line the writer saw %s, want silence", got)
	}
}

// OnLine has each line before the writer sees the end, and none at a time
// together with another.
func TestOnLine(t *testing.T) {
	var got []string
	var inside atomic.Int32
	s := start(t, Config{OnLine: func(line []byte) {
		if inside.Add(1) > 1 {
			t.Error("two lines at a time")
		}
		time.Sleep(time.Millisecond) // long enough for another to come in
		got = append(got, string(line))
		line[0] = '!'
		inside.Add(-1)
	}})
	done := make(chan error)
	for range 8 {
		go func() {
			conn, err := net.Dial("unix", s.Path())
			if err == nil {
				_, err = conn.Write([]byte(userLine("1", "a", "", "") + "\n"))
				conn.Close()
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	taken(t, s, 8)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(got) != 8 || got[0] != userLine("1", "a", "", "") {
		t.Errorf("OnLine had %q", got)
	}
	if string(s.Lines()[0]) != got[0] {
		t.Errorf("what OnLine did to its line changed Lines: %s", s.Lines()[0])
	}
}

// Behind a Front the session reads and closes what it is given, and takes no
// other connection meanwhile.
func TestFront(t *testing.T) {
	next := make(chan *os.File)
	s := start(t, Config{Front: func(*os.File) *os.File { return <-next }})
	for _, content := range []string{"one", "two"} {
		dial(t, s.Path())
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if err := unix.SetNonblock(fd, true); err != nil {
				t.Fatal(err)
			}
		}
		ours := os.NewFile(uintptr(fds[0]), "ours")
		defer ours.Close()
		next <- os.NewFile(uintptr(fds[1]), "the session's")
		if _, err := ours.WriteString(userLine("id-1", content, "", "") + "\n"); err != nil {
			t.Fatal(err)
		}
		if err := unix.Shutdown(fds[0], unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		if n, err := ours.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%s: read %d, %v, want the session's close", content, n, err)
		}
	}
	if got := s.Messages(); len(got) != 2 || got[0].Body != "one" || got[1].Body != "two" {
		t.Errorf("the session took %q", got)
	}
}

func TestPanicIsAnError(t *testing.T) {
	s := start(t, Config{OnLine: func([]byte) { panic("planted") }})
	post(t, s, "{}\n")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Wait(ctx, 1); err == nil || !strings.Contains(err.Error(), "planted") {
		t.Errorf("Wait: %v", err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "planted") {
		t.Errorf("Close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestWaitEnds(t *testing.T) {
	s := start(t, Config{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled Wait: %v", err)
	}
	// One that waits already is woken by a failure and by the end.
	for _, end := range []func(*Session){
		func(s *Session) { s.fail(errors.New("planted")) },
		func(s *Session) { s.Close() },
	} {
		s, err := Start(Config{SocketDir: filepath.Join(shortDir(t), "s")})
		if err != nil {
			t.Fatal(err)
		}
		news := s.news
		end(s)
		select {
		case <-news:
		default:
			t.Error("Wait isn't woken")
		}
		if err := s.Wait(context.Background(), 1); err == nil {
			t.Error("Wait returned nil")
		}
		s.Close()
	}
}

// One byte is enough to be left unread.
func TestCloseUnreadLeavesAll(t *testing.T) {
	s := start(t, Config{Behaviour: CloseUnread})
	conn := dial(t, s.Path())
	write(t, conn, "{")
	if got := end(t, conn, patience); got != "reset" {
		t.Errorf("the writer saw %s, want reset", got)
	}
}

func TestConnectionsAreForgotten(t *testing.T) {
	s := start(t, Config{})
	post(t, s, userLine("1", "a", "", ""))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) != 0 {
		t.Errorf("%d connections are kept", len(s.conns))
	}
}

func TestUTF16Len(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "€": 1, "😀": 2, "a€😀": 4, "\xff": 1, "\xffa": 2,
		"a\xe2\x82": 1, "a\xf0\x9f\x98": 1, // cut off: the rest may come
	} {
		if got := utf16Len([]byte(text)); got != want {
			t.Errorf("%q has %d units, want %d", text, got, want)
		}
	}
}

// Close ends connections of every behaviour and leaves nothing behind.
func TestCloseLeavesNothing(t *testing.T) {
	for _, b := range Behaviours() {
		t.Run(string(b), func(t *testing.T) {
			top := shortDir(t)
			s, err := Start(Config{
				SocketDir: filepath.Join(top, "a", "socks"), ConfigDir: filepath.Join(top, "c"), Behaviour: b,
				Transcript: true, TranscriptDelay: time.Hour, ReceiptDelay: time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			idle := dial(t, s.Path())
			busy := dial(t, s.Path())
			until(t, func() bool { // neither waits in the backlog any more
				s.mu.Lock()
				defer s.mu.Unlock()
				return len(s.conns) == 2
			})
			write(t, busy, userLine("1", "a", "uds:"+filepath.Join(top, "a", "socks", "f.sock"), "")+"\n")
			if b != StopReading && b != CloseUnread && b != ShutUnread {
				until(t, func() bool { return len(s.Lines()) == 1 })
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for _, conn := range []net.Conn{idle, busy} {
				if got := end(t, conn, patience); got != "eof" && got != "reset" {
					t.Errorf("after Close the writer saw %s", got)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(top, "*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if err := s.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
			if err := s.Release("1"); err == nil {
				t.Error("Release after Close returned nil")
			}
		})
	}
}

func TestCloseKeepsWhatWasThere(t *testing.T) {
	dir, config := shortDir(t), shortDir(t)
	s := start(t, Config{SocketDir: dir, ConfigDir: config, Transcript: true})
	post(t, s, userLine("1", "a", "", ""))
	if err := os.WriteFile(filepath.Join(config, "sessions", "1.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{dir, config, filepath.Join(config, "sessions", "1.json")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(config, "projects")); err == nil {
		t.Error("the transcripts are still there")
	}
}

func TestStartRefuses(t *testing.T) {
	dir := shortDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	running := start(t, Config{SocketDir: filepath.Join(dir, "taken")})
	rows := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no directory", Config{}, "absolute"},
		{"relative directory", Config{SocketDir: "socks"}, "absolute"},
		{"path too long", Config{SocketDir: filepath.Join(dir, strings.Repeat("x", 100))}, "at most"},
		{"a file for a directory", Config{SocketDir: file}, "no directory"},
		{"unknown behaviour", Config{SocketDir: filepath.Join(dir, "n"), Behaviour: "sulk"}, "sulk"},
		{"socket taken", Config{SocketDir: filepath.Dir(running.Path())}, "bind"},
		{"config directory is a file", Config{SocketDir: filepath.Join(dir, "n"), ConfigDir: file}, file},
	}
	for _, row := range rows {
		s, err := Start(row.cfg)
		if err == nil {
			s.Close()
			t.Errorf("%s: started", row.name)
		} else if !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %q doesn't say %q", row.name, err, row.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "n")); err == nil {
			t.Errorf("%s: the socket's directory is left", row.name)
		}
	}
	post(t, running, userLine("1", "still served", "", ""))
	// The longest path that fits is taken.
	most := len(unix.RawSockaddrUnix{}.Path) - 1
	pad := most - len(dir) - len("/") - len("/7.sock")
	s := start(t, Config{PID: 7, SocketDir: filepath.Join(dir, strings.Repeat("x", pad))})
	if len(s.Path()) != most {
		t.Fatalf("the path has %d bytes, want %d", len(s.Path()), most)
	}
	post(t, s, userLine("1", "a", "", ""))
}

func TestPrintingShowsNoToken(t *testing.T) {
	s := start(t, Config{})
	env, peer := s.Tokens()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, s); strings.Contains(got, env) || strings.Contains(got, peer) || !strings.Contains(got, s.Path()) {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}

func ExampleStart() {
	dir, err := os.MkdirTemp("/tmp", "cc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	session, err := Start(Config{SocketDir: filepath.Join(dir, "socks")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	conn, err := net.Dial("unix", session.Path())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(conn, `{"type":"user","message":{"role":"user","content":"the build is green"}}`)
	conn.Close()

	if err := session.Wait(context.Background(), 1); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(session.Messages()[0].Body)
	// Output: the build is green
}
