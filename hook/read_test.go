package hook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"ccpost/hook"

	"golang.org/x/sys/unix"
)

// long is a budget that no passing test comes near to.
const long = 2 * time.Minute

type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }

func budget(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// ways are the descriptors that standard input may be, each as its two ends.
var ways = []struct {
	name string
	open func() (r, w *os.File, err error)
}{
	{"non-blocking pipe", os.Pipe},
	{"blocking pipe", func() (*os.File, *os.File, error) {
		var p [2]int
		if err := unix.Pipe(p[:]); err != nil {
			return nil, nil, err
		}
		return os.NewFile(uintptr(p[0]), "r"), os.NewFile(uintptr(p[1]), "w"), nil
	}},
	{"socket", func() (*os.File, *os.File, error) {
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return nil, nil, err
		}
		return os.NewFile(uintptr(p[0]), "r"), os.NewFile(uintptr(p[1]), "w"), nil
	}},
}

// onEach runs a test over every way; write runs beside it and its error, which
// shows an EPIPE, is the test's after the reading end was closed.
func onEach(t *testing.T, write func(w *os.File) error, read func(t *testing.T, r *os.File)) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r, w, err := way.open()
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- write(w) }()
			read(t, r)
			r.Close()
			if err := <-done; err != nil {
				t.Errorf("the writer: %v", err)
			}
			w.Close()
		})
	}
}

// writes sends all of it and closes.
func writes(chunks ...string) func(w *os.File) error {
	return func(w *os.File) error {
		for _, s := range chunks {
			if _, err := io.WriteString(w, s); err != nil {
				return err
			}
		}
		return w.Close()
	}
}

func wantValue(t *testing.T, ctx context.Context, r io.Reader, want string) {
	t.Helper()
	got, err := hook.Read(ctx, r)
	if err != nil || string(got) != want {
		t.Fatalf("%d bytes %.80q, %v; want %d bytes %.80q", len(got), got, err, len(want), want)
	}
}

func wantReason(t *testing.T, ctx context.Context, r io.Reader, want hook.Reason, says string) error {
	t.Helper()
	got, err := hook.Read(ctx, r)
	if reason(err) != want || got != nil {
		t.Fatalf("%d bytes, %v; want %s", len(got), err, want)
	}
	if err.Error() != says {
		t.Errorf("says %q, want %q", err, says)
	}
	return err
}

func TestReadWhole(t *testing.T) {
	tests := []struct {
		name, in, want string
		reason         hook.Reason
	}{
		{"object", `{"a":[1,"}"]}`, `{"a":[1,"}"]}`, ""},
		{"newline after", "{}\n", "{}", ""},
		{"mark and white space", "\uFEFF \t\r\n{}", "{}", ""},
		{"two values", `{"a":1}{"b":2}`, `{"a":1}`, ""},
		{"escapes", `{"a":"\\\"{"} `, `{"a":"\\\"{"}`, ""},
		{"array", `[[1],2] x`, `[[1],2]`, ""},
		{"string", `"{" x`, `"{"`, ""},
		{"number", `12`, `12`, ""},
		{"words", `true story`, `true`, ""},
		{"no value", `?{}`, `?`, ""},
		{"broken UTF-8", "{\"a\":\"\xff\"}", "{\"a\":\"\xff\"}", ""},
		{"deep enough", nested(hook.MaxDepth), nested(hook.MaxDepth), ""},
		{"empty", "", "", hook.NoInput},
		{"white space", " \n ", "", hook.NoInput},
		{"cut short", `{"a":"}`, "", hook.NotJSON},
		{"too deep", nested(hook.MaxDepth + 1), "", hook.TooDeep},
	}
	for _, tt := range tests {
		check := func(t *testing.T, r io.Reader) {
			got, err := hook.Read(budget(t, long), r)
			if string(got) != tt.want || (tt.reason == "") != (err == nil) || err != nil && reason(err) != tt.reason {
				t.Errorf("%q, %v; want %q, %s", got, err, tt.want, tt.reason)
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			onEach(t, writes(tt.in), func(t *testing.T, r *os.File) {
				check(t, r)
				hook.Drain(budget(t, long), r, hook.AfterValue)
			})
			onEach(t, writes(strings.Split(tt.in, "")...), func(t *testing.T, r *os.File) {
				check(t, r)
				hook.Drain(budget(t, long), r, hook.AfterValue)
			})
			check(t, strings.NewReader(tt.in))
			check(t, iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(tt.in))))
		})
	}
}

