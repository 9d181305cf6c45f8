package readme_test

import (
	"os"
	"path/filepath"
	"testing"

	"ccpost/scripts/readme"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSection(t *testing.T) {
	for text, ok := range map[string]bool{
		"a\n<!-- bench -->\nold\n<!-- /bench -->\nb\n": true,
		"a\n<!-- bench -->\nold\n":                     false,
		"a\n":                                          false,
	} {
		before, section, after, err := readme.Section(write(t, text), "bench")
		if (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
		if ok && (before+"new\n"+after != "a\n<!-- bench -->\nnew\n<!-- /bench -->\nb\n" || section != "old\n") {
			t.Errorf("%q is split into %q, %q and %q", text, before, section, after)
		}
	}
}

func TestBlock(t *testing.T) {
	for text, want := range map[string]string{
		"a\n<!-- recipe: x -->\n```sh\none\ntwo\n```\nb\n":                      "one\ntwo",
		"<!-- recipe: y -->\n```\nno\n```\n<!-- recipe: x -->\n```\nyes\n```\n": "yes",
		"<!-- recipe: x -->\n```sh\nnever closed\n":                             "",
		"<!-- recipe: x -->\nno fence\n":                                        "",
		"a\n":                                                                   "",
	} {
		got, err := readme.Block(write(t, text), "x")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
