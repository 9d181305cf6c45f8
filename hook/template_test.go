package hook_test

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"ccpost/hook"
)

const templateDoc = `{"hook_event_name":"PostToolUse","cwd":"/home/dev/api","tool_input":{"file_path":"/x\n","n":1.50,"deep":{"a":[1,"two",{"k-e_y":3}]}},` +
	`"yes":true,"no":false,"nil":null,"empty":"","blank":" \u0000\n","@this":"at","a*":"star","#":"hash","7":"seven"}`

func TestExpand(t *testing.T) {
	tests := []struct{ template, want string }{
		{"plain", "plain"},
		{"{tool_input.file_path}!", "/x\n!"},
		{"{tool_input.n}", "1.50"},
		{"{yes}{no}", "truefalse"},
		{"{tool_input.deep}", `{"a":[1,"two",{"k-e_y":3}]}`},
		{"{tool_input.deep.a.1}", "two"},
		{"{tool_input.deep.a.2.k-e_y}", "3"},
		{"{7}", "seven"},
		{"[{missing}]", "[]"},
		{"{missing|none at all}", "none at all"},
		{"{missing|a|b}", "a|b"},
		{"{nil|none}", "none"},
		{"[{empty|none}]", "[]"},
		{"{tool_input.deep.a.9|far}", "far"},
		{"{tool_input.file_path.x|no object}", "no object"},
		{"{{}}", "{}"},
		{"{{{yes}}}", "{true}"},
		{"a}b", "a}b"},
		{"{{missing}", "{missing}"},
		{"é{yes}é", "étrueé"},
		{"", "PostToolUse in api"},
		{" {missing} ", "PostToolUse in api"},
		{"{blank}", "PostToolUse in api"},
		{"{missing|}", "PostToolUse in api"},
	}
	e := mustParse(t, templateDoc)
	for _, tt := range tests {
		got, err := e.Expand(tt.template)
		if err != nil || got != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.template, got, err, tt.want)
		}
		if err := hook.CheckTemplate(tt.template); err != nil {
			t.Errorf("CheckTemplate(%q): %v", tt.template, err)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	const unclosed, name = "is not closed", "no field can have the name"
	tests := []struct{ template, says string }{
		{"{", "{ at byte 0 " + unclosed},
		{"ab{cd", "{ at byte 2 " + unclosed},
		{"{{{a", "{ at byte 2 " + unclosed},
		{"{yes}{a {yes}", "{ at byte 5 " + unclosed},
		{"{a|b{yes}", "{ at byte 0 " + unclosed},
		{"é{", "{ at byte 2 " + unclosed},
		{"{}", name}, {"{|x}", name}, {"{ yes}", name},
		{"{.yes}", name}, {"{yes.}", name}, {"{a..b}", name}, {"{..0}", name}, {"{.}", name},
		{"{@this}", name}, {"{tool_input.@keys}", name}, {"{tool_input.deep.a.#}", name}, {"{#}", name},
		{"{a*}", name}, {"{?es}", name}, {"{!5}", name}, {`{a\.b}`, name}, {"{[yes,no]}", name}, {"{a=b}", name}, {"{é}", name}, {"{a\x00}", name},
	}
	e := mustParse(t, templateDoc)
	for _, tt := range tests {
		got, err := e.Expand(tt.template)
		if reason(err) != hook.BadTemplate || got != "" || !strings.Contains(err.Error(), tt.says) || !strings.HasPrefix(err.Error(), "bad template: ") {
			t.Errorf("%q: %q, %v, want %q", tt.template, got, err, tt.says)
		}
		if cerr := hook.CheckTemplate(tt.template); cerr == nil || cerr.Error() != err.Error() {
			t.Errorf("CheckTemplate(%q): %v", tt.template, cerr)
		}
	}
}

