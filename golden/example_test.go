package golden_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"ccpost/golden"
)

// A client of one's own is tried against a stand-in session: what it wrote is
// read strictly, and what the session took is asked for.
func ExampleStart() {
	dir, err := os.MkdirTemp("/tmp", "cc") // short: a socket's path has at most some 100 bytes
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	session, err := golden.Start(golden.Config{SocketDir: filepath.Join(dir, "sockets")})
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
	fmt.Fprintln(conn, `{"type":"user","message":{"role":"user","content":"hello"}}`)
	conn.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := session.Wait(ctx, 1); err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range session.Lines() {
		frame, err := golden.ParseLine(line)
		fmt.Println("written:", frame.Type, frame.Content, err)
	}
	for _, m := range session.Messages() {
		fmt.Println("taken:", m.Body)
	}
	// What a session would ignore without a word is an error to the reader.
	_, err = golden.ParseLine([]byte(`{"type":"user","message":{"role":"user","content":["hello"]}}`))
	fmt.Println(err)

	// Output:
	// written: user hello <nil>
	// taken: hello
	// content: not a proper value
}
