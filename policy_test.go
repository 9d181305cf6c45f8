package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ccpost/envtoken"
)

// policyHome makes the folders that policy reads, managed settings among them.
func policyHome(t *testing.T, files map[string]string) (root string, c *policyCmd) {
	t.Helper()
	root = t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"project", "config", "managed"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return root, &policyCmd{
		Action: "show", Dir: []string{filepath.Join(root, "project")}, ConfigDir: []string{filepath.Join(root, "config")}, managedDir: filepath.Join(root, "managed"),
	}
}

// runPolicy runs the command in this process, since managed settings elsewhere
// than the system's can't be asked for on the command line.
func runPolicy(t *testing.T, c *policyCmd) (stdout string) {
	t.Helper()
	var out, errs strings.Builder
	a := &app{
		ctx: t.Context(), getenv: func(string) string { return "" },
		ui: ui{out: &out, err: &errs, scrub: func(s string) string { return s }, json: c.JSON},
	}
	if code := c.run(a); code != 0 || errs.Len() > 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	return out.String()
}

func TestPolicyShow(t *testing.T) {
	root, c := policyHome(t, map[string]string{
		"managed/managed-settings.json":        `{"crossSessionInbound":"yes","env":{"K":"s3cr3t"}}`,
		"managed/managed-settings.d/20.json":   `{"crossSessionInbound":"accept"}`,
		"managed/managed-settings.d/30.json":   `{"env":{"K":"s3cr3t"}}`,
		"managed/managed-settings.d/40.json":   `{"env":{"K":"s3cr3t"},}`,
		"config/settings.json":                 `{"crossSessionInbound":{"K":"s3cr3t"}}`,
		"project/.claude/settings.json":        `{"crossSessionInbound":"hold"}`,
		"project/.claude/settings.local.json":  `{"crossSessionInbound":"a\u001b[2J\nb"}`,
		"project/.claude/settings.unread.json": `{"crossSessionInbound":"refuse"}`,
	})
	want := `crossSessionInbound for a session started in /project; the first value counts, project and local only where stricter:
  managed  /managed/managed-settings.d/40.json: can't be read, and may keep Claude Code from starting: not JSON
  managed  /managed/managed-settings.d/30.json: unset
  managed  /managed/managed-settings.d/20.json: accept; doesn't count
  managed  /managed/managed-settings.json: "yes", which is none of accept, hold, refuse and counts as refuse; doesn't count
  flag     --settings of a running session: can't be seen from here
  user     /config/settings.json: not a string, which is none of accept, hold, refuse and counts as hold; doesn't count
  project  /project/.claude/settings.json: hold; decides
  local    /project/.claude/settings.local.json: "a\x1b[2J\nb", which is none of accept, hold, refuse and counts as hold; doesn't count
so it is hold, by /project/.claude/settings.json
a session that prompts for permissions holds messages until its user approves
a session that bypasses permissions holds messages until its user approves
not seen from here: --settings of a running session, and managed settings that a server or a device manager delivers
`
	if diff := cmp.Diff(want, strings.ReplaceAll(runPolicy(t, c), root, "")); diff != "" {
		t.Error(diff)
	}
}

func TestPolicyShowJSON(t *testing.T) {
	root, c := policyHome(t, map[string]string{
		"managed/managed-settings.json": `{"crossSessionInbound":"refuse"}`,
		"config/settings.json":          "{}\n",
		"project/.claude/settings.json": `[]`,
	})
	c.JSON = true
	out := runPolicy(t, c)
	var got policyReport
	if err := json.Unmarshal([]byte(out), &got); err != nil || strings.Count(out, "\n") != 1 {
		t.Fatalf("%v: %q", err, out)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	want := policyReport{
		Revision: "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356", Dir: at("project"),
		Effective: "refuse", DecidedBy: at("managed/managed-settings.json"), Prompting: "refuse", Bypassing: envtoken.Refuse,
		Sources: []policySourceJSON{
			{envtoken.Managed, at("managed/managed-settings.json"), "set", envtoken.Refuse, "refuse", true},
			{envtoken.Flag, "", "unseen", "", "can't be seen from here", false},
			{envtoken.User, at("config/settings.json"), "unset", "", "unset", false},
			{envtoken.Project, at("project/.claude/settings.json"), "unreadable", "", "can't be read, and so counts as absent: not a JSON object", false},
			{envtoken.Local, at("project/.claude/settings.local.json"), "absent", "", "absent", false},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPolicyEditUnderManaged(t *testing.T) {
	root, c := policyHome(t, map[string]string{"managed/managed-settings.json": `{"crossSessionInbound":"refuse"}`})
	c.Action = "accept"
	got := slices.Collect(strings.Lines(strings.ReplaceAll(runPolicy(t, c), root, "")))
	want := []string{
		"/config/settings.json has crossSessionInbound at accept now\n",
		opened + "\n",
		"in /project another file decides: refuse, by /managed/managed-settings.json\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPolicyOddPath: a path that holds a line feed or an escape sequence makes
// no second line and reaches no terminal.
func TestPolicyOddPath(t *testing.T) {
	_, c := policyHome(t, nil)
	odd := filepath.Join(c.ConfigDir[0], "a\nb\x1b[2J")
	c.ConfigDir = []string{odd}
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	plain := *c
	plain.ConfigDir = []string{c.managedDir}
	for _, action := range []string{"show", "accept", "unset"} {
		c.Action, plain.Action = action, action
		got, want := runPolicy(t, c), runPolicy(t, &plain)
		if strings.Count(got, "\n") != strings.Count(want, "\n") || strings.Contains(got, "\x1b") {
			t.Errorf("%s printed %q", action, got)
		}
	}
}
