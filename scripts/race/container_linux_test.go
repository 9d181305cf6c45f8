package race

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// container is a session in a pid namespace of its own. For every line of its
// standard input it posts to itself, by its environment and by its record.
const container = `
mount --make-rprivate / && mount -t proc proc /proc && exec "$0" listen -- sh -c '
	echo "$CLAUDE_CODE_MESSAGING_SOCKET" >&2
	while read -r _; do
		"$0" send --json --wait 0 hello >&2
		env -u CLAUDE_CODE_MESSAGING_SOCKET -u CLAUDE_CODE_MESSAGING_TOKEN "$0" send --json --wait 0 --to "pid:$CLAUDE_PID" hello >&2
	done
' "$0"`

// A process outside the container has no pid in it that could be held against
// the session's, though it is the same user's and reaches the same directory.
func TestStrangerOutsideTheContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a pid namespace in which its files are still its own")
	}
	cmd := exec.Command("sh", "-c", container, build(t))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stderr, err := cmd.StderrPipe()
	check(t, err)
	if err := cmd.Start(); err != nil {
		t.Skip("no container can be made here: ", err)
	}
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	lines := bufio.NewReader(stderr)
	line := func() string {
		t.Helper()
		s, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the container said %q, then %v", s, err)
		}
		return strings.TrimSuffix(s, "\n")
	}
	path := line()
	if strings.HasPrefix(path, "mount: ") {
		t.Skip("no container can be made here: ", path)
	}
	post := func(want string) {
		t.Helper()
		_, err := io.WriteString(stdin, "\n")
		check(t, err)
		for _, by := range []string{"its environment", "its record"} {
			var got struct{ Outcome, Reason string }
			s := line()
			if err := json.Unmarshal([]byte(s), &got); err != nil || got.Outcome+" "+got.Reason != want {
				t.Errorf("by %s, want %s: %s", by, want, s)
			}
		}
	}
	post("sent-no-receipt ")

	l, err := net.Listen("unix", path+".new")
	check(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the session removes its socket
	t.Cleanup(func() { l.Close() })
	check(t, os.Chmod(path+".new", 0o600))
	check(t, os.Rename(path+".new", path))
	post("foreign-socket peer_pid")

	// All who came before the test itself does are in the backlog.
	self, err := net.Dial("unix", path)
	check(t, err)
	const last = "that is all"
	_, err = io.WriteString(self, last)
	check(t, err)
	check(t, self.Close())
	for connections := 0; ; connections++ {
		c, err := l.Accept()
		check(t, err)
		got, err := io.ReadAll(c)
		check(t, err)
		check(t, c.Close())
		if string(got) == last {
			if connections != 2 {
				t.Errorf("the stranger had %d connections", connections)
			}
			return
		}
		if len(got) > 0 {
			t.Errorf("the stranger got %q", got)
		}
	}
}
