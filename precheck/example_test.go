package precheck_test

import (
	"errors"
	"fmt"
	"syscall"

	"ccpost/precheck"
)

func ExamplePath() {
	socket, err := precheck.Path("/nonexistent/4711.sock", precheck.Options{RecordPID: 4711})
	var refused *precheck.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Reason)
		fmt.Println(refused)
		return
	}
	defer socket.Close()

	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	if syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket.Addr()}) != nil || socket.Recheck() != nil {
		return
	}
	peer, err := precheck.PeerCred(fd)
	if err != nil || precheck.Peer(peer, precheck.Options{}.OwnUID(), 4711) != nil {
		return
	}
	// Not one byte is written before this line.

	// Output:
	// missing
	// "/nonexistent" is not there: no such file or directory
}
