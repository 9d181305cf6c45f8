package hook_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ccpost/hook"
)

// sized is a file that holds an event of this size, in bytes, as a Write event
// bears the file's whole content.
func sized(tb testing.TB, size int) *os.File {
	tb.Helper()
	const before, after = `{"hook_event_name":"PostToolUse","tool_input":{"file_path":"/a","content":"`, `"},"session_id":"s"}`
	const line = `a line of text, \"quoted\"\n`
	room := size - len(before) - len(after)
	text := strings.Repeat(line, room/len(line)) + strings.Repeat("x", room%len(line))
	name := filepath.Join(tb.TempDir(), "event")
	if err := os.WriteFile(name, []byte(before+text+after), 0o600); err != nil {
		tb.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	return f
}

func readAndParse(tb testing.TB, in *os.File) {
	tb.Helper()
	if _, err := in.Seek(0, 0); err != nil {
		tb.Fatal(err)
	}
	raw, err := hook.Read(context.Background(), in)
	if err != nil {
		tb.Fatal(err)
	}
	if e, err := hook.Parse(raw); err != nil || e.SessionID != "s" {
		tb.Fatalf("%+v %v", e.SessionID, err)
	}
}

// BenchmarkEvent reads and parses an event. It is linear where the bytes in a
// second are the same at every size.
func BenchmarkEvent(b *testing.B) {
	for mib := 1; mib <= 32; mib *= 2 {
		b.Run(fmt.Sprint("MiB=", mib), func(b *testing.B) {
			in := sized(b, mib<<20)
			b.SetBytes(int64(mib) << 20)
			b.ReportAllocs()
			for b.Loop() {
				readAndParse(b, in)
			}
		})
	}
}

// The largest event takes less than 100 MiB in all, the buffers that it outgrew
// among it.
func TestLargestEventMemory(t *testing.T) {
	in := sized(t, hook.MaxBytes)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readAndParse(t, in)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
		t.Errorf("%d bytes for an event of %d", n, hook.MaxBytes)
	}
}
