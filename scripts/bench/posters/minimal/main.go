// Minimal is the least that a Go program can do to post: it connects, writes the
// two lines, half-closes and waits for the end of file. It checks nothing.
package main

import (
	"io"
	"net"
	"os"
)

func main() {
	if post() != nil {
		os.Exit(3)
	}
}

func post() error {
	c, err := net.Dial("unix", os.Getenv("CLAUDE_CODE_MESSAGING_SOCKET"))
	if err != nil {
		return err
	}
	_, err = io.WriteString(c, `{"type":"auth","token":"`+os.Getenv("CLAUDE_CODE_MESSAGING_TOKEN")+`"}
{"type":"user","message":{"role":"user","content":"the build is red"}}
`)
	if err != nil {
		return err
	}
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c)
	return err
}
