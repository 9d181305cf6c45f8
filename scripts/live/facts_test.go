//go:build live

package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A fact is something that sessions do since one version, and did not before.
type fact struct {
	since string // the oldest version it was seen in
	not   string // the newest one it was not
	what  string
}

var (
	// The record after 30 s and a turn, in a session that may speak to nothing
	// but the stand-in API.
	inboxOffline = fact{"2.1.248", "2.1.229", "inbox without a network"}
	// The record before a turn, while the API keeps its answer back, and after
	// it. Interactive sessions had it before.
	headlessStatus = fact{"2.1.270", "2.1.263", "status in a headless session's record"}
)

// holds is false for the versions between the two that were looked at, too.
func (f fact) holds() bool {
	return slices.Compare(numbers(*claudeVersion), numbers(f.since)) >= 0
}

// needs skips a test of what the version has not got.
func needs(t *testing.T, f fact) {
	t.Helper()
	if !f.holds() {
		notRun(t, fmt.Sprintf("no %s known before %s (%s has none)", f.what, f.since, f.not))
	}
}

// notRun skips a test with a line of its own, which CI and scripts/matrix look for.
func notRun(t *testing.T, why string) {
	t.Helper()
	why = strings.ReplaceAll(strings.TrimSpace(why), "\n", "; ")
	fmt.Printf("live: not run: %s: %s\n", t.Name(), why)
	t.Skip(why)
}

// numbers is a version for comparing; what is no number counts as 0.
func numbers(version string) (n []int) {
	for part := range strings.SplitSeq(version, ".") {
		i, _ := strconv.Atoi(part)
		n = append(n, i)
	}
	return n
}

// atRest is the status in the record of a headless session that does nothing.
func atRest() string {
	if headlessStatus.holds() {
		return "idle"
	}
	return ""
}
