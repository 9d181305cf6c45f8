package drift

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"ccpost/scripts/scratch"
)

// client posts with a reply address of its own and shows receipts as they came,
// which package inbox doesn't. It offers no token: only package inbox writes one.
type client struct {
	listener *net.UnixListener
	from     string
	sent     int
	close    func()
}

// newClient listens where sessions send receipts to: beside their own sockets.
func newClient(ctx context.Context, sockets, name string) (*client, error) {
	path := filepath.Join(sockets, name+".sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	return &client{l, "uds:" + path, 0, func() { stop(); l.Close() }}, nil
}

// post writes one message and waits until the session has read it and closed.
func (c *client) post(ctx context.Context, socket, body string) (id string, err error) {
	c.sent++
	id = fmt.Sprintf("00000000-0000-4000-8000-%012d", c.sent)
	line, err := json.Marshal(map[string]any{
		"msgV": 1, "msg_id": id, "type": "user", "priority": "next", "from": c.from,
		"message": map[string]any{"role": "user", "content": body},
	})
	if err != nil {
		return "", err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(by(ctx))
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return "", err
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, conn)
	return id, err
}

// receipt is the next line that a session sends about the message id.
func (c *client) receipt(ctx context.Context, id string) ([]byte, error) {
	c.listener.SetDeadline(by(ctx))
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return nil, fmt.Errorf("no receipt: %w", err)
		}
		conn.SetDeadline(by(ctx))
		line, err := io.ReadAll(io.LimitReader(conn, 64<<10))
		conn.Close()
		if err != nil {
			return nil, fmt.Errorf("a receipt breaks off: %w", err)
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		var about struct {
			ID string `json:"orig_msg_id"`
		}
		if json.Unmarshal(line, &about) != nil || about.ID == id {
			return line, nil // what is no JSON is for compare to say
		}
	}
}

// by is when what is done in ctx must have come to its end.
func by(ctx context.Context) time.Time {
	patience := time.Now().Add(scratch.Patience)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(patience) {
		return deadline
	}
	return patience
}
