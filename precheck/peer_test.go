package precheck

import (
	"bufio"
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestPeer(t *testing.T) {
	for _, c := range []struct {
		cred      Cred
		uid, want int
		reason    Reason
		fact      string
	}{
		{Cred{501, 7}, 501, 7, "", ""},
		{Cred{501, 0}, 501, 7, "", ""},
		{Cred{501, 7}, 501, 0, "", ""},
		{Cred{0, 0}, 0, 0, "", ""},
		{Cred{501, 7}, 501, 8, PeerPID, "the socket is served by another process than the one meant: pid 7, want 8"},
		{Cred{502, 7}, 501, 7, PeerUID, "uid 502, want 501"},
		{Cred{502, 7}, 501, 8, PeerUID, "uid 502, want 501"},
		{Cred{0, 7}, 501, 7, PeerUID, "uid 0, want 501"},
		{Cred{65534, 7}, 501, 7, PeerUID, "user namespace"},
	} {
		err := Peer(c.cred, c.uid, c.want)
		if got := reasonOf(err); got != c.reason {
			t.Errorf("Peer(%v, %d, %d): reason %q, want %q", c.cred, c.uid, c.want, got, c.reason)
		} else if err != nil && !strings.Contains(err.Error(), c.fact) {
			t.Errorf("%v; want in it: %s", err, c.fact)
		}
	}
}

// credAt asks about a real connection to path.
func credAt(t *testing.T, path string) Cred {
	t.Helper()
	c, err := net.Dial("unix", path)
	must(t, err)
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	must(t, err)
	var cred Cred
	must(t, raw.Control(func(fd uintptr) { cred, err = PeerCred(int(fd)) }))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	must(t, err)
	return cred
}

// knownPID is pid where this system tells process ids.
func knownPID(pid int) int {
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		return pid
	}
	return 0
}

func TestPeerCred(t *testing.T) {
	path := shortDir(t) + "/1.sock"
	listen(t, path)
	h, err := Path(path, Options{})
	must(t, err)
	defer h.Close()
	if got, want := credAt(t, h.Addr()), (Cred{os.Geteuid(), knownPID(os.Getpid())}); got != want {
		t.Errorf("PeerCred = %v, want %v", got, want)
	}
}

func TestPeerCredOfAnother(t *testing.T) {
	for name, uid := range map[string]int{"own user": os.Geteuid(), "another user": nobody} {
		t.Run(name, func(t *testing.T) {
			if uid != os.Geteuid() {
				needRoot(t)
			}
			base := shortDir(t)
			bareChmod(t, base, 0o777)
			cmd := child(t, "listen", base+"/1.sock", strconv.Itoa(uid))
			in, err := cmd.StdinPipe()
			must(t, err)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			defer cmd.Wait()
			defer in.Close()
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatalf("child said %q, %v", line, err)
			}
			cred := credAt(t, base+"/1.sock")
			if want := (Cred{uid, knownPID(cmd.Process.Pid)}); cred != want {
				t.Errorf("PeerCred = %v, want %v", cred, want)
			}
			if err := Peer(cred, uid, cmd.Process.Pid); err != nil {
				t.Error(err)
			}
			if knownPID(1) != 0 {
				if err := Peer(cred, uid, os.Getpid()); reasonOf(err) != PeerPID {
					t.Errorf("%v, want %s", err, PeerPID)
				}
			}
		})
	}
}

func TestPeerCredOfAFile(t *testing.T) {
	f, err := os.Open(os.DevNull)
	must(t, err)
	defer f.Close()
	if c, err := PeerCred(int(f.Fd())); err == nil {
		t.Errorf("PeerCred = %v, want an error", c)
	}
}
