package main

import (
	"strings"
	"unicode"
)

// columns aligns a table for a terminal. The last column may have any length.
func columns(table [][]string) []string {
	var widths []int
	for _, row := range table {
		for i, cell := range row {
			row[i] = printable(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], textWidth(row[i]))
		}
	}
	var lines []string
	for _, row := range table {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-textWidth(cell)+2))
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// cut shortens text to so many columns, with a sign that it did.
func cut(s string, columns int) string {
	if textWidth(s) <= columns {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// wide are the ranges that terminals give two columns: East Asian wide and
// full-width characters, and pictures (Unicode 16, EastAsianWidth.txt, without
// the gaps inside them). A library's full table would be 0.17 MB of binary.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x2614, 0x2615}, {0x2648, 0x2653},
	{0x26a1, 0x26a1}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26d4, 0x26d4}, {0x26f2, 0x26f5}, {0x2705, 0x2705},
	{0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274e}, {0x2753, 0x2757}, {0x2795, 0x2797}, {0x2b1b, 0x2b1c},
	{0x2b50, 0x2b55}, {0x2e80, 0x303e}, {0x3041, 0x4dbf}, {0x4e00, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3},
	{0xf900, 0xfaff}, {0xfe10, 0xfe19}, {0xfe30, 0xfe6f}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x18cff},
	{0x1aff0, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f320}, {0x1f32d, 0x1f64f},
	{0x1f680, 0x1f6fc}, {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1faff}, {0x20000, 0x3fffd},
}

// runeWidth is how many columns a terminal gives a character: two for wide
// ones, none for marks that stand on the one before.
func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	for _, w := range wide {
		if w[0] <= r && r <= w[1] {
			return 2
		}
	}
	return 1
}
