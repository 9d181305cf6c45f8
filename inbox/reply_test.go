package inbox

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

// A receipt that has no end is not kept.
func TestReceiptTooLong(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	c := reply{fd: fds[0]}
	defer unix.Close(c.fd)
	if err := unix.SetNonblock(c.fd, true); err != nil {
		t.Fatal(err)
	}
	for i := range maxReceipt/1024 + 1 {
		if _, err := unix.Write(fds[1], bytes.Repeat([]byte{'x'}, 1024)); err != nil {
			t.Fatal(err)
		}
		open, err := c.read(func(line []byte) { t.Errorf("%d bytes were given as a line", len(line)) })
		if want := i < maxReceipt/1024; open != want || err != nil {
			t.Fatalf("after %d bytes: open %v, %v, want %v", 1024*(i+1), open, err, want)
		}
	}
}
