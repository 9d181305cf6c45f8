package hook

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCommandHead(t *testing.T) {
	t.Parallel()
	words := func(w ...string) []string { return w }
	for _, c := range []struct {
		command Command
		want    string
	}{
		{Command{Args: words("make", "test"), Took: 3200 * time.Millisecond}, "make test: ok after 3.2s"},
		{Command{Args: words("make"), Code: 2, Took: 192 * time.Second}, "make: exit code 2 after 3m12s"},
		{Command{Args: words("x"), Signal: syscall.SIGTERM, Took: time.Hour}, "x: killed by SIGTERM after 1h0m"},
		{Command{Args: words("x"), Signal: 63}, "x: killed by signal 63 after 1ms"},
		{Command{Args: words("./x"), Err: errors.New("permission denied")}, "./x: could not start: permission denied"},
		{Command{Args: words("a b", "", "it's", "-x=1", "$HOME", "é")}, `'a b' '' 'it'\''s' -x=1 '$HOME' é: ok after 1ms`},
		{Command{Args: words("a\nb", "c\x1b[31m", "\xff")}, "'a b' 'c [31m' '\uFFFD': ok after 1ms"},
		{Command{Args: words("")}, "'': ok after 1ms"},
		{Command{Args: words("x"), Label: "nightly\nbuild"}, "nightly build: ok after 1ms"},
		{Command{Args: words("x"), Label: " \x00"}, "x: ok after 1ms"},
		{Command{Args: words(strings.Repeat("x", 200))}, strings.Repeat("x", 200) + ": ok after 1ms"},
		{Command{Args: words(strings.Repeat("é", 201))}, strings.Repeat("é", 199) + "…: ok after 1ms"},
		{Command{Label: strings.Repeat("日", 1000)}, strings.Repeat("日", 199) + "…: ok after 1ms"},
		{Command{Args: words("x"), Err: errors.New(strings.Repeat("y", 300))}, "x: could not start: " + strings.Repeat("y", 199) + "…"},
	} {
		if got := c.command.Text(4096); got != c.want {
			t.Errorf("%+v:\n%q, want\n%q", c.command, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "1ms", 999 * time.Microsecond: "1ms", 999900 * time.Microsecond: "999ms", time.Second: "1.0s",
		9990 * time.Millisecond: "9.9s", 10 * time.Second: "10s", 59900 * time.Millisecond: "59s", time.Minute: "1m0s",
		59*time.Minute + 59*time.Second: "59m59s", 25 * time.Hour: "1d1h", 23*time.Hour + 59*time.Minute: "23h59m",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestCommandOutput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		output *Output
		want   string // behind the first line
	}{
		{nil, ""},
		{&Output{}, "\nno output"},
		{&Output{Lines: []string{"one"}, Total: 1}, "\noutput of the command:\n```\none\n```"},
		{&Output{Lines: []string{""}, Total: 1}, "\noutput of the command:\n```\n\n```"},
		{&Output{Lines: []string{"a", "b"}, Total: 1234}, "\noutput of the command, the last 2 of 1234 lines:\n```\na\nb\n```"},
		{&Output{Lines: []string{"b"}, Total: 2}, "\noutput of the command, the last of 2 lines:\n```\nb\n```"},
		{&Output{Lines: []string{"b"}, Total: 1, Cut: 7}, "\noutput of the command [… 7 bytes cut]:\n```\nb\n```"},
		{&Output{Lines: []string{"```", "x"}, Total: 2}, "\noutput of the command:\n````\n```\nx\n````"},
		{&Output{Lines: []string{"a ````` b ```"}, Total: 1}, "\noutput of the command:\n``````\na ````` b ```\n``````"},
	} {
		const head = "x: ok after 1ms"
		if got := (Command{Args: []string{"x"}, Output: c.output}).Text(4096); got != head+c.want {
			t.Errorf("%+v:\n%q, want\n%q", c.output, got, head+c.want)
		}
	}
}

// Whatever is in the output and however little room there is: the text is within
// its limit, is UTF-8, says what was cut, and its fence is closed by nothing else.
func TestCommandLimit(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"plain":     {strings.Repeat("x", 5000), "end"},
		"runes":     {strings.Repeat("日本", 3000)},
		"broken":    {strings.Repeat("\xff\xe6x", 3000)},
		"backticks": {strings.Repeat("`", 5000), "end"},
		"fences":    strings.Split(strings.Repeat(strings.Repeat("`", 40)+"\n", 200), "\n"),
		"breaks":    {strings.Repeat("\u2028```\u2028", 2000)},
	} {
		for limit := 200; limit < 8000; limit += 1 + limit/40 {
			got := Command{Args: []string{strings.Repeat("é", limit%300+1)}, Output: &Output{Lines: lines, Total: 7000}}.Text(limit)
			if len(got) > limit || !utf8.ValidString(got) {
				t.Fatalf("%s, limit %d: %d bytes, valid %v", name, limit, len(got), utf8.ValidString(got))
			}
			head, block, shown := strings.Cut(got, "\n")
			if !shown {
				if limit > 900 {
					t.Errorf("%s, limit %d: no output in %q", name, limit, head)
				}
				continue
			}
			if strings.HasPrefix(block, "[…") {
				continue // the first line itself was cut
			}
			if !strings.Contains(block, " bytes cut]:\n") && len(strings.Join(lines, "\n")) > limit {
				t.Errorf("%s, limit %d: no notice in %.100q", name, limit, block)
			}
			_, fenced, _ := strings.Cut(block, "\n")
			open, rest, _ := strings.Cut(fenced, "\n")
			inside, closed := strings.CutSuffix(rest, "\n"+open)
			if !closed || strings.Trim(open, "`") != "" || len(open) < 3 || strings.Contains(inside, open) {
				t.Errorf("%s, limit %d: the fence %q doesn't hold", name, limit, open)
			}
			if limit > 2000 && len(got) < limit/4 {
				t.Errorf("%s, limit %d: only %d bytes are used", name, limit, len(got))
			}
			if name == "plain" && !strings.HasSuffix(inside, "\nend") {
				t.Errorf("limit %d: the end is gone", limit)
			}
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	same := func(s string) string { return s }
	for name, c := range map[string]struct {
		n, limit int
		writes   []string // each to the stream that its first character names, 0 or 1
		want     string   // the lines, then the total and what was cut
	}{
		"nothing":                {3, 100, nil, "[] 0 0"},
		"fewer":                  {3, 100, []string{"0a\nb\n"}, "[a b] 2 0"},
		"more":                   {3, 100, []string{"0a\nb\nc\nd\ne\n"}, "[c d e] 5 0"},
		"more, in parts":         {3, 100, []string{"0a\nb", "0b\nc", "0\nd\ne\nf"}, "[d e f] 6 0"},
		"not finished":           {2, 100, []string{"0a\nb\nc"}, "[b c] 3 0"},
		"blank lines":            {3, 100, []string{"0\n\na\n\n"}, "[ a ] 4 0"},
		"one":                    {1, 100, []string{"0a\nb\n", "0c"}, "[c] 3 0"},
		"part before many":       {2, 100, []string{"0part", "0a\nb\nc\nd\n"}, "[c d] 4 0"},
		"exactly as many":        {2, 100, []string{"0part", "0a\nb\n"}, "[parta b] 2 0"},
		"two streams":            {9, 100, []string{"0one ", "1two\nthree ", "0more\n", "1end"}, "[two one more three end] 3 0"},
		"both not finished":      {9, 100, []string{"1b", "0a"}, "[a b] 2 0"},
		"a long line":            {2, 10, []string{"00123456789abcdef\n"}, "[6789abcdef] 1 6"},
		"a long line, in parts":  {2, 10, []string{"001234567", "089abcdef", "0ghijklmnop", "0qrstuvwxyz\n"}, "[qrstuvwxyz] 1 26"},
		"long, not finished":     {2, 10, []string{"00123456789abcdefghij", "0klmno"}, "[fghijklmno] 1 15"},
		"too much in all":        {9, 10, []string{"01234\n5678\n90\nab\n"}, "[34 5678 90 ab] 4 2"},
		"a long one, then one":   {9, 10, []string{"00123456789\nxy\n"}, "[23456789 xy] 2 2"},
		"as many lines as go":    {2, 10, []string{"01234\n5678\n90\n"}, "[5678 90] 3 0"},
		"a long one drops all":   {9, 10, []string{"0a\nb\n0123456789\n"}, "[0123456789] 3 0"},
		"a cut through a letter": {9, 10, []string{"0日本日本日本\n"}, "[本日本] 1 8"},
		"no letter":              {9, 4, []string{"0\xff\xff\xff\xff\xff\xff\n"}, "[\xff\xff\xff\xff] 1 2"},
	} {
		tail := NewTail(c.n, c.limit)
		streams := []*Stream{tail.Stream(), tail.Stream()}
		for _, w := range c.writes {
			if n, err := streams[w[0]-'0'].Write([]byte(w[1:])); n != len(w)-1 || err != nil {
				t.Errorf("%s: a write gave %d, %v", name, n, err)
			}
		}
		o := tail.Output(same)
		if got := fmt.Sprint(o.Lines, " ", o.Total, " ", o.Cut); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Whatever is written, and in however large pieces, what is held is bounded.
func TestTailMemory(t *testing.T) {
	t.Parallel()
	const limit = 4096
	for name, chunk := range map[string]string{
		"no newline": strings.Repeat("x", 32<<10), "short lines": strings.Repeat("y\n", 16<<10),
		"nothing but newlines": strings.Repeat("\n", 32<<10), "long lines": strings.Repeat("x", 30<<10) + "\n",
		"one byte": "x", "one newline": "\n",
	} {
		tail := NewTail(1000, limit)
		s := tail.Stream()
		for range 2000 {
			_, _ = s.Write([]byte(chunk))
		}
		held := cap(s.part.text)
		for _, l := range tail.lines {
			held += cap(l.text)
		}
		if held > 32*limit || cap(tail.lines) > 4*1000 {
			t.Errorf("%s: %d bytes in %d lines are held, of a limit of %d", name, held, cap(tail.lines), limit)
		}
	}
}

// However little room there is, how it ended is said.
func TestCommandTextKeepsTheEnd(t *testing.T) {
	for _, label := range []string{strings.Repeat("ж", 180), strings.Repeat("😀", 190), strings.Repeat("x", 300), "make"} {
		for _, limit := range []int{256, 300, 500, 16 << 10} {
			got := Command{Label: label, Code: 1, Took: 2 * time.Millisecond}.Text(limit)
			if len(got) > limit || !utf8.ValidString(got) || !strings.HasSuffix(got, ": exit code 1 after 2ms") {
				t.Errorf("limit %d: %d bytes, %q", limit, len(got), got)
			}
		}
	}
}
