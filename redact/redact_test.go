package redact_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	_ "ccpost/golden/update"
	"ccpost/redact"
)

const sample = "Zq0123456789abcdefghij"

type element struct{ T redact.Token }

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in string
		ok bool
	}{
		{"0123456789abcdef0123456789abcdef", true},
		{"AZaz09._~+/=-xyz", true},
		{strings.Repeat("a", 16), true},
		{strings.Repeat("a", 512), true},
		{strings.Repeat("a", 15), false},
		{strings.Repeat("a", 513), false},
		{"", false},
		{"0123456789abcdef\n", false},
		{"0123456789abcdef\r", false},
		{"0123456789 abcdef", false},
		{"0123456789\x00abcdef", false},
		{`0123456789"abcdef`, false},
		{`0123456789\abcdef`, false},
		{"0123456789éabcdef", false},
	} {
		got, err := redact.Parse(c.in)
		if (err == nil) != c.ok {
			t.Errorf("Parse(%q): %v, want ok %v", c.in, err, c.ok)
		}
		if err != nil && !errors.Is(err, redact.ErrBadToken) {
			t.Errorf("Parse(%q): %v is not ErrBadToken", c.in, err)
		}
		if want := c.in; c.ok && got.Reveal() != want {
			t.Errorf("Reveal() = %q, want %q", got.Reveal(), want)
		}
		if got.IsZero() == c.ok {
			t.Errorf("Parse(%q).IsZero() = %v", c.in, got.IsZero())
		}
	}
}

// Each way to print gives the placeholder and nothing of the token.
func TestPrintsThePlaceholder(t *testing.T) {
	tok, err := redact.Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	for _, tk := range []redact.Token{tok, {}} {
		for verb := rune(1); verb < 128; verb++ {
			if verb == '%' || strings.ContainsRune("+-# 0123456789.[]*", verb) {
				continue
			}
			for _, flags := range []string{"", "+", "#", "-40", "040", ".3", "+#"} {
				f := "%" + flags + string(verb)
				got := fmt.Sprintf(f, tk)
				// fmt answers T, p and w itself, before it asks the value.
				if !strings.ContainsRune("Tpw", verb) && got != redact.Placeholder {
					t.Errorf("%s: %q", f, got)
				}
				if strings.Contains(got, sample) {
					t.Errorf("%s leaks: %q", f, got)
				}
			}
		}
		b, err := json.Marshal(tk)
		if err != nil || string(b) != `"[redacted]"` {
			t.Errorf("json: %s, %v", b, err)
		}
		b, err = json.Marshal(map[string]any{"t": tk})
		if err != nil || string(b) != `{"t":"[redacted]"}` {
			t.Errorf("json in a map: %s, %v", b, err)
		}
		b, err = xml.Marshal(element{tk})
		if err != nil || !bytes.Contains(b, []byte("<T>[redacted]</T>")) {
			t.Errorf("text: %s, %v", b, err)
		}
		var buf bytes.Buffer
		slog.New(slog.NewTextHandler(&buf, nil)).Info("x", "tok", tk)
		slog.New(slog.NewJSONHandler(&buf, nil)).Info("x", "tok", tk)
		if n := strings.Count(buf.String(), redact.Placeholder); n != 2 {
			t.Errorf("slog: %s", buf.String())
		}
	}
}

// Values that hold a token, also where fmt can't reach its methods.
func TestHoldersDoNotLeak(t *testing.T) {
	tok, err := redact.Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	type hidden struct{ tok redact.Token }
	for _, v := range []any{
		hidden{tok}, &hidden{tok}, []hidden{{tok}}, map[string]hidden{"a": {tok}}, []redact.Token{tok}, &tok,
		struct{ V any }{tok}, fmt.Errorf("x: %v", tok), errors.Join(fmt.Errorf("%s", tok)),
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			got := fmt.Sprintf(verb, v)
			if strings.Contains(got, sample) || strings.Contains(got, fmt.Sprintf("%x", sample)) {
				t.Errorf("%s of %T leaks: %s", verb, v, got)
			}
		}
	}
}

func TestScrub(t *testing.T) {
	tok, _ := redact.Parse(sample)
	if got, want := tok.Scrub("a "+sample+" b "+sample), "a [redacted] b [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (redact.Token{}).Scrub("plain"); got != "plain" {
		t.Errorf("zero token: %q", got)
	}
}

// The one-writer rule: outside this package, and outside tests, Reveal is
// named in one function of one file.
func TestOneWriter(t *testing.T) {
	root := ".."
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == filepath.Join(root, "redact") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			name := "a declaration"
			if fn, ok := decl.(*ast.FuncDecl); ok {
				name = fn.Name.Name
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Reveal" {
					found = append(found, filepath.ToSlash(path)+" "+name)
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "../inbox/frame.go appendAuth"
	if len(found) != 1 || found[0] != want {
		t.Errorf("Reveal is used in %q, want only %q", found, want)
	}
}