// A template that names a large field often must not multiply it in memory.
func TestExpandIsBounded(t *testing.T) {
	const size = 1 << 20
	e := mustParse(t, `{"hook_event_name":"Stop","big":"`+strings.Repeat("x", size)+`"}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := e.Expand(strings.Repeat("{big}", 100))
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, got, hook.MaxText)
	if want := "\n[… 104841242 bytes cut]"; !strings.HasSuffix(got, want) {
		t.Errorf("ends in %q, want %q", got[len(got)-30:], want)
	}
	// gjson copies the field each time, which is garbage at once; joined, the
	// copies would take several times as much.
	if n := after.TotalAlloc - before.TotalAlloc; n > 2*100*size {
		t.Errorf("%d bytes allocated", n)
	}
}

// FuzzExpand holds templates against a reading by a regular expression, and the
// fields against encoding/json's.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{
		"{yes}", "{{", "{a|b}", "}}{x", "{tool_input.deep.a.2.k-e_y|}", "{", "{tool_input.deep.a.99999999999999999999}", "{tool_input.deep.a.18446744073709551616}",
		"\xff{yes}", "{tool_input.deep.a.01}", "{tool_input.deep.a.-1}", "{nil|\xff}{{{7}}}", "{a..b}", "{|}", "}{{{}", "{tool_input.deep}{tool_input.n}{no}{missing|é}",
	} {
		f.Add(s, templateDoc)
	}
	f.Add("{a.0.b}", `{"a":[{"b":"\ud800"}]}`)
	f.Add("{a}{b}", `{"a":1,"a":2,"b":{"c": [ 1 , 2 ]},"\u0062":3}`)
	f.Fuzz(func(t *testing.T, template, doc string) {
		err := hook.CheckTemplate(template)
		e, perr := hook.Parse([]byte(doc))
		if perr != nil {
			return
		}
		got, xerr := e.Expand(template)
		if (err == nil) != (xerr == nil) {
			t.Fatalf("CheckTemplate %v, Expand %v", err, xerr)
		}
		if err != nil && reason(err) != hook.BadTemplate {
			t.Fatal(err)
		}
		want, ok := expand(template, strings.TrimPrefix(doc, "\ufeff"))
		got, want = merged(got), merged(want)
		if ok != (err == nil) {
			t.Fatalf("%q: %v, a second reading says %t", template, err, ok)
		}
		if err != nil {
			return
		}
		checkText(t, got, hook.MaxText)
		switch blank := strings.Trim(strings.Map(visible, want), " ") == ""; {
		case blank:
			if strings.ContainsFunc(got, unicode.IsControl) {
				t.Errorf("%q: %q stands for a blank text", template, got)
			}
		case len(want) <= hook.MaxText:
			if got != want {
				t.Errorf("%q of %q\n got %q\nwant %q", template, doc, got, want)
			}
		default:
			kept, _, _ := strings.Cut(got, "\n[… ")
			if !strings.HasPrefix(want, kept) {
				t.Errorf("%q of %q is not the beginning of what was named", template, doc)
			}
		}
	})
}

// merged makes one of several U+FFFD in a row: readers differ in how many broken
// bytes one stands for.
func merged(s string) string {
	return regexp.MustCompile("\uFFFD+").ReplaceAllString(s, "\uFFFD")
}

// visible makes a space of what can't be seen.
func visible(r rune) rune {
	if unicode.IsSpace(r) || unicode.IsControl(r) {
		return ' '
	}
	return r
}

var (
	pieces = regexp.MustCompile(`\{\{|\}\}|\}|\{([^{}]*)\}|[^{}]+|\{`)
	field  = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

// expand is a second reading of a template. It is not ok where the template
// isn't one.
func expand(template, doc string) (out string, ok bool) {
	var b strings.Builder
	for _, piece := range pieces.FindAllString(template, -1) {
		switch {
		case piece == "{":
			return "", false
		case piece == "{{", piece == "}}":
			b.WriteString(piece[:1])
		case piece[0] != '{':
			b.WriteString(strings.ToValidUTF8(piece, "\uFFFD"))
		default:
			name, otherwise, _ := strings.Cut(piece[1:len(piece)-1], "|")
			if !field.MatchString(name) {
				return "", false
			}
			switch v := at([]byte(doc), strings.Split(name, ".")...); {
			case v == nil || string(v) == "null":
				b.WriteString(strings.ToValidUTF8(otherwise, "\uFFFD"))
			case v[0] == '"':
				b.WriteString(text(v))
			default:
				b.WriteString(strings.ToValidUTF8(string(v), "\uFFFD"))
			}
		}
	}
	return b.String(), true
}
