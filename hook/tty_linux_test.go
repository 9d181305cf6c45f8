package hook_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ccpost/hook"

	"golang.org/x/sys/unix"
)

func TestReadTerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer master.Close()
	// Through Fd, which makes it blocking: the terminal's line is there at once.
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer tty.Close()
	wantReason(t, budget(t, 60*time.Millisecond), tty, hook.NoInput, "nothing on standard input: silent until the deadline")
	master.WriteString("{}\n")
	wantValue(t, budget(t, long), tty, "{}")
	hook.Drain(budget(t, long), tty, hook.AfterValue)
	master.WriteString("\x04") // end of input, as typed
	wantReason(t, budget(t, long), tty, hook.NoInput, "nothing on standard input")
}
