//go:build live

package live

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ccpost/scripts/drift"
)

// captured is the version whose captures golden has.
const captured = "2.1.332"

func needsCaptured(t *testing.T) {
	t.Helper()
	if *claudeVersion != captured {
		notRun(t, "the captures are of "+captured)
	}
}

// What real Claude Code does and writes is as captured. A new field is shown
// with -v.
func TestDrift(t *testing.T) {
	needsCaptured(t)
	report, err := drift.Run(t.Context(), drift.Options{Claude: claude(t), Ccpost: ccpost(t)})
	for _, d := range report.Differences {
		if d.New() {
			t.Log(d)
		} else {
			t.Error(d)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if report.Version != *claudeVersion {
		t.Errorf("it is version %q, want %s", report.Version, *claudeVersion)
	}
}

func TestDoctor(t *testing.T) {
	needsCaptured(t)
	claude := claude(t)
	doctor := filepath.Join(t.TempDir(), "ccpost-doctor")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", doctor, "../doctor").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, tt := range []struct {
		name, stdout, stderr string
		exit                 int
		args                 []string
	}{
		{"with ccpost", "pass: Claude Code " + *claudeVersion + ": ", "", 0, []string{"--claude", claude, "--ccpost", ccpost(t)}},
		{"without", "a hook that posts was not tried\npass: ", "", 0, []string{"--claude", claude}},
		{"not Claude Code", "", "ccpost-doctor: session: no session with an inbox: session doctor ended before it had an inbox: no record; it said ", 69,
			[]string{"--claude", "/bin/cat"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(doctor, tt.args...)
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if exit := (*exec.ExitError)(nil); !errors.As(cmd.Run(), &exit) && cmd.ProcessState == nil {
				t.Fatal("it was not run")
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.exit || !strings.Contains(stdout.String(), tt.stdout) ||
				!strings.HasPrefix(stderr.String(), tt.stderr) || (tt.exit == 0) != (stderr.Len() == 0) {
				t.Errorf("exit %d, want %d, with %q and %q on standard error", got, tt.exit, stdout.String(), stderr.String())
			}
		})
	}
}
