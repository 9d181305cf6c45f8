//go:build release

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"ccpost/scripts/readme"
)

// block is the README's block of this name.
func block(t *testing.T, name string) string {
	t.Helper()
	text, err := readme.Block("../../README.md", name)
	do(t, err)
	return strings.ReplaceAll(text, "linux_amd64", "linux_"+runtime.GOARCH) + "\n"
}

// The README's first commands, in their order, by a user with an empty HOME on a
// machine with nothing but a shell, and what they print there.
func TestStranger(t *testing.T) {
	dir := root(t)
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		notRun(t, "no busybox")
	}
	program, err := os.ReadFile(busybox)
	do(t, err)
	if !static(t, program) {
		notRun(t, "busybox is not static")
	}
	const home = "/home/stranger"
	for _, name := range []string{"bin", home} {
		do(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	do(t, os.Chown(filepath.Join(dir, home), stranger, stranger))
	do(t, os.WriteFile(filepath.Join(dir, "bin/busybox"), program, 0o755))
	list, err := command("/", nil, busybox, "--list")
	do(t, err)
	for _, name := range strings.Fields(list) {
		if name != "busybox" {
			do(t, os.Symlink("busybox", filepath.Join(dir, "bin", name)))
		}
	}
	name := archiveOf(system{"linux", runtime.GOARCH}) + ".tar.gz"
	for _, name := range []string{name, "SHA256SUMS"} {
		data, err := os.ReadFile(filepath.Join(released(t), name))
		do(t, err)
		do(t, os.WriteFile(filepath.Join(dir, home, name), data, 0o644))
	}

	env := []string{"HOME=" + home, "PATH=" + home + "/.local/bin:/bin"}
	shell := func(script string) string {
		t.Helper()
		return inside(t, dir, env, "/bin/sh", "-c", "cd && exec 2>&1\n"+script)
	}
	if got, want := shell("set -e\n"+block(t, "install")), name+": OK\n"; got != want {
		t.Errorf("the installation says %q, want %q", got, want)
	}

	const mark = "== end of a command"
	var script strings.Builder
	var commands, want []string
	for line := range strings.Lines(block(t, "first-steps")) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands, want = append(commands, command), append(want, "")
			fmt.Fprintf(&script, "%ss=$?; echo '%s'; (exit $s)\n", command, mark) // the next may ask for $?
		} else {
			want[len(want)-1] += line
		}
	}
	got := strings.Split(shell(script.String()+"true\n"), mark+"\n")
	if len(got) != len(want)+1 || len(want) == 0 {
		t.Fatalf("%d commands print %q", len(want), got)
	}
	for i, command := range commands {
		if !matches(want[i], got[i]) {
			t.Errorf("$ %sprints\n%s\nwhere the README says\n%s", command, got[i], want[i])
		}
	}
}

// matches reports whether text is what the README shows, in which … is anything
// within a line and, alone on a line, any lines.
func matches(shown, text string) bool {
	pattern := regexp.QuoteMeta(shown)
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(pattern, `(.*\n)*`)
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(text)
}
