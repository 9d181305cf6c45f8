package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTextWidth(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0}, {"abc", 3}, {"äöü", 3}, {"…", 1}, {"Ω≈ç", 3}, {"\ufffd", 1},
		{"日本語", 6}, {"한국어", 6}, {"ｆｕｌｌ", 8}, {"ﾊﾝｶｸ", 4}, {"　", 2}, {"𠮷", 2}, {"「」、。", 8},
		{"e\u0301", 1}, {"a\u0300\u0301\u0302", 1}, {"\u200b", 0}, {"a\u200db", 2}, {"\ufeff", 0}, {"\u202ex\u202c", 1}, {"न\u0941", 1}, {"x\u20dd", 1},
		{"👍", 2}, {"🚀🚀", 4}, {"🧪", 2}, {"✅", 2}, {"❌", 2}, {"⭐", 2}, {"⚡", 2}, {"⌚", 2}, {"✓", 1}, {"→", 1}, {"❯", 1}, {"☃", 1}, {"❤", 1},
		// A Hangul syllable in its parts, as macOS spells file names, and a soft hyphen.
		{"\u1112\u1161\u11ab\u1100\u1173\u11af", 4}, {"a\u00adb", 3},
		// One picture of several characters: joined, toned, asked to be coloured.
		{"👩‍💻", 2}, {"👩‍❤️‍👨", 2}, {"👨‍👩‍👧‍👦 x", 4}, {"🏳️‍🌈", 2}, {"👍🏽", 2}, {"🏽", 2}, {"⚠️", 2}, {"❤️", 2}, {"✔️ok", 4}, {"⚠", 1}, {"a\ufe0f", 1}, {"✅\ufe0f", 2}, {"❤️‍🔥!", 3},
		// These are wide in EastAsianWidth.txt, one by one between narrow ones …
		{"⏰", 2}, {"⏳", 2}, {"⚪⚫", 4}, {"♿", 2}, {"⚓", 2}, {"⛪", 2}, {"⛺", 2}, {"⛽", 2}, {"➰", 2}, {"⛎", 2}, {"◽", 2},
		// … and these, beside wide ones, are narrow.
		{"⛴", 1}, {"❖", 1}, {"🇩🇪", 2},
	} {
		if got := textWidth(c.text); got != c.want {
			t.Errorf("%q has width %d, want %d", c.text, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"", 5, ""}, {"abcde", 5, "abcde"}, {"abcdef", 5, "abcd…"}, {strings.Repeat("x", 500), 5, "xxxx…"},
		{"日本", 4, "日本"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"a日本", 4, "a日…"},
		{"ae\u0301bcdef", 5, "ae\u0301bc…"}, {"abcd\u0301\u0302", 4, "abcd\u0301\u0302"}, {"👍👍👍", 5, "👍👍…"},
		{"👩‍💻 api", 4, "👩‍💻 …"}, {"👩‍💻👩‍💻", 4, "👩‍💻👩‍💻"}, {"⚠️⚠️", 3, "⚠️…"}, {"한국어", 5, "한국…"},
	} {
		got := cut(c.text, c.columns)
		if got != c.want || textWidth(got) > c.columns {
			t.Errorf("%q in %d is %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// TestColumns: each column begins at one place, whatever stands before it.
func TestColumns(t *testing.T) {
	got := columns([][]string{
		{"NAME", "PID", "DIRECTORY"},
		{"a", "1", "~/x"},
		{"日本", "22", "/y y"},
		{"e\u0301e\u0301", "", ""},
		{"two\nlines", "3", "a\tb"},
		{"\x1b[31mred", "4", "\x1b]0;title\a"},
		{"\u009b2J", "5", ""},
		{"", "6", "z"},
	})
	want := []string{
		"NAME       PID  DIRECTORY",
		"a          1    ~/x",
		"日本       22   /y y",
		"e\u0301e\u0301",
		"two\ufffdlines  3    a\ufffdb",
		"\ufffd[31mred   4    \ufffd]0;title\ufffd",
		"\ufffd2J        5",
		"           6    z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := columns(nil); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := columns([][]string{{"a"}, {"b", "c"}, {"d", "e", "f"}}); !slices.Equal(got, []string{"a", "b  c", "d  e  f"}) {
		t.Errorf("rows of unequal length: %q", got)
	}
}

// TestColumnsNoControl: nothing that reaches a cell moves a terminal's cursor.
func TestColumnsNoControl(t *testing.T) {
	for r := rune(0); r < 0x100; r++ {
		line := columns([][]string{{"a" + string(r) + "b", "c"}})[0]
		for _, got := range line {
			if got < ' ' || 0x7f <= got && got < 0xa0 {
				t.Errorf("%q reaches the terminal", got)
			}
		}
	}
	// So that a name can't turn the line around (Trojan Source), the
	// characters that order text are shown as such, in tables and in sentences.
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		if line := columns([][]string{{"a" + string(r) + "b", "c"}})[0]; strings.ContainsRune(line, r) {
			t.Errorf("%U reaches the terminal", r)
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		since time.Time
		want  string
	}{
		{time.Time{}, ""},
		{now.Add(time.Hour), "0s"}, // a clock that was set back
		{now.Add(-30 * time.Second), "30s"},
		{now.Add(-90 * time.Second), "1m"},
		{now.Add(-59*time.Minute - 59*time.Second), "59m"},
		{now.Add(-60 * time.Minute), "1h"},
		{now.Add(-47 * time.Hour), "47h"},
		{now.Add(-49 * time.Hour), "2d"},
		{now.Add(-400 * 24 * time.Hour), "400d"},
	} {
		if got := age(c.since); got != c.want && got != strings.Replace(c.want, "30s", "31s", 1) {
			t.Errorf("%v ago is %q, want %q", now.Sub(c.since), got, c.want)
		}
	}
}

func TestTilde(t *testing.T) {
	for _, c := range []struct{ home, path, want string }{
		{"/home/a", "/home/a", "~"}, {"/home/a", "/home/a/b c", "~/b c"}, {"/home/a/", "/home/a/b", "~/b"},
		{"/home/a", "/home/ab", "/home/ab"}, {"/home/a", "/x/home/a", "/x/home/a"}, {"/home/a", "", ""}, {"/home/a", "home/a", "home/a"},
		{"", "/home/a", "/home/a"}, {"/", "/home/a", "/home/a"},
	} {
		a := &app{getenv: func(key string) string { return map[string]string{"HOME": c.home}[key] }}
		if got := a.tilde(c.path); got != c.want {
			t.Errorf("with home %q %q is %q, want %q", c.home, c.path, got, c.want)
		}
	}
}
