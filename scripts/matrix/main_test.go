package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every live test has its place in the table, or its reason to have none.
func TestEveryLiveTestIsMapped(t *testing.T) {
	files, err := filepath.Glob("../live/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no live tests: %v", err)
	}
	var live []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
				live = append(live, fn.Name.Name)
			}
		}
	}
	slices.Sort(live)
	if diff := cmp.Diff(live, slices.Sorted(maps.Keys(covers))); diff != "" {
		t.Errorf("covers (-live tests +mapped):\n%s", diff)
	}
	shown := map[string]bool{}
	for test, of := range covers {
		for _, c := range strings.Split(of, ", ") {
			if shown[c] = true; of != "" && !slices.Contains(capabilities, c) {
				t.Errorf("%s shows %q, which is no column", test, c)
			}
		}
	}
	for _, c := range capabilities {
		if !shown[c] {
			t.Errorf("no test shows %s", c)
		}
	}
}

// output is what `go test -json` prints of tests that end as given.
func output(ends map[string]string, more ...string) string {
	var b strings.Builder
	b.WriteString(`{"Action":"start","Package":"p"}` + "\n")
	for _, test := range slices.Sorted(maps.Keys(ends)) {
		b.WriteString(`{"Action":"run","Package":"p","Test":"` + test + `"}` + "\n")
		if ends[test] != "" {
			b.WriteString(`{"Action":"` + ends[test] + `","Package":"p","Test":"` + test + `","Elapsed":1}` + "\n")
		}
	}
	return b.String() + strings.Join(more, "") + `{"Action":"pass","Package":"p"}` + "\n"
}

func all(action string) map[string]string {
	ends := map[string]string{}
	for test := range covers {
		ends[test] = action
	}
	return ends
}

func notRun(test, why string) string {
	return `{"Action":"output","Package":"p","Test":"` + test + `","Output":"live: not run: ` + test + `: ` + why + `\n"}` + "\n"
}

func TestTable(t *testing.T) {
	failing := all("pass")
	failing["TestQueued"] = "fail"            // post, evidence
	failing["TestSendFromOutside"] = "fail"   // the same
	failing["TestNoInboxWithoutNetwork"] = "" // of no column
	panicking := all("pass")
	panicking["TestRefused"] = ""          // refuse
	delete(panicking, "TestPolicyDecides") // refuse
	missing := all("pass")
	var lines []string
	for _, test := range []string{"TestListNamesThePane", "TestPicture", "TestPluginTellsOfAQuestion", "TestRenameShowsOnScreen", "TestSessionChangedAfterClear", "TestUserDecides"} {
		missing[test] = "skip"
		lines = append(lines, notRun(test, "no tmux"))
	}
	old := all("skip")
	var why []string
	for test := range covers {
		why = append(why, notRun(test, "no inbox"))
	}
	subtest := all("pass")
	subtest["TestQueued/one"] = "fail" // its test says so itself

	const head = "| version | post | own child | hold | refuse | drop | rename | evidence | hooks | interactive |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n"
	for _, tt := range []struct {
		name, output, want string
		failed             bool
	}{
		{"all pass", output(all("pass")), "| 1.2.3 | yes | yes | yes | yes | yes | yes | yes | yes | yes |\n", false},
		{"a subtest", output(subtest), "| 1.2.3 | yes | yes | yes | yes | yes | yes | yes | yes | yes |\n", false},
		{"two fail", output(failing), "| 1.2.3 | no (1) | yes | yes | yes | yes | yes | no (1) | yes | yes |\n" +
			"\n(1) 1.2.3: failed: `TestQueued`, `TestSendFromOutside`\n", true},
		{"a panic", output(panicking), "| 1.2.3 | yes | yes | yes | no (1) (2) | yes | yes | yes | yes | yes |\n" +
			"\n(1) 1.2.3: not run, the run ended before: `TestPolicyDecides`\n" +
			"\n(2) 1.2.3: failed: `TestRefused`\n", true},
		{"no tmux", output(missing, lines...), "| 1.2.3 | yes | yes | yes (1) | yes | yes | yes (1) | yes | yes | not run (1) |\n" +
			"\n(1) 1.2.3: not run, no tmux: `TestListNamesThePane`, `TestPicture`, `TestPluginTellsOfAQuestion`, `TestRenameShowsOnScreen`, `TestSessionChangedAfterClear`, `TestUserDecides`\n", false},
		{"none runs", output(old, why...), "| 1.2.3" + strings.Repeat(" | not run (1)", 9) + " |\n" +
			"\n(1) 1.2.3: not run, no inbox: every test\n", false},
		{"none says why", output(all("skip")), "| 1.2.3" + strings.Repeat(" | not run (1)", 9) + " |\n" +
			"\n(1) 1.2.3: not run, skipped: every test\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			readme := filepath.Join(dir, "README.md")
			write(t, readme, "before\n<!-- versions -->\nof an earlier run\n<!-- /versions -->\nafter\n")
			write(t, filepath.Join(dir, "1.2.3.json"), tt.output)
			failed, err := run(readme, dir, []string{"1.2.3", "1.2.3"})
			if err != nil || failed != tt.failed {
				t.Errorf("failed is %v, error %v", failed, err)
			}
			got, err := os.ReadFile(readme)
			if err != nil {
				t.Fatal(err)
			}
			want := "before\n<!-- versions -->\n" + head + tt.want + "<!-- /versions -->\nafter\n"
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("the file (-want +got):\n%s", diff)
			}
		})
	}
}

// What is no result leaves the file as it was.
func TestNoTable(t *testing.T) {
	const file = "<!-- versions -->\nof an earlier run\n<!-- /versions -->\n"
	for _, tt := range []struct{ name, file, output string }{
		{"no build", file, `{"Action":"build-fail"}` + "\n" + `{"Action":"fail","Package":"p"}` + "\n"},
		{"no events", file, "FAIL\n"},
		{"nothing", file, ""},
		{"no begin", "<!-- /versions -->\n", output(all("pass"))},
		{"no end", "<!-- versions -->\n", output(all("pass"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			readme := filepath.Join(dir, "README.md")
			write(t, readme, tt.file)
			write(t, filepath.Join(dir, "1.2.3.json"), tt.output)
			if _, err := run(readme, dir, []string{"1.2.3"}); err == nil {
				t.Error("no error")
			}
			if got, err := os.ReadFile(readme); err != nil || string(got) != tt.file {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
