package envtoken

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// BenchmarkRecords lists a registry in which one session of ten lives.
// Limit: 25 µs a record.
func BenchmarkRecords(b *testing.B) {
	pids := make([]int, 100)
	for i := range pids {
		pids[i] = process(b)
	}
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			w := newWorld(b)
			for i := range n {
				pid := 10_000_000 + i // more than any system has
				if i%10 == 0 {
					pid = pids[i/10]
				}
				w.put(w.file(pid), w.record(pid, nil), 0o644)
			}
			f := w.finder()
			for b.Loop() {
				if records, errs := f.Records(context.Background()); len(records) != n || len(errs) > 0 {
					b.Fatal(len(records), errs)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)/1000, "µs/record")
		})
	}
}

// BenchmarkRecordsLive is the same where all of them live.
func BenchmarkRecordsLive(b *testing.B) {
	w := newWorld(b)
	const n = 100
	for range n {
		pid := process(b)
		w.put(w.file(pid), w.record(pid, nil), 0o644)
	}
	f := w.finder()
	for b.Loop() {
		if records, _ := f.Records(context.Background()); len(records) != n || records[0].Err != nil {
			b.Fatal(records)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/1000, "µs/record")
}

// BenchmarkBroken is what one record costs that never makes sense.
func BenchmarkBroken(b *testing.B) {
	for name, age := range map[string]time.Duration{"fresh": 0, "old": time.Hour} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			pid := process(b)
			w.put(w.file(pid), "{", 0o644)
			f := w.finder()
			for b.Loop() {
				at := time.Now().Add(-age)
				w.check(os.Chtimes(w.file(pid), at, at))
				if records, _ := f.Records(context.Background()); records[0].Err == nil {
					b.Fatal("it makes sense")
				}
			}
		})
	}
}
