package screen

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	grey := Style{Foreground: "#949494"}
	for _, c := range []struct {
		name, capture string
		want          []Line
	}{
		{"plain", "one\n\ntwo\n", []Line{{{"one", 0, 3, Style{}}}, nil, {{"two", 0, 3, Style{}}}}},
		{
			"a style lasts across the line", "\x1b[38;5;246mgrey\nstill\x1b[39m not\n",
			[]Line{{{"grey", 0, 4, grey}}, {{"still", 0, 5, grey}, {" not", 5, 4, Style{}}}},
		},
		{
			"several in one, and none of them again", "\x1b[1;3;4;9;38;2;1;2;255;48;5;16mx\x1b[0my\x1b[2;7mz\x1b[mw",
			[]Line{{
				{"x", 0, 1, Style{Foreground: "#0102ff", Background: "#000000", Bold: true, Italic: true, Underline: true, Strike: true}},
				{"y", 1, 1, Style{}}, {"z", 2, 1, Style{Dim: true, Reverse: true}}, {"w", 3, 1, Style{}},
			}},
		},
		{
			"off one by one", "\x1b[1;2;3;4;7;9;31;102m\x1b[22m\x1b[23m\x1b[24m\x1b[27m\x1b[29m\x1b[39m\x1b[49mx",
			[]Line{{{"x", 0, 1, Style{}}}},
		},
		{
			"colours", "\x1b[31ma\x1b[97mb\x1b[38;5;9mc\x1b[38;5;67md\x1b[38;5;255me",
			[]Line{{
				{"a", 0, 1, Style{Foreground: "#e06c75"}}, {"b", 1, 1, Style{Foreground: "#ffffff"}},
				{"c", 2, 1, Style{Foreground: "#ff7b86"}}, {"d", 3, 1, Style{Foreground: "#5f87af"}},
				{"e", 4, 1, Style{Foreground: "#eeeeee"}},
			}},
		},
		{
			"wide characters and marks", "日本 cafe\u0301 ok", // the mark has no column of its own
			[]Line{{{"日本", 0, 4, Style{}}, {" cafe\u0301 ok", 4, 8, Style{}}}},
		},
		{
			"symbols stand alone", "› Message ── end",
			[]Line{{
				{"›", 0, 1, Style{}}, {" Message ", 1, 9, Style{}}, {"──", 10, 2, Style{}}, {" end", 12, 4, Style{}},
			}},
		},
		{
			"blanks at the end that nobody sees", "a  \x1b[1m  \x1b[0m \nb\x1b[7m \x1b[0m ",
			[]Line{{{"a", 0, 1, Style{}}}, {{"b", 0, 1, Style{}}, {" ", 1, 1, Style{Reverse: true}}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.capture)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLineString(t *testing.T) {
	lines, err := Parse("\x1b[2m  日 › \x1b[1mbold\x1b[0m  ")
	if err != nil {
		t.Fatal(err)
	}
	if got := lines[0].String(); got != "  日 › bold" {
		t.Errorf("got %q", got)
	}
}

// What would make another picture than what was seen is no picture.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ capture, names string }{
		{"a\x1b[2Jb", "no style"},
		{"ok\n\x1b[2", "line 2"},
		{"\x1b]8;;http://x\x1b\\", "neither text nor style"},
		{"\x1b[51m", "attribute 51"},
		{"\x1b[256m", `"256"`},
		{"\x1b[4:3m", `"4:3"`},
		{"\x1b[38m", "no colour"},
		{"\x1b[38;5m", "no colour"},
		{"\x1b[38;3;1;1;1m", "no colour"},
		{"\x1b[48;2;1;2;256m", `"256"`},
		{"a\tb", "neither text nor style"},
		{"a\xffb", "neither text nor style"},
	} {
		if lines, err := Parse(c.capture); err == nil || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%q reads as %v, %v, want an error that names %s", c.capture, lines, err, c.names)
		}
	}
}

func TestSVG(t *testing.T) {
	parse := func(capture string) []Line {
		lines, err := Parse(capture)
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	got := SVG(`<"a" & b>`, parse("$ x <y>  z\n"), parse("\n  \x1b[1;4;9;31m日&\x1b[0m\x1b[41m \x1b[0m\x1b[2;3;7mr\x1b[0m\n"))
	// 10 columns of 8.4 and 14 on either side are 112; one row of 17 and two.
	want := []string{
		`<svg xmlns="http://www.w3.org/2000/svg" width="112" height="117" viewBox="0 0 112 117" role="img" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d0d4dc">`,
		`<title>&lt;&#34;a&#34; &amp; b&gt;</title>`,
		`<style>text { white-space: pre; font-variant-emoji: text }</style>`,
		`<rect y="0" width="112" height="45" rx="8" fill="#16181d"/>`,
		`<text x="14.0" y="27" textLength="84.0" lengthAdjust="spacingAndGlyphs">$ x &lt;y&gt;  z</text>`,
		`<rect y="55" width="112" height="62" rx="8" fill="#16181d"/>`,
		`<text x="30.8" y="99" textLength="16.8" lengthAdjust="spacingAndGlyphs" fill="#e06c75" font-weight="bold" text-decoration="underline line-through">日</text>`,
		`<text x="47.6" y="99" textLength="8.4" lengthAdjust="spacingAndGlyphs" fill="#e06c75" font-weight="bold" text-decoration="underline line-through">&amp;</text>`,
		`<rect x="56.0" y="86" width="8.4" height="17" fill="#e06c75"/>`,
		`<rect x="64.4" y="86" width="8.4" height="17" fill="#d0d4dc"/>`,
		`<text x="64.4" y="99" textLength="8.4" lengthAdjust="spacingAndGlyphs" fill="#16181d" font-style="italic" fill-opacity="0.6">r</text>`,
		`</svg>`,
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(got, "\n"), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
