package inbox

import (
	"bytes"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/precheck"
	"ccpost/precheck/digest"
)

const (
	// maxReceipt bounds a receipt, in bytes; real ones have about 500.
	maxReceipt = 64 << 10

	// maxReplies is how many connections to a reply socket are kept at a time.
	// A session makes one for each receipt.
	maxReplies = 10

	maxReceiptDepth = 16

	// stalePause is between the two tries that tell a reply socket left behind
	// from one whose owner has bound it and is about to listen.
	stalePause = 5 * time.Millisecond

	// lockTime is how long the directory's lock is waited for. Whoever has it
	// keeps it for the time of a bind, or of a stalePause.
	lockTime = 200 * time.Millisecond

	// maxReads is how often one connection is read before the others, and the
	// time, have their turn.
	maxReads = 16
)

// replyName is the name of the reply socket of one sender to one target. It is
// always the same one: the session counts its limits by this address, and a new
// one for each message would dodge its brake on message loops. Sessions take
// 1 to 16 hexadecimal digits and .sock.
func replyName(uid int, from, target string) string {
	sum := digest.Sum256([]byte(strconv.Itoa(uid) + "\x00" + from + "\x00" + target))
	return hex.EncodeToString(sum[:8]) + ".sock"
}

// replySocket is where a session tells what became of a message. It stands in
// the session's own directory: elsewhere the receipt would not be sent.
type replySocket struct {
	fd      int
	addr    string // as we reach it: through the held directory
	dev     uint64
	ino     uint64
	replies []*reply
	lost    bool // a receipt may have come that the system didn't let us take
}

// reply is one connection to it and the line that has come so far.
type reply struct {
	fd   int
	line []byte
}

var errTaken = errors.New("another process has the reply socket of this sender")

// bindReply binds the reply socket in the held directory, private from the
// first instant. What a dead process left there is removed; a live one's is
// left alone. It is done under a lock on the directory, so that two of us
// neither remove each other's new one nor take one that is bound and not
// listening yet for left behind.
func bindReply(h *precheck.Held, name string) (*replySocket, error) {
	addr := filepath.Join(h.DirAddr(), name)
	if len(addr) > MaxSocketPath || len(filepath.Join(h.Dir(), name)) > MaxSocketPath {
		return nil, unix.ENAMETOOLONG
	}
	unlock, err := lock(h.DirAddr())
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := listen(addr)
	if err != unix.EADDRINUSE {
		return r, err
	}
	if err := removeStale(addr); err != nil {
		return nil, err
	}
	return listen(addr)
}

// lock takes the lock on a directory.
func lock(dir string) (unlock func(), err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(lockTime); ; time.Sleep(time.Millisecond) {
		switch err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return func() { _ = unix.Close(fd) }, nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR || time.Now().After(until):
			_ = unix.Close(fd)
			return nil, err
		}
	}
}

func listen(addr string) (*replySocket, error) {
	fd, err := newSocket()
	if err != nil {
		return nil, err
	}
	// On Linux the socket's file takes the mode of the socket. The umask is the
	// process's and none of our business. Elsewhere the directory is 0700.
	_ = unix.Fchmod(fd, 0o600)
	r := &replySocket{fd: fd, addr: addr}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: addr}); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Lstat(addr, &st)
	r.dev, r.ino = uint64(st.Dev), st.Ino
	if err == nil {
		err = unix.Chmod(addr, 0o600)
	}
	if err == nil {
		err = unix.Listen(fd, maxReplies)
	}
	if err != nil {
		_ = unix.Unlink(addr) // under the lock it is the one that was bound just now
		_ = unix.Close(fd)
		return nil, err
	}
	return r, nil
}

// removeStale removes a socket that two tries, a moment apart, find nobody at.
func removeStale(addr string) error {
	var before, after unix.Stat_t
	if err := unix.Lstat(addr, &before); err != nil {
		return err
	}
	if before.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errTaken // by something that isn't ours to remove
	}
	for i := range 2 {
		if i > 0 {
			time.Sleep(stalePause)
		}
		if !abandoned(addr) {
			return errTaken
		}
	}
	if err := unix.Lstat(addr, &after); err != nil {
		return err
	}
	if before.Ino != after.Ino || before.Dev != after.Dev {
		return errTaken
	}
	return unix.Unlink(addr)
}

