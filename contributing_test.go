package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Every path in CONTRIBUTING.md is one of this repository's.
func TestNamedPathsExist(t *testing.T) {
	b, err := os.ReadFile("CONTRIBUTING.md")
	do(t, err)
	isFile := regexp.MustCompile(`\.(go|md|txtar|golden)$`)
	paths := 0
	for _, word := range strings.Fields(string(b)) {
		path := strings.TrimLeft(strings.TrimRight(word, "`.,:;()"), "`(")
		if script, ok := strings.CutPrefix(path, "TestScripts/"); ok {
			path = "golden/scripts/" + script + ".txtar"
		}
		if !strings.Contains(path, "/") && !isFile.MatchString(path) || path == "./" {
			continue
		}
		paths++
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s isn't there, named in %q", path, word)
		}
	}
	if paths < 40 {
		t.Errorf("only %d paths in it: are they still read?", paths)
	}
}

func TestNamedCommandsExist(t *testing.T) {
	b, err := os.ReadFile("CONTRIBUTING.md")
	do(t, err)
	_, block, found := strings.Cut(string(b), "## A day's commands\n\n")
	block, _, closed := strings.Cut(block, "\n\n")
	if !found || !closed {
		t.Fatal("no commands")
	}
	for line := range strings.Lines(block) {
		program := strings.Fields(line)[0]
		if _, err := exec.LookPath(program); err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(line), err)
		}
	}
	// Every test that is named is one of some package's.
	sources, err := exec.Command("git", "grep", "-h", "--untracked", "^func Test", "--", "*_test.go").Output()
	if err != nil {
		t.Skip("no checkout: ", err)
	}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(string(b), -1) {
		if !strings.Contains(string(sources), "func "+name+"(") {
			t.Errorf("there is no %s", name)
		}
	}
}
