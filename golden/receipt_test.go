package golden

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// reply listens in the session's directory as a sender does.
func reply(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// next reads the next receipt whole, to the session's close.
func next(t *testing.T, l *net.UnixListener) string {
	t.Helper()
	l.SetDeadline(time.Now().Add(patience))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// called says whether somebody has connected: the kernel knows at once.
func called(t *testing.T, l *net.UnixListener) bool {
	t.Helper()
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err2 := raw.Control(func(fd uintptr) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return n > 0
}

// Each captured receipt, made again: byte for byte but for paths and ids.
func TestReceiptsAreAsCaptured(t *testing.T) {
	lines := captured(t, "receipts.ndjson")
	nothing := func(*Session) error { return nil }
	rows := []struct {
		name  string
		cfg   Config
		act   func(s *Session) error
		skip  int // receipts before
		want  []byte
		taken int
	}{
		{"held", Config{Behaviour: Hold}, nothing, 0, lines[0], 0},
		{"delivered", Config{Behaviour: Hold}, func(s *Session) error { return s.Release("id-1") }, 1, lines[1], 1},
		{"denied", Config{Behaviour: Hold}, func(s *Session) error { return s.Deny("id-1") }, 1, lines[2], 0},
		{"expired", Config{Behaviour: Hold}, func(s *Session) error { return s.Expire("id-1") }, 1, lines[3], 0},
		{"delivered, slow", Config{Behaviour: Hold, ReceiptDelay: 50 * time.Millisecond}, func(s *Session) error { return s.Release("id-1") }, 1, lines[1], 1},
		{"refused", Config{Behaviour: Refuse}, nothing, 0, lines[4], 0},
		{"refused, slow", Config{Behaviour: Refuse, ReceiptDelay: 50 * time.Millisecond}, nothing, 0, lines[4], 0},
		{"duplicate", Config{Behaviour: Drop}, nothing, 0, lines[5], 0},
		{"rate limit", Config{Behaviour: Drop, DropReason: "rate-limited"}, nothing, 0, lines[6], 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := start(t, row.cfg)
			from := filepath.Join(filepath.Dir(s.Path()), "0123456789abcdef.sock")
			l := reply(t, from)
			post(t, s, userLine("id-1", "text", "uds:"+from, "")+"\n")
			if err := row.act(s); err != nil {
				t.Fatal(err)
			}
			for range row.skip {
				if got := next(t, l); !strings.Contains(got, `"status":"held"`) {
					t.Errorf("first came %s", got)
				}
			}
			got := next(t, l)
			fields, wantFields := fieldsOf(t, []byte(got)), fieldsOf(t, row.want)
			if str(fields["from"]) != "uds:"+s.Path() || str(fields["orig_msg_id"]) != "id-1" || len(str(fields["msg_id"])) != 36 {
				t.Errorf("whose receipt is %s", got)
			}
			for _, key := range []string{"from", "orig_msg_id", "msg_id"} {
				got = strings.Replace(got, string(fields[key]), string(wantFields[key]), 1)
			}
			if diff := cmp.Diff(string(row.want)+"\n", got); diff != "" {
				t.Error(diff)
			}
			if len(s.Messages()) != row.taken {
				t.Errorf("%d messages were taken, want %d", len(s.Messages()), row.taken)
			}
			if called(t, l) {
				t.Errorf("one receipt more: %s", next(t, l))
			}
			if err := s.Release("id-1"); row.cfg.Behaviour != Hold && err == nil || row.skip > 0 && err == nil {
				t.Error("a message that isn't held was released")
			}
		})
	}
}

func TestReceiptsOnlyToAProperAddress(t *testing.T) {
	s := start(t, Config{Behaviour: Refuse})
	dir := filepath.Dir(s.Path())
	elsewhere := shortDir(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(filepath.Join(dir, "sub")) })
	rows := []struct {
		name   string
		listen string
		from   string
		id     string
		want   bool
	}{
		{"proper", dir + "/1a.sock", "uds:" + dir + "/1a.sock", "1", true},
		{"no hex", dir + "/who.sock", "uds:" + dir + "/who.sock", "1", true},
		{"no scheme", dir + "/2.sock", dir + "/2.sock", "1", false},
		{"another scheme", dir + "/3.sock", "tcp:" + dir + "/3.sock", "1", false},
		{"not .sock", dir + "/4.socket", "uds:" + dir + "/4.socket", "1", false},
		{"another directory", elsewhere + "/5.sock", "uds:" + elsewhere + "/5.sock", "1", false},
		{"below", dir + "/sub/6.sock", "uds:" + dir + "/sub/6.sock", "1", false},
		{"not clean", dir + "/7.sock", "uds:" + dir + "/sub/../7.sock", "1", false},
		{"a word", dir + "/8.sock", "ci", "1", false},
		{"no message id", dir + "/9.sock", "uds:" + dir + "/9.sock", "", false},
	}
	for _, row := range rows {
		l := reply(t, row.listen)
		// Without a delay the receipt is out before the session closes.
		post(t, s, userLine(row.id, "text", row.from, "")+"\n")
		if got := called(t, l); got != row.want {
			t.Errorf("%s: a receipt came: %v, want %v", row.name, got, row.want)
		} else if got && !strings.Contains(next(t, l), `"status_detail":"refused"`) {
			t.Errorf("%s: not the receipt", row.name)
		}
	}
	// Nobody there, or no place for anybody: no error of the session's.
	post(t, s, userLine("1", "text", "uds:"+dir+"/nobody.sock", "")+"\n")
	post(t, s, userLine("1", "text", "uds:"+dir+"/"+strings.Repeat("x", 200)+".sock", "")+"\n")
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

func TestNoReceiptForAnotherSession(t *testing.T) {
	s := start(t, Config{Behaviour: Hold})
	from := filepath.Join(filepath.Dir(s.Path()), "f.sock")
	l := reply(t, from)
	post(t, s, userLine("1", "text", "uds:"+from, "older")+"\n")
	if called(t, l) {
		t.Errorf("a receipt: %s", next(t, l))
	}
}

// The process behind the reply socket must be the one that sent the message.
func TestReceiptsOnlyToTheSender(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system doesn't tell the peer's process")
	}
	s := start(t, Config{Behaviour: Refuse})
	from := filepath.Join(filepath.Dir(s.Path()), "abc.sock")
	if got := asSender(t, s.Path(), from, "own"); !strings.Contains(got, `"status_detail":"refused"`) {
		t.Errorf("a sender with a socket of its own got %q", got)
	}
	os.Remove(from)
	l := reply(t, from)
	asSender(t, s.Path(), from, "another's")
	if called(t, l) {
		if got := next(t, l); got != "" {
			t.Errorf("another's message was told to us: %s", got)
		}
	}
}
