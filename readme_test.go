package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ccpost/golden/update"
	"ccpost/inbox"
	"ccpost/scripts/readme"
)

// The README's table of outcomes is made from the one in package inbox.
func TestReadmeTable(t *testing.T) {
	const file = "README.md"
	before, got, after, err := readme.Section(file, "outcomes")
	do(t, err)
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
	if err := os.WriteFile(file, []byte(before+want+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