// A writer that never closes costs nothing once its value is complete, and
// Drain gives up on it.
func TestReadOpenEnd(t *testing.T) {
	release := make(chan struct{})
	write := func(w *os.File) error {
		_, err := io.WriteString(w, `{"a":1}`+"\n")
		<-release
		return err
	}
	defer close(release)
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r, w, err := way.open()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			go write(w)
			ctx := budget(t, long)
			wantValue(t, ctx, r, `{"a":1}`)
			hook.Drain(ctx, r, hook.AfterValue)
			if ctx.Err() != nil {
				t.Error("Drain waited for the deadline")
			}
		})
	}
}

func TestReadSilence(t *testing.T) {
	tests := []struct {
		name, in string
		want     hook.Reason
		says     string
	}{
		{"nothing", "", hook.NoInput, "nothing on standard input: silent until the deadline"},
		{"white space", "\n", hook.NoInput, "nothing on standard input: silent until the deadline"},
		{"half", `{"a":`, hook.NotJSON, "the event is not JSON: still incomplete at the deadline"},
	}
	for _, tt := range tests {
		for _, way := range ways {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				r, w, err := way.open()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				defer w.Close()
				if _, err := io.WriteString(w, tt.in); err != nil {
					t.Fatal(err)
				}
				err = wantReason(t, budget(t, 60*time.Millisecond), r, tt.want, tt.says)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v is no deadline", err)
				}
			})
		}
	}
	t.Run("a number is complete", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		w.WriteString("12")
		wantValue(t, budget(t, 60*time.Millisecond), r, "12")
	})
}

func TestReadCancelled(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	err = wantReason(t, ctx, r, hook.NoInput, "nothing on standard input: interrupted")
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	hook.Drain(ctx, r, hook.AfterValue)
}

// The descriptor may be shared with the processes around us.
func TestReadKeepsMode(t *testing.T) {
	for _, way := range ways[:2] {
		r, w, err := way.open()
		if err != nil {
			t.Fatal(err)
		}
		mode := func() (flags int) {
			c, err := r.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			c.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
			if err != nil {
				t.Fatal(err)
			}
			return flags & unix.O_NONBLOCK
		}
		before := mode()
		w.WriteString("{}")
		wantValue(t, budget(t, long), r, "{}")
		if after := mode(); after != before || (before != 0) != (way.name == "non-blocking pipe") {
			t.Errorf("%s: O_NONBLOCK %#x became %#x", way.name, before, after)
		}
		r.Close()
		w.Close()
	}
}

func TestReadLarge(t *testing.T) {
	doc := func(size int) string { return `{"a":"` + strings.Repeat("x", size-8) + `"}` }
	t.Run("20 MB", func(t *testing.T) {
		in := doc(20_000_000)
		onEach(t, writes(in, "\n"), func(t *testing.T, r *os.File) {
			wantValue(t, budget(t, long), r, in)
			hook.Drain(budget(t, long), r, hook.AfterValue)
		})
	})
	t.Run("as large as allowed", func(t *testing.T) {
		in := doc(hook.MaxBytes)
		wantValue(t, t.Context(), strings.NewReader(in), in)
	})
	t.Run("a byte more", func(t *testing.T) {
		wantReason(t, t.Context(), strings.NewReader(doc(hook.MaxBytes+1)), hook.TooLarge,
			"the event is too large: 33554433 bytes, at most 33554432 are taken")
	})
	t.Run("33 MiB", func(t *testing.T) {
		onEach(t, writes(doc(33<<20)), func(t *testing.T, r *os.File) {
			wantReason(t, budget(t, long), r, hook.TooLarge, "the event is too large: 34603008 bytes, at most 33554432 are taken")
		})
	})
	// Each byte is looked at once: if not, this is 10^12 looks.
	t.Run("2 MB, byte by byte", func(t *testing.T) {
		in := doc(2_000_000)
		wantValue(t, t.Context(), oneByte{strings.NewReader(in)}, in)
	})
	t.Run("white space", func(t *testing.T) {
		wantReason(t, t.Context(), strings.NewReader(strings.Repeat(" ", 33<<20)), hook.TooLarge,
			"the event is too large: 34603008 bytes, at most 33554432 are taken")
	})
	t.Run("never ends", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		defer r.Close()
		go w.WriteString(doc(33 << 20)[:33<<20-2]) // held open
		wantReason(t, budget(t, long), r, hook.TooLarge, "the event is too large: 34603006 bytes or more, at most 33554432 are taken")
	})
	t.Run("20 MB after the value", func(t *testing.T) {
		onEach(t, writes("{}", strings.Repeat("x", 20_000_000)), func(t *testing.T, r *os.File) {
			wantValue(t, budget(t, long), r, "{}")
			hook.Drain(budget(t, long), r, hook.AfterValue)
		})
	})
}

