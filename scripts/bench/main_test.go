package main

import (
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain is also the stand-in session, as main is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == standinArg {
		exit(standin(os.Args[2]))
	}
	os.Exit(m.Run())
}

// Every poster posts: the run itself counts what the sessions took.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts every poster")
	}
	t.Chdir("../..")
	b := bench{starts: 1, budget: patience}
	r, err := b.run()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.rows {
		if len(f.wall) != 1 || f.p(50) <= 0 || strings.HasPrefix(f.name, "minimal") && f.size == 0 {
			t.Errorf("%+v", f)
		}
	}
	if len(r.large) != 6 || r.large[5].size != 32<<20 {
		t.Errorf("large events: %+v", r.large)
	}
	if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", b.dir, err)
	}
}

// A poster that fails ends the run, and says what it said.
func TestFailing(t *testing.T) {
	b := bench{dir: t.TempDir()}
	run, err := b.runner(b.dir, poster{name: "failing", argv: []string{"/bin/sh", "-c", "echo no good >&2; exit 7"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := run.start(); err == nil || !strings.Contains(err.Error(), "7\nno good") {
		t.Errorf("%v", err)
	}
}

func sample() *result {
	row := func(name string, ms ...int) figures {
		f := figures{name: name, idle: name == idleC, peak: 3 << 20, size: 1 << 20}
		for _, n := range ms {
			f.wall = append(f.wall, time.Duration(n)*time.Millisecond)
		}
		f.cpu = f.wall
		return f
	}
	return &result{
		starts: 3, machine: "here", skipped: []string{"socat"}, versions: []string{"Node 1"},
		rows:  []figures{row(hookNoWait, 4, 5, 9), row(minimalGo, 3, 4, 5), row(idleC, 1, 1, 1)},
		large: []largeEvent{{32 << 20, 200 * time.Millisecond, 60 << 20}},
	}
}

func TestTable(t *testing.T) {
	got := sample().table()
	for _, want := range []string{
		"| `ccpost hook --wait 0` | 5.00 ms | 9.00 ms | 5.00 ms | 3.00 MiB | 1.00 MiB | 1.25 | – |\n",
		"3 starts each, on here, Node 1.", "left out: socat.", "does nothing took 1.00 ms", "| 32 MiB | 200.00 ms | 60.00 MiB |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "| "+idleC) {
		t.Errorf("a row for a program that posts nothing:\n%s", got)
	}
}

func TestPlot(t *testing.T) {
	got := sample().plot()
	circles := 0
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 2 {
		t.Errorf("%d dots, want one for each poster that posts:\n%s", circles, got)
	}
	if !strings.Contains(got, "prefers-color-scheme: dark") || strings.Contains(got, "NaN") || strings.Contains(got, "%!") {
		t.Errorf("not to be read:\n%s", got)
	}
}
