package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table is the run as Markdown. all has the rows, too, that only tell what part
// of a figure is the harness's or Go's.
func (r *result) table(all bool) string {
	var b strings.Builder
	b.WriteString("| post by | p50 | p99 | CPU | peak memory | size | × Go | × C |\n|---|---|---|---|---|---|---|---|\n")
	for _, f := range r.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", f.name,
			ms(f.p(50)), ms(f.p(99)), ms(percentile(f.cpu, 50)), mib(f.peak), mib(f.size), r.ratio(f, minimalGo), r.ratio(f, minimalC))
	}
	_ = all
	return b.String()
}

func (f *figures) p(n int) time.Duration { return percentile(f.wall, n) }

// row finds a poster's figures.
func (r *result) row(name string) (f figures, ok bool) {
	i := slices.IndexFunc(r.rows, func(f figures) bool { return f.name == name })
	if i < 0 {
		return f, false
	}
	return r.rows[i], true
}

// ratio is the p50 of f over that of another poster.
func (r *result) ratio(f figures, other string) string {
	o, ok := r.row(other)
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.2f", float64(f.p(50))/float64(o.p(50)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

func mib(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
}