func TestReadOtherInputs(t *testing.T) {
	t.Run("dev null", func(t *testing.T) {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wantReason(t, budget(t, long), f, hook.NoInput, "nothing on standard input")
	})
	t.Run("regular file", func(t *testing.T) {
		f, err := os.Open(captured + "Stop.json")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wantValue(t, budget(t, long), f, strings.TrimSpace(captures(t)["Stop.json"]))
		hook.Drain(budget(t, long), f, hook.AfterValue)
	})
	t.Run("directory", func(t *testing.T) {
		f, err := os.Open(".")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wantReason(t, budget(t, long), f, hook.NoInput, "nothing on standard input: is a directory")
	})
	t.Run("closed file", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		r.Close()
		wantReason(t, budget(t, long), r, hook.NoInput, "nothing on standard input: use of closed file")
		hook.Drain(t.Context(), r, hook.AfterValue)
	})
	t.Run("write-only file", func(t *testing.T) {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		err = wantReason(t, budget(t, long), f, hook.NoInput, "nothing on standard input: bad file descriptor")
		if !errors.Is(err, syscall.EBADF) {
			t.Error(err)
		}
	})
	t.Run("connection", func(t *testing.T) {
		dir, err := os.MkdirTemp("/tmp", "cc")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		io.WriteString(c, "{}")
		wantValue(t, budget(t, long), s, "{}")
		c.Close()
		wantReason(t, budget(t, long), s, hook.NoInput, "nothing on standard input")
	})
	t.Run("none", func(t *testing.T) {
		wantReason(t, t.Context(), nil, hook.NoInput, "nothing on standard input: there is none")
		wantReason(t, t.Context(), (*os.File)(nil), hook.NoInput, "nothing on standard input: invalid argument")
		hook.Drain(t.Context(), nil, hook.AfterValue)
	})
	t.Run("failing reader", func(t *testing.T) {
		r := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("disk on fire")))
		wantReason(t, t.Context(), r, hook.NotJSON, "the event is not JSON: disk on fire")
		r = io.MultiReader(strings.NewReader("12"), iotest.ErrReader(errors.New("disk on fire")))
		wantReason(t, t.Context(), r, hook.NotJSON, "the event is not JSON: disk on fire")
	})
	t.Run("context done before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantReason(t, ctx, strings.NewReader("{}"), hook.NoInput, "nothing on standard input: interrupted")
	})
}

// TestBrackets feeds 32 MiB of nothing but opening brackets, through a pipe and
// straight to Parse, to a process of its own: a stack overflow kills it.
func TestBrackets(t *testing.T) {
	for _, how := range []string{"read", "parse"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "HOOK_TEST_CHILD="+how)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if how == "read" {
				if _, err := io.WriteString(in, strings.Repeat("[", 32<<20)); err != nil {
					t.Errorf("the writer: %v", err)
				}
			}
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%.500s", err, errs.String())
			}
			if got := out.String(); got != "too_deep" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestMain(m *testing.M) {
	switch os.Getenv("HOOK_TEST_CHILD") {
	case "read":
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := hook.Read(context.Background(), os.Stdin)
		runtime.ReadMemStats(&after)
		fmt.Print(reason(err))
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			fmt.Printf(", but it took %d bytes", n)
		}
	case "parse":
		_, err := hook.Parse(bytes.Repeat([]byte("["), hook.MaxBytes))
		fmt.Print(reason(err))
	default:
		os.Exit(m.Run())
	}
}
