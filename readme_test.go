package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ccpost/golden/update"
	"ccpost/inbox"
)

// The README's table of outcomes is made from the one in package inbox.
func TestReadmeTable(t *testing.T) {
	const file, begin, end = "README.md", "<!-- outcomes -->\n", "<!-- /outcomes -->"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the README is wanted, with a table between %q and %q: %v", begin, end, err)
	}
	before, rest, found := strings.Cut(string(b), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no section between %q and %q", file, begin, end)
	}
	var table strings.Builder
	table.WriteString("| outcome | exit | resend? | what it says |\n|---|---|---|---|\n")
	for _, r := range inbox.Table {
		fmt.Fprintf(&table, "| `%s` | %d | %s | %s |\n", r.Name, r.Exit, r.Resend, r.Sentence)
	}
	want := table.String()
	if got == want {
		return
	}
	if !*update.Golden {
		t.Fatalf("%s's table is not the one in the code; go test -update writes it\n%s", file, cmp.Diff(want, got))
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
