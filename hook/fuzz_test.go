package hook

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzCommand: whatever a command prints, and however its output comes in
// pieces, the text keeps to its limit, begins with how the command ended, and
// nothing in the output closes its fence.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"", "\n", "one\ntwo\nthree", "```\nx\n```\n", "`", "a\r\nb\x1b[31mc\n", "\xff\xfe\n\x00", strings.Repeat("`", 300) + "\n", strings.Repeat("é", 600), "x\n\n\n\n\n\n"} {
		f.Add([]byte(s), "make test", 0, 20, 400, 3)
		f.Add([]byte(s), s, 2, 1, 16<<10, 0)
		f.Add([]byte(s), "", -1, 3, 200, 1)
	}
	f.Fuzz(func(t *testing.T, out []byte, arg string, code, lines, limit, cut int) {
		lines, limit = min(max(lines, 1), 1000), min(max(limit, 128), 64<<10)
		cut = min(max(cut, 0), len(out))
		tail := NewTail(lines, limit)
		s := tail.Stream()
		s.Write(out[:cut])
		s.Write(out[cut:])
		whole := NewTail(lines, limit)
		whole.Stream().Write(out)
		visible := func(line string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsControl(r) && r != '\t' {
					return -1
				}
				return r
			}, line)
		}
		o := tail.Output(visible)
		text := Command{Args: []string{arg}, Code: code, Output: o}.Text(limit)
		if again := (Command{Args: []string{arg}, Code: code, Output: whole.Output(visible)}).Text(limit); text != again {
			t.Fatalf("in pieces\n%q\nat once\n%q", text, again)
		}
		if !utf8.ValidString(text) || len(text) > limit {
			t.Fatalf("%d bytes, limit %d: %q", len(text), limit, text)
		}
		head, block, _ := strings.Cut(text, "\n")
		if !strings.Contains(head, ": ok after ") && !strings.Contains(head, ": exit code ") || strings.ContainsFunc(head, unicode.IsControl) {
			t.Fatalf("the first line is %q", head)
		}
		// Only the last lines, and how many there were, by a count that knows no tail.
		all := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if len(out) == 0 {
			all = nil
		}
		if o.Total != len(all) || len(o.Lines) > lines {
			t.Fatalf("%d of %d lines, want %d, at most %d", len(o.Lines), o.Total, len(all), lines)
		}
		if block == "" || block == "no output" {
			return
		}
		title, fenced, _ := strings.Cut(block, "\n")
		if !strings.HasPrefix(title, "output of the command") {
			t.Fatalf("the output is called %q", title)
		}
		open, rest, _ := strings.Cut(fenced, "\n")
		body, closed := strings.CutSuffix(rest, "\n"+open)
		if strings.Trim(open, "`") != "" || len(open) < 3 || !closed || strings.Contains(body, open) {
			t.Fatalf("a fence that doesn't hold: %q", fenced)
		}
		if tail := strings.Join(o.Lines, "\n"); !strings.HasSuffix(strings.ToValidUTF8(tail, "\uFFFD"), body) {
			t.Fatalf("%q is not the end of %q", body, tail)
		}
	})
}
