// Matrix runs the live tests against several versions of Claude Code, one after
// the other, and writes into the README which of them let ccpost do what.
//
//	go run ./scripts/matrix [-readme FILE] [-results DIR] VERSION...
//
// A version is a number such as 2.1.332, or newest, which is the registry's. Run
// it in the root of the checkout.
//
// Contract: the table between the README's two marks is made of nothing but what
// the tests of this run said. A capability is yes where every one of its tests
// that ran passed, no where one failed, not run where none ran; each test that
// failed or didn't run is named below the table. With -results the output of the
// tests is kept there, and a version that has its file there isn't run again.
// The exit code is 3 where anything failed, and the table is written all the same.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ccpost/scripts/readme"
)

func main() {
	file := flag.String("readme", "README.md", "the file with the table")
	results := flag.String("results", "", "folder that keeps the tests' output, and saves running them again")
	flag.Parse()
	failed, err := run(*file, *results, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
	}
	if err != nil || failed {
		os.Exit(3)
	}
}

func run(file, results string, versions []string) (failed bool, err error) {
	if len(versions) == 0 {
		return false, errors.New("which versions?")
	}
	before, _, after, err := readme.Section(file, "versions")
	if err != nil {
		return false, err
	}
	if results == "" {
		if results, err = os.MkdirTemp("", "matrix"); err != nil {
			return false, err
		}
		defer os.RemoveAll(results)
	}
	var rows []row
	for _, v := range versions {
		if v == "newest" {
			if v, err = newest(); err != nil {
				return false, err
			}
		}
		if slices.ContainsFunc(rows, func(r row) bool { return r.version == v }) {
			continue
		}
		tests, err := test(results, v)
		if err != nil {
			return false, fmt.Errorf("%s: %w", v, err)
		}
		r := row{v, tests}
		fmt.Println(r.summary())
		failed = failed || len(r.tests.ended("fail")) > 0
		rows = append(rows, r)
	}
	return failed, os.WriteFile(file, []byte(before+table(rows)+after), 0o644)
}

func newest() (string, error) {
	out, err := exec.Command("npm", "view", "@anthropic-ai/claude-code-linux-x64", "version").Output()
	if err != nil {
		return "", fmt.Errorf("which version is the newest? npm view: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// test runs the live tests, unless what they printed is among the results.
func test(results, version string) (endings, error) {
	file := filepath.Join(results, version+".json")
	if output, err := os.ReadFile(file); err == nil {
		return parse(bytes.NewReader(output))
	}
	cmd := exec.Command("go", "test", "-json", "-tags", "live", "-count=1", "-timeout=30m", "./scripts/live", "-claude", version)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) { // a test that fails is a result
		return nil, err
	}
	tests, err := parse(bytes.NewReader(output))
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	return tests, os.WriteFile(file, output, 0o644)
}

// ending is how a test ended: pass, skip or fail, and why it didn't run.
type ending struct{ action, why string }

type endings map[string]ending

// ended are the tests that ended so, in order.
func (e endings) ended(action string) (tests []string) {
	for _, t := range slices.Sorted(maps.Keys(e)) {
		if e[t].action == action {
			tests = append(tests, t)
		}
	}
	return tests
}

// parse reads the events of `go test -json`. A test that begins and doesn't end,
// as at a panic, failed.
func parse(r io.Reader) (endings, error) {
	tests := endings{}
	for d := json.NewDecoder(r); ; {
		var e struct{ Action, Test, Output string }
		err := d.Decode(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if e.Test == "" || strings.Contains(e.Test, "/") {
			continue
		}
		t := tests[e.Test]
		switch e.Action {
		case "run":
			t.action = "fail"
		case "pass", "skip", "fail":
			t.action = e.Action
		case "output":
			if _, why, found := strings.Cut(e.Output, "live: not run: "+e.Test+": "); found {
				t.why = strings.TrimSpace(why)
			}
		}
		tests[e.Test] = t
	}
	if len(tests) == 0 {
		return nil, errors.New("no test was run")
	}
	return tests, nil
}

type row struct {
	version string
	tests   endings
}

func (r row) summary() string {
	s := fmt.Sprintf("%s: %d passed", r.version, len(r.tests.ended("pass")))
	if skipped := r.tests.ended("skip"); len(skipped) > 0 {
		s += fmt.Sprintf(", %d not run", len(skipped))
	}
	if failed := r.tests.ended("fail"); len(failed) > 0 {
		s += ", failed: " + strings.Join(failed, ", ")
	}
	return s
}

// cell is a capability's word and the reasons that stand below the table.
func (r row) cell(capability string) (word string, reasons []string) {
	word = "not run"
	for _, t := range slices.Sorted(maps.Keys(covers)) {
		if !slices.Contains(strings.Split(covers[t], ", "), capability) {
			continue
		}
		switch r.tests[t].action {
		case "fail":
			word = "no"
		case "pass":
			if word != "no" {
				word = "yes"
			}
		}
		if reason := r.reason(t); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return word, reasons
}

// reason is why a test didn't pass.
func (r row) reason(test string) string {
	e := r.tests[test]
	switch e.action {
	case "pass":
		return ""
	case "fail":
		return "failed"
	case "skip":
		return "not run, " + cmp.Or(e.why, "skipped")
	}
	return "not run, the run ended before"
}

// table has a line for each version, and a note for each reason of one. A note
// names its tests, where they are not all that make up the table.
func table(rows []row) string {
	var out, notes strings.Builder
	out.WriteString("| version | " + strings.Join(capabilities, " | ") + " |\n|---" + strings.Repeat("|---", len(capabilities)) + "|\n")
	n := 0
	for _, r := range rows {
		numbers := map[string]int{}
		out.WriteString("| " + r.version)
		for _, c := range capabilities {
			word, reasons := r.cell(c)
			for _, reason := range reasons {
				if numbers[reason] == 0 {
					n++
					numbers[reason] = n
					fmt.Fprintf(&notes, "\n(%d) %s: %s: %s\n", n, r.version, reason, r.who(reason))
				}
				word += fmt.Sprintf(" (%d)", numbers[reason])
			}
			out.WriteString(" | " + word)
		}
		out.WriteString(" |\n")
	}
	return out.String() + notes.String()
}

// who are the tests of the table with this reason.
func (r row) who(reason string) string {
	var all, tests []string
	for _, t := range slices.Sorted(maps.Keys(covers)) {
		if covers[t] == "" {
			continue
		}
		all = append(all, t)
		if r.reason(t) == reason {
			tests = append(tests, "`"+t+"`")
		}
	}
	if len(tests) == len(all) {
		return "every test"
	}
	return strings.Join(tests, ", ")
}