// abandoned reports whether nobody listens at a socket.
func abandoned(addr string) bool {
	fd, err := newSocket()
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: addr})
	return err == unix.ECONNREFUSED || err == unix.ENOENT
}

// ours reports whether the address is still this socket's. What the system
// can't say at the moment it is asked again.
func (r *replySocket) ours() bool {
	var st unix.Stat_t
	for range 3 {
		switch unix.Lstat(r.addr, &st) {
		case nil:
			return uint64(st.Dev) == r.dev && st.Ino == r.ino
		case unix.ENOENT:
			return false
		}
	}
	return false
}

// close ends the connections and removes the socket, if it is still ours.
func (r *replySocket) close() {
	for _, c := range r.replies {
		_ = unix.Close(c.fd)
	}
	if r.ours() {
		_ = unix.Unlink(r.addr)
	}
	_ = unix.Close(r.fd)
}

// accept takes the connections that wait, as far as they are from a process
// that trusted lets in. The newest are kept: each bears a receipt of its own.
func (r *replySocket) accept(trusted func(fd int) error) {
	for range maxReplies {
		fd, err := acceptSocket(r.fd)
		if err == unix.EINTR || err == unix.ECONNABORTED {
			continue
		}
		if err != nil {
			r.lost = r.lost || err != unix.EAGAIN
			return
		}
		if err := trusted(fd); err != nil {
			var foreign *precheck.Error
			r.lost = r.lost || !errors.As(err, &foreign)
			_ = unix.Close(fd)
			continue
		}
		if len(r.replies) == maxReplies {
			_ = unix.Close(r.replies[0].fd)
			r.replies = r.replies[1:]
		}
		r.replies = append(r.replies, &reply{fd: fd})
	}
}

// read takes what has come on every connection and gives it to each whole line.
// A connection that ended, or whose line is too long, is dropped.
func (r *replySocket) read(line func([]byte)) {
	kept := r.replies[:0]
	for _, c := range r.replies {
		open, err := c.read(line)
		if r.lost = r.lost || err != nil; open {
			kept = append(kept, c)
		} else {
			_ = unix.Close(c.fd)
		}
	}
	r.replies = kept
}

func (c *reply) read(line func([]byte)) (open bool, err error) {
	var buf [4096]byte
	for range maxReads {
		n, err := unix.Read(c.fd, buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return true, nil
		case err != nil:
			return false, err
		case n == 0:
			if len(c.line) > 0 {
				line(c.line) // a last line without a newline
			}
			return false, nil
		}
		c.line = append(c.line, buf[:n]...)
		for {
			i := bytes.IndexByte(c.line, '\n')
			if i < 0 {
				break
			}
			line(c.line[:i])
			c.line = c.line[i+1:]
		}
		if len(c.line) > maxReceipt {
			return false, nil
		}
	}
	return true, nil
}

// verdict is what a session said of a message.
type verdict struct {
	name     Name
	reason   Reason
	evidence string
}

// readReceipt reads one receipt (PROTOCOL.md, What becomes of it). False is a
// line that says nothing of this message, or nothing that is known.
func readReceipt(line []byte, msgID string) (verdict, bool) {
	f, ok := members(line, maxReceiptDepth, "type", "action", "status", "status_detail", "drop_reason", "orig_msg_id", "dropped_msg_ids")
	if !ok || f["type"].str() != TypeControl || f["action"].str() != "peer_message_status" {
		return verdict{}, false
	}
	status := f["status"].str()
	// Drops are told together: this one may be among others.
	if f["orig_msg_id"].str() != msgID && !(status == "dropped" && f["dropped_msg_ids"].lists(msgID)) {
		return verdict{}, false
	}
	v := verdict{evidence: EvidenceReceipt}
	switch status {
	case "held":
		v.name = Held
	case "delivered":
		v.name = Delivered
	case "denied":
		v.name = Denied
	case "expired":
		v.name = Expired
		if f["status_detail"].str() == "refused" {
			v.name = Refused
		}
	case "dropped":
		v.name, v.reason = Dropped, dropReason(f["drop_reason"].str())
	default:
		return verdict{}, false
	}
	return v, true
}

// dropReason takes the session's word if it is one.
func dropReason(s string) Reason {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || c == '-' || c == '_') {
			return ""
		}
	}
	return Reason(s[:min(len(s), 32)])
}
