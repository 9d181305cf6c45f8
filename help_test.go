package main

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"ccpost/inbox"
)

// model is the grammar as kong reads it.
func model(t testing.TB) *kong.Application {
	t.Helper()
	k, err := new(grammar).parser(kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

// Help has at most 80 columns, on a terminal of any width that has them, and
// each command's has one example, which the grammar takes.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	app := model(t)
	helps := [][]string{{"--help"}, {"help", exitCodes}}
	for _, n := range app.Children {
		helps = append(helps, []string{n.Name, "--help"})
	}
	for _, args := range helps {
		plain := ccpost(t, environ(t), "", args...)
		if plain.code != 0 || plain.stderr != "" || strings.Count(plain.stdout, "\n") < 5 {
			t.Fatalf("%q: %v", args, plain)
		}
		for line := range strings.Lines(plain.stdout) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > helpColumns || strings.TrimRight(line, " ") != line {
				t.Errorf("%q: %q", args, line)
			}
		}
	}
	for _, args := range [][]string{{"--help"}, {"hook", "--help"}} {
		for _, width := range []string{"81", "5000", "-7"} {
			wide := ccpost(t, environ(t, "COLUMNS="+width), "", args...)
			if wide.code != 0 || width != "-7" && utf8.RuneCountInString(longest(wide.stdout)) > helpColumns {
				t.Errorf("%q on %s columns: %v", args, width, wide)
			}
		}
	}
	for _, n := range app.Children {
		if n.Help == "" || utf8.RuneCountInString(n.Help) > helpColumns-len("  version    ") || !strings.HasSuffix(n.Help, ".") || strings.Contains(n.Help, "\n") {
			t.Errorf("%s is described in more than one line of the list: %q", n.Name, n.Help)
		}
		_, example, found := strings.Cut(n.Detail, "\n\n    ")
		if !found || !strings.Contains(example, "ccpost "+n.Name) || strings.Contains(example, "\n") {
			t.Errorf("%s has no example: %q", n.Name, n.Detail)
		}
	}
	if len(details) != len(app.Children) {
		t.Errorf("there is help on %d commands, want %d", len(details), len(app.Children))
	}
}

func longest(text string) string {
	return slices.MaxFunc(strings.Split(text, "\n"), func(a, b string) int { return utf8.RuneCountInString(a) - utf8.RuneCountInString(b) })
}

// The table that help prints is the one of package inbox, whole and in its order.
func TestHelpExitCodes(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(ccpost(t, environ(t), "", "help", exitCodes).stdout, "what it says\n")
	if !found {
		t.Fatal("there is no table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var got []inbox.Row
	for line := range strings.Lines(table) {
		left, text := []rune(line)[:38], strings.TrimSpace(string([]rune(line)[38:]))
		if fields := strings.Fields(string(left)); len(fields) > 2 {
			exit, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatalf("%q", line)
			}
			got = append(got, inbox.Row{Name: inbox.Name(fields[1]), Exit: exit, Resend: strings.Join(fields[2:], " "), Sentence: text})
		} else if len(fields) > 0 || len(got) == 0 {
			t.Fatalf("%q", line)
		} else {
			got[len(got)-1].Sentence += " " + text
		}
	}
	if len(got) != len(inbox.Table) {
		t.Fatalf("%d rows, want %d", len(got), len(inbox.Table))
	}
	for i, want := range inbox.Table {
		if g := got[i]; g.Name != want.Name || g.Exit != want.Exit || g.Resend != want.Resend || g.Sentence != want.Sentence {
			t.Errorf("got %v\nwant %v", g, want)
		}
	}
}
