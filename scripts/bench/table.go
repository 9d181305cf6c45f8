package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table is the run as Markdown: a row for each poster, what the rows of programs
// that do nothing say about the others, and the large events.
func (r *result) table() string {
	var b strings.Builder
	b.WriteString("| post by | p50 | p99 | CPU | peak memory | size | × Go | × C |\n|---|---|---|---|---|---|---|---|\n")
	for _, f := range r.rows {
		if f.idle {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", f.name,
			ms(f.p(50)), ms(f.p(99)), ms(percentile(f.cpu, 50)), mib(f.peak), mib(f.size), r.ratio(f, minimalGo), r.ratio(f, minimalC))
	}
	fmt.Fprintf(&b, "\n%d starts each, on %s", r.starts, r.machine)
	for _, v := range r.versions {
		b.WriteString(", " + v)
	}
	fmt.Fprintf(&b, ". × Go and × C are the p50 over that of the minimal Go and C program; CPU is the p50 of user and system time. "+
		"The session's row, for which `ccpost hook` and `ccpost send` wait, came after %d ms.", rowDelay.Milliseconds())
	for _, f := range r.rows {
		if f.idle {
			fmt.Fprintf(&b, " A %s took %s, the harness's own share among it.", f.name, ms(f.p(50)))
		}
	}
	if len(r.skipped) > 0 {
		fmt.Fprintf(&b, " Not there, and left out: %s.", strings.Join(r.skipped, ", "))
	}
	b.WriteString("\n\n| a hook's event | p50 | peak memory |\n|---|---|---|\n")
	for _, e := range r.large {
		fmt.Fprintf(&b, "| %d MiB | %s | %s |\n", e.size>>20, ms(e.wall), mib(e.peak))
	}
	return b.String()
}

func (f *figures) p(n int) time.Duration { return percentile(f.wall, n) }

// ratio is the p50 of f over that of another poster.
func (r *result) ratio(f figures, other string) string {
	i := slices.IndexFunc(r.rows, func(f figures) bool { return f.name == other })
	if i < 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", float64(f.p(50))/float64(r.rows[i].p(50)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", milliseconds(d)) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mib(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
}
