package golden

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStartTime(t *testing.T) {
	tail := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19768 20 21"
	for stat, want := range map[string]string{
		"2141 (claude)" + tail:        "19768",
		"2141 (a b c)" + tail:         "19768",
		"2141 (x) R 9 (y) z)" + tail:  "19768",
		"2141 (claude) S 1 2":         "",
		"":                            "",
		"2141 (claude)" + tail + "\n": "19768",
		"2141 (cl\nau)de)" + tail:     "19768",
	} {
		if got := startTime(stat); got != want {
			t.Errorf("startTime(%q) = %q, want %q", stat, got, want)
		}
	}
}

// A process of a name that looks like the line's own fields.
func TestProcStartOfAnOddName(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	odd := filepath.Join(shortDir(t), "a) R 1 (b")
	if err := os.Symlink(sleep, odd); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(odd, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	got := procStart(cmd.Process.Pid)
	own := procStart(os.Getpid())
	a, errA := strconv.Atoi(got)
	b, errB := strconv.Atoi(own)
	// Started after us, within the test's run: the same clock, ticks apart.
	if errA != nil || errB != nil || a < b || a > b+100*3600 {
		t.Errorf("procStart of the child is %q, ours %q", got, own)
	}
	s := start(t, Config{ConfigDir: shortDir(t), PID: cmd.Process.Pid})
	if record := fieldsOf(t, published(t, s)); str(record["procStart"]) != got || !strings.HasSuffix(s.Path(), "/"+strconv.Itoa(cmd.Process.Pid)+".sock") {
		t.Errorf("the record has %s at %s", record["procStart"], s.Path())
	}
}

// A session that takes no connections lets so many wait, and Linux one more.
func TestBacklog(t *testing.T) {
	taken, done := make(chan bool, 8), make(chan bool)
	s := start(t, Config{Backlog: 2, Front: func(conn *os.File) *os.File {
		taken <- true
		<-done
		return conn
	}})
	defer close(done)
	connect := func() error {
		fd, err := newSocket()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return unix.Connect(fd, &unix.SockaddrUnix{Name: s.Path()})
	}
	if err := connect(); err != nil {
		t.Fatal(err)
	}
	<-taken
	for range 3 {
		if err := connect(); err != nil {
			t.Errorf("one that may wait: %v", err)
		}
	}
	if err := connect(); err != unix.EAGAIN {
		t.Errorf("one too many: %v, want EAGAIN", err)
	}
}
