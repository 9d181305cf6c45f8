package main

import (
	"os"
	"os/exec"
	"path/filepath"
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
}

// Every test and package that a document names is there.
func TestNamedTestsExist(t *testing.T) {
	sources, err := exec.Command("git", "grep", "-h", "--untracked", "^func [TF]", "--", "*_test.go").Output()
	if err != nil {
		t.Skip("no checkout: ", err)
	}
	for file, atLeast := range map[string]int{"CONTRIBUTING.md": 2, "SECURITY.md": 80, "README.md": 2} {
		b, err := os.ReadFile(file)
		do(t, err)
		names := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`).FindAllString(string(b), -1)
		for _, name := range names {
			if !strings.Contains(string(sources), "func "+name) {
				t.Errorf("%s: there is no %s", file, name)
			}
		}
		if len(names) < atLeast {
			t.Errorf("%s names %d tests: are they still read?", file, len(names))
		}
	}
}

// A claim's test stands in the package that SECURITY.md says.
func TestClaimsHaveTests(t *testing.T) {
	b, err := os.ReadFile("SECURITY.md")
	do(t, err)
	_, table, _ := strings.Cut(string(b), "|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		claim, tests, _ := strings.Cut(strings.Trim(row, "|\n "), " | ")
		for group := range strings.SplitSeq(tests, ";") {
			names, dir, elsewhere := strings.Cut(strings.TrimSpace(group), " in ")
			if dir = strings.Trim(dir, "` "); !elsewhere {
				dir = "."
			}
			sources, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			do(t, err)
			var all strings.Builder
			for _, file := range sources {
				source, err := os.ReadFile(file)
				do(t, err)
				all.Write(source)
			}
			for name := range strings.SplitSeq(names, ",") {
				if name = strings.Trim(name, "` "); name == "" || !strings.Contains(all.String(), "func "+name+"(") {
					t.Errorf("%q: %q isn't in %s", claim, name, dir)
				}
			}
		}
	}
}
