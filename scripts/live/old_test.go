//go:build live

package live

import (
	"path/filepath"
	"strings"
	"testing"

	"ccpost/scripts/scratch"
)

// The variable that keeps a session from all traffic but its API's is as good as
// no network.
func TestNoInboxWithoutNetwork(t *testing.T) {
	path, err := fetch(inboxOffline.not, *cacheDir)
	path = fetched(t, inboxOffline.not, path, err)
	h := newHome(t)
	old, err := h.Prepare(h.program(t, path), "worker-a", nil, scratch.Settings(nil))
	t.Cleanup(old.End)
	if err == nil {
		err = old.Launch()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &session{home: h, Session: old}

	s.prompt(t, "go on") // one that has answered is not starting any more
	s.awaitResult(t, 1)
	if got := s.record(t).MessagingSocketPath; got != "" {
		t.Fatalf("its record names %s", got)
	}
	for _, args := range [][]string{{"send", "to nobody"}, {"check"}, {"rename", "worker-b"}} {
		args = append(args, "--to", "worker-a")
		r := h.run(t, args...)
		if r.exit != 69 || !strings.HasPrefix(r.stderr, "ccpost: no-socket-path: ") ||
			!strings.Contains(r.stderr, "\nhint: ") || !strings.Contains(r.stderr, "an older version") {
			t.Errorf("%s exits %d and says %q", args[0], r.exit, r.stderr)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(h.Sockets(), "*")); len(found) != 0 {
		t.Errorf("there is %v", found)
	}
}
