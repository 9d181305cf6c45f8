package main

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// plot draws the p50 of every poster as a dot and the way to its p99 as a line,
// on a logarithmic axis, readable on a light and on a dark page.
func (r *result) plot() string {
	const left, right, top, rowHeight = 210, 690, 46, 24
	var rows []figures
	lo, hi := math.Inf(1), 0.0
	for _, f := range r.rows {
		if !f.idle {
			rows = append(rows, f)
			lo, hi = min(lo, milliseconds(f.p(50))), max(hi, milliseconds(f.p(99)))
		}
	}
	// Whole decades and their halves and fifths.
	var ticks []float64
	for decade := math.Pow(10, math.Floor(math.Log10(lo))); decade <= hi; decade *= 10 {
		ticks = append(ticks, decade, 2*decade, 5*decade)
	}
	for len(ticks) > 1 && ticks[1] <= lo {
		ticks = ticks[1:]
	}
	for len(ticks) > 2 && ticks[len(ticks)-2] >= hi {
		ticks = ticks[:len(ticks)-1]
	}
	first, last := math.Log(ticks[0]), math.Log(max(ticks[len(ticks)-1], hi))
	x := func(ms float64) float64 { return left + (right-left)*(math.Log(ms)-first)/(last-first) }
	at := func(d time.Duration) float64 { return x(milliseconds(d)) }

	bottom := top + rowHeight*len(rows)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 %d" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>Wall time of one post, p50 and p99, in milliseconds</title>
<style>
text { fill: #1f2328 } .axis { stroke: #d1d9e0 } .small { font-size: 11px; fill: #59636e }
.own { stroke: #0969da; fill: #0969da } .other { stroke: #59636e; fill: #59636e } line { stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .axis { stroke: #3d444d } .small { fill: #9198a1 }
.own { stroke: #4493f8; fill: #4493f8 } .other { stroke: #9198a1; fill: #9198a1 }
}
</style>
<text x="10" y="20">One post as a process of its own: p50, and the way to p99</text>
`, bottom+32)
	for _, t := range ticks {
		fmt.Fprintf(&b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`, x(t), x(t), top-10, bottom-4)
		fmt.Fprintf(&b, `<text class="small" x="%.1f" y="%d" text-anchor="middle">%g ms</text>`+"\n", x(t), bottom+14, t)
	}
	for i, f := range rows {
		y := top + rowHeight*i
		class := "other"
		if strings.HasPrefix(f.name, "`ccpost ") {
			class = "own"
		}
		p50, p99 := at(f.p(50)), at(f.p(99))
		fmt.Fprintf(&b, `<text x="10" y="%d">%s</text>`, y+4, html.EscapeString(strings.ReplaceAll(f.name, "`", "")))
		fmt.Fprintf(&b, `<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`, class, p50, p99, y, y)
		fmt.Fprintf(&b, `<circle class="%s" cx="%.1f" cy="%d" r="4"/>`, class, p50, y)
		fmt.Fprintf(&b, `<text class="small" x="%.1f" y="%d">%.1f</text>`+"\n", p99+8, y+4, milliseconds(f.p(50)))
	}
	return b.String() + "</svg>\n"
}
