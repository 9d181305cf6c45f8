// Package screen turns what a terminal shows into a picture, an SVG of text that
// can be read, searched and copied.
//
// Parse takes the lines of `tmux capture-pane -e -p`: text with the sequences
// that colour it (ECMA-48, SGR). Lines may then be left out or cut by who calls.
// SVG draws panels of lines one below the other, each on a dark ground of its
// own, so that the picture reads on a light page and on a dark one. Every run of
// one style is one text element that is held to the columns it had, whichever
// monospaced font the reader's system has.
//
// The package starts no terminal and knows no sequence but SGR: any other is an
// error, since the picture would not be what was seen.
package screen

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is one row of a screen, without the blanks at its end.
type Line []Run

// Run is text of one style within a Line.
type Run struct {
	Text    string
	Column  int // where it begins, from 0
	Columns int // how many it takes
	Style   Style
}

// Style is how text looks. A colour is #rrggbb; empty is the terminal's own.
type Style struct {
	Foreground, Background string

	Bold, Dim, Italic, Underline, Reverse, Strike bool
}

// String is the text of the line, with a space for every column that has none.
func (l Line) String() string {
	var b strings.Builder
	column := 0
	for _, r := range l {
		b.WriteString(strings.Repeat(" ", r.Column-column))
		b.WriteString(r.Text)
		column = r.Column + r.Columns
	}
	return b.String()
}

// Parse reads lines as `tmux capture-pane -e -p` prints them, in UTF-8. A style
// lasts across the end of a line.
func Parse(capture string) ([]Line, error) {
	var lines []Line
	var style Style
	for text := range strings.SplitSeq(strings.TrimSuffix(capture, "\n"), "\n") {
		var l Line
		column := 0
		for text != "" {
			if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
				end := strings.IndexFunc(rest, func(r rune) bool { return '@' <= r && r <= '~' })
				if end < 0 || rest[end] != 'm' {
					return nil, fmt.Errorf("line %d: a sequence that sets no style: %.20q", len(lines)+1, text)
				}
				if err := style.set(rest[:end]); err != nil {
					return nil, fmt.Errorf("line %d: %w", len(lines)+1, err)
				}
				text = rest[end+1:]
				continue
			}
			r, size := utf8.DecodeRuneInString(text)
			if r == utf8.RuneError && size == 1 || unicode.IsControl(r) {
				return nil, fmt.Errorf("line %d: neither text nor style: %.20q", len(lines)+1, text)
			}
			width := runeWidth(r)
			l = l.add(text[:size], column, width, style)
			column += width
			text = text[size:]
		}
		lines = append(lines, l.trim())
	}
	return lines, nil
}

// add makes the last run longer, or begins another where the style changes, or
// where symbols begin or end: they may come from another font, which must not
// pull at the letters beside them.
func (l Line) add(char string, column, width int, style Style) Line {
	if n := len(l); n > 0 && l[n-1].Style == style && (width == 0 || isSymbol(l[n-1].Text) == isSymbol(char)) {
		l[n-1].Text += char
		l[n-1].Columns += width
		return l
	}
	return append(l, Run{char, column, width, style})
}

// trim takes away the blanks at the end that nobody sees.
func (l Line) trim() Line {
	for n := len(l); n > 0; n-- {
		last := &l[n-1]
		if last.Style.Background != "" || last.Style.Reverse || last.Style.Underline || last.Style.Strike {
			break
		}
		text := strings.TrimRight(last.Text, " ")
		last.Columns -= len(last.Text) - len(text)
		if last.Text = text; text != "" {
			break
		}
		l = l[:n-1]
	}
	return l
}

// isSymbol reports whether text, of one kind, is other than Latin letters,
// digits and signs, which every monospaced font has.
func isSymbol(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r > unicode.MaxLatin1 && !unicode.Is(unicode.Latin, r)
}

// set is one SGR sequence: numbers between semicolons, where one with colons in
// it is one attribute. None is 0.
func (s *Style) set(sequence string) error {
	codes := strings.Split(sequence, ";")
	for len(codes) > 0 {
		used, err := s.setOne(codes)
		if err != nil {
			return fmt.Errorf("style %q: %w", sequence, err)
		}
		codes = codes[used:]
	}
	return nil
}

// setOne applies the first attribute and returns how many codes it took.
func (s *Style) setOne(codes []string) (used int, err error) {
	switch code := codes[0]; code {
	case "", "0":
		*s = Style{}
	case "1":
		s.Bold = true
	case "2":
		s.Dim = true
	case "3":
		s.Italic = true
	case "4":
		s.Underline = true
	case "7":
		s.Reverse = true
	case "9":
		s.Strike = true
	case "22":
		s.Bold, s.Dim = false, false
	case "23":
		s.Italic = false
	case "24":
		s.Underline = false
	case "27":
		s.Reverse = false
	case "29":
		s.Strike = false
	case "39":
		s.Foreground = ""
	case "49":
		s.Background = ""
	case "38":
		s.Foreground, used, err = colour(codes[1:])
		return used + 1, err
	case "48":
		s.Background, used, err = colour(codes[1:])
		return used + 1, err
	default:
		n, err := strconv.ParseUint(code, 10, 8)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is no attribute", code)
		case 30 <= n && n <= 37:
			s.Foreground = palette(n - 30)
		case 40 <= n && n <= 47:
			s.Background = palette(n - 40)
		case 90 <= n && n <= 97:
			s.Foreground = palette(n - 90 + 8)
		case 100 <= n && n <= 107:
			s.Background = palette(n - 100 + 8)
		default:
			return 0, fmt.Errorf("attribute %d isn't known", n)
		}
	}
	return 1, nil
}

// colour reads what follows 38 or 48: 5;N of the palette, or 2;R;G;B.
func colour(codes []string) (colour string, used int, err error) {
	var n [4]uint64
	for used < len(codes) && used < len(n) {
		if n[used], err = strconv.ParseUint(codes[used], 10, 8); err != nil {
			return "", 0, fmt.Errorf("%q is no part of a colour", codes[used])
		}
		used++
		switch {
		case used == 2 && n[0] == 5:
			return palette(n[1]), used, nil
		case used == 4 && n[0] == 2:
			return hex(n[1], n[2], n[3]), used, nil
		}
	}
	return "", 0, fmt.Errorf("no colour: %q", codes)
}

func hex(r, g, b uint64) string { return fmt.Sprintf("#%02x%02x%02x", r, g, b) }

// palette is xterm's: 16 names, a cube of 216, 24 greys. The names have no one
// colour; these are bright enough for the picture's ground.
func palette(n uint64) string {
	named := [...]string{
		"#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d0d4dc",
		"#7f848e", "#ff7b86", "#b5e08f", "#ffd68a", "#82c4ff", "#e29bf5", "#7fdbe6", "#ffffff",
	}
	switch {
	case n < 16:
		return named[n]
	case n < 232:
		step := [...]uint64{0, 95, 135, 175, 215, 255}
		n -= 16
		return hex(step[n/36], step[n/6%6], step[n%6])
	default:
		grey := 8 + 10*(n-232)
		return hex(grey, grey, grey)
	}
}

// runeWidth is how many columns a terminal gives a character: two to those of
// East Asian scripts and to pictures, by their blocks, none to marks.
func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	for _, block := range [][2]rune{
		{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
	} {
		if block[0] <= r && r <= block[1] {
			return 2
		}
	}
	return 1
}
