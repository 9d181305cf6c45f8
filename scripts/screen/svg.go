package screen

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"strings"
)

// The measures of the picture, in its own units: a column is 0.6 of the font's
// size, as in most monospaced fonts.
const (
	fontSize   = 14.0
	cellWidth  = 8.4
	cellHeight = 17.0 // a terminal's: block elements join
	baseline   = 13.0 // from the top of a cell
	padding    = 14.0
	gap        = 10.0 // between panels

	ground = "#16181d"
	ink    = "#d0d4dc"
)

// SVG draws panels of lines, one below the other and as wide as the widest.
// title is what is read to who doesn't see it.
func SVG(title string, panels ...[]Line) string {
	columns := 0
	for _, p := range panels {
		for _, l := range p {
			if n := len(l); n > 0 {
				columns = max(columns, l[n-1].Column+l[n-1].Columns)
			}
		}
	}
	width := math.Ceil(float64(columns)*cellWidth + 2*padding)

	var b strings.Builder
	top := 0.0
	for _, p := range panels {
		height := float64(len(p))*cellHeight + 2*padding
		fmt.Fprintf(&b, `<rect y="%g" width="%g" height="%g" rx="8" fill="%s"/>`+"\n", top, width, height, ground)
		for i, l := range p {
			l.draw(&b, top+padding+float64(i)*cellHeight)
		}
		top += height + gap
	}
	height := max(0, top-gap)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="img" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%g" fill="%s">
<title>%s</title>
<style>text { white-space: pre; font-variant-emoji: text }</style>
%s</svg>
`, width, height, fontSize, ink, html.EscapeString(title), b.String())
}

func (l Line) draw(b *strings.Builder, top float64) {
	for _, r := range l {
		foreground, background := r.Style.Foreground, r.Style.Background
		if r.Style.Reverse {
			foreground, background = cmp.Or(background, ground), cmp.Or(foreground, ink)
		}
		if background != "" {
			fmt.Fprintf(b, `<rect x="%.1f" y="%g" width="%.1f" height="%g" fill="%s"/>`+"\n",
				x(r.Column), top, float64(r.Columns)*cellWidth, cellHeight, background)
		}
		// Blanks at the beginning are columns, and those at the end nothing.
		text := strings.TrimLeft(r.Text, " ")
		blank := len(r.Text) - len(text)
		trimmed := strings.TrimRight(text, " ")
		columns := r.Columns - blank - (len(text) - len(trimmed))
		if trimmed == "" {
			continue
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%g" textLength="%.1f" lengthAdjust="spacingAndGlyphs"`,
			x(r.Column+blank), top+baseline, float64(columns)*cellWidth)
		attribute(b, "fill", foreground)
		attribute(b, "font-weight", when(r.Style.Bold, "bold"))
		attribute(b, "font-style", when(r.Style.Italic, "italic"))
		attribute(b, "fill-opacity", when(r.Style.Dim, "0.6"))
		attribute(b, "text-decoration", strings.TrimSpace(
			when(r.Style.Underline, "underline ")+when(r.Style.Strike, "line-through")))
		fmt.Fprintf(b, ">%s</text>\n", html.EscapeString(trimmed))
	}
}

func attribute(b *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(b, ` %s="%s"`, name, value)
	}
}

func when(set bool, value string) string {
	if set {
		return value
	}
	return ""
}

// x is where a column begins.
func x(column int) float64 { return padding + float64(column)*cellWidth }
