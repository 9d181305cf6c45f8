package main

import (
	"strings"
	"unicode"
)

// gap is how many columns stand between two of a table's.
const gap = 2

// columns aligns a table for a terminal. The last column may have any length.
func columns(table [][]string) []string {
	widths := columnWidths(table)
	var lines []string
	for _, row := range table {
		var b strings.Builder
		for i, cell := range row {
			cell = inCell(cell)
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-textWidth(cell)+gap))
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// columnWidths gives the width of each column of a table.
func columnWidths(table [][]string) []int {
	var widths []int
	for _, row := range table {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], textWidth(inCell(cell)))
		}
	}
	return widths
}

// inCell gives text that stays in its cell.
func inCell(text string) string { return strings.ReplaceAll(printable(text), "\t", "\uFFFD") }

// cut shortens text to so many columns, with a sign that it did.
func cut(s string, columns int) string {
	if textWidth(s) <= columns {
		return s
	}
	var m meter
	for i, r := range s {
		if m.add(r) > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

func textWidth(s string) int {
	var m meter
	for _, r := range s {
		m.add(r)
	}
	return m.columns
}

const (
	zeroWidthJoiner = 0x200d
	pictureSelector = 0xfe0f // asks for the coloured picture of the character before
)

// meter counts columns as terminals do that draw a cluster of characters as one
// (Unicode 16, UAX 29 and UTS 51).
type meter struct {
	columns int
	last    rune // the last character that has columns of its own
	joined  bool
}

// add gives the columns up to and with a character.
func (m *meter) add(r rune) int {
	w := runeWidth(r)
	switch {
	case r == pictureSelector && m.last >= 0x2000 && runeWidth(m.last) == 1:
		w = 1 // the second of a picture
	case m.joined && r >= 0x2000, 0x1f3fb <= r && r <= 0x1f3ff && runeWidth(m.last) == 2:
		w = 0 // part of the picture before, such as its skin tone
	}
	if m.joined = r == zeroWidthJoiner; w > 0 {
		m.last = r
	}
	m.columns += w
	return m.columns
}

// wide are the ranges that terminals give two columns: East Asian wide and
// full-width characters, and pictures (Unicode 16, EastAsianWidth.txt). A
// library's full table would be 0.17 MB of binary.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x23f0, 0x23f0}, {0x23f3, 0x23f3},
	{0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2630, 0x2637}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x268a, 0x268f},
	{0x2693, 0x2693}, {0x26a1, 0x26a1}, {0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce},
	{0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f3}, {0x26f5, 0x26f5}, {0x26fa, 0x26fa}, {0x26fd, 0x26fd},
	{0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755},
	{0x2757, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27b0}, {0x27bf, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50},
	{0x2b55, 0x2b55}, {0x2e80, 0x303e}, {0x3041, 0x4dbf}, {0x4e00, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3},
	{0xf900, 0xfaff}, {0xfe10, 0xfe19}, {0xfe30, 0xfe6f}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x18cff},
	{0x1aff0, 0x1b2ff}, {0x1d300, 0x1d356}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e},
	{0x1f191, 0x1f19a}, {0x1f200, 0x1f265}, {0x1f300, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c},
	{0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4},
	{0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e},
	{0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f},
	{0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6d7}, {0x1f6dc, 0x1f6df},
	{0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb}, {0x1f7f0, 0x1f7f0}, {0x1f90c, 0x1f93a},
	{0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
}

// runeWidth is how many columns a terminal gives a character: two for wide
// ones, none for marks that stand on the one before.
func runeWidth(r rune) int {
	const softHyphen = 0xad // terminals show it
	switch {
	case r == softHyphen:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf),
		0x1160 <= r && r <= 0x11ff, 0xd7b0 <= r && r <= 0xd7fb: // vowels and finals of a Hangul syllable
		return 0
	}
	for _, w := range wide {
		if w[0] <= r && r <= w[1] {
			return 2
		}
	}
	return 1
}
