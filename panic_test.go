package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ccpost/golden"
)

// Wherever a panic is planted, the program ends with 70, or with 74 once the
// message line had begun, and says so on one line; and with 70 it had sent no
// message. A Go program that panics exits with 2, which would block the event
// of a hook.
func TestPlantedPanics(t *testing.T) {
	t.Parallel()
	send, hook := []string{"send", "hello"}, []string{"hook"}
	ran := []string{"run", "--require-post", "--", "true"}
	for name, c := range map[string]struct {
		dir  string
		at   string // function, Type.method, or function/N for the Nth function literal in it
		args []string
		code int
	}{
		"send":                 {".", "sendCmd.run", send, 70},
		"hook":                 {".", "hookCmd.fire", hook, 70},
		"after the post":       {"hook", "Drain", hook, 0}, // what became of the message is said already
		"the event":            {"hook", "Parse", hook, 70},
		"the environment":      {"envtoken", "Finder.Self", send, 70},
		"the environment/hook": {"envtoken", "Finder.Self", hook, 70},
		"the frame":            {"inbox", "Message.line", send, 70},
		"the frame/hook":       {"inbox", "Message.line", hook, 70},
		"the path":             {"precheck", "Path", send, 70},
		"the token":            {"redact", "Parse", send, 70},
		"the token/hook":       {"redact", "Parse", hook, 70},
		"the stand-in":         {"golden", "Start", []string{"demo"}, 70},
		"after the message":    {"inbox", "post.finish", send, 74},
		"after the event":      {"inbox", "post.finish", hook, 74},
		"before the log":       {"inbox", "post.write", send, 70},
		"run":                  {".", "runCmd.run", ran, 70},
		"before the command":   {".", "runCmd.look", ran, 70},
		"after the command":    {".", "runCmd.tell", ran, 70},
		"after its message":    {"inbox", "post.finish", ran, 74},
		"a goroutine":          {".", "app.watchSignals/1", []string{"send", "-"}, 70},
		"a goroutine, reading": {".", "app.readBody/1", []string{"send", "-"}, 70},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := build(t, c.dir, c.at)
			session := start(t, golden.Config{})
			env := environ(t, session.Environ()...)
			posts := func(args ...string) {
				t.Helper()
				// Where only a goroutine panics, nothing else may end the wait.
				var stdin io.Reader = strings.NewReader(event)
				if c.at == "app.watchSignals/1" {
					stdin = pipe(t)
				}
				got := execute(t, program, env, stdin, args...)
				want := c.code
				if args[len(args)-1] == "--best-effort" {
					want = 0
				}
				word := map[int]string{70: "ccpost: internal: ", 74: "ccpost: socket-error: "}[c.code]
				lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
				if len(lines) == 2 && strings.HasPrefix(lines[1], "hint: ") {
					lines = lines[:1]
				}
				if c.code == 0 { // nothing more is said
					if got.code != 0 || got.stderr != "" {
						t.Errorf("%s: want exit 0 and no word\n%s", args, got)
					}
					return
				}
				if got.code != want || len(lines) != 1 || !strings.HasPrefix(lines[0], word) {
					t.Errorf("%s: want exit %d and one line %q\n%s", args, want, word, got)
				}
				if strings.Contains(got.stderr, "goroutine ") {
					t.Errorf("%s: it printed a stack", args)
				}
				if args[0] == "hook" && got.stdout != "" {
					t.Errorf("%s: it printed to standard output", args)
				}
			}
			posts(c.args...)
			if c.args[0] == "hook" {
				posts(append(c.args, "--best-effort")...)
			}
			if n := len(session.Messages()); (n == 0) != (c.code == 70) {
				t.Errorf("exit code %d, and the session took %d messages", c.code, n)
			}
		})
	}
}

// Once the command can run it does, and its code is what counts.
func TestPlantedPanicsRun(t *testing.T) {
	t.Parallel()
	for at, dir := range map[string]string{
		"runCmd.look": ".", "runCmd.tell": ".", "runCmd.post": ".", "passing.read": ".", "passing.write": ".", "Tail.Output": "hook", "Command.Text": "hook",
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			program := build(t, dir, at)
			session := start(t, golden.Config{})
			env := environ(t, session.Environ()...)
			for want, args := range map[int][]string{
				5:  {"run", "--", "sh", "-c", "exit 5"},
				0:  {"run", "--", "true"},
				70: {"run", "--require-post", "--", "true"},
			} {
				got := execute(t, program, env, nil, args...)
				if got.code != want || !strings.HasPrefix(got.stderr, "ccpost: internal: ") || strings.Count(got.stderr, "\n") != 1 {
					t.Errorf("%s: want exit %d and internal on one line\n%s", args, want, got)
				}
			}
			if n := len(session.Messages()); n != 0 {
				t.Errorf("%d messages came", n)
			}
		})
	}
}

// TestDebugShowsTheStack: with CCPOST_DEBUG=1 a fault says where.
func TestDebugShowsTheStack(t *testing.T) {
	t.Parallel()
	program := build(t, ".", "sendCmd.run")
	got := execute(t, program, environ(t, "CCPOST_DEBUG=1"), nil, "send", "hello")
	if got.code != 70 || !strings.Contains(got.stderr, "sendCmd") {
		t.Errorf("want exit 70 and a stack\n%s", got)
	}
}

// pipe is one that nobody writes to, and that doesn't end.
func pipe(t *testing.T) io.Reader {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	return read
}

// build builds the program with a panic as the first statement of a function.
func build(t *testing.T, dir, at string) string {
	t.Helper()
	file, source := plant(t, dir, at)
	out := t.TempDir()
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: filepath.Join(out, "planted.go")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"planted.go": source, "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(out, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(out, "ccpost")
	if b, err := exec.Command("go", "build", "-overlay", filepath.Join(out, "overlay.json"), "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	return program
}

// plant finds the function and gives its file with the panic in it.
func plant(t *testing.T, dir, at string) (file string, source []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	name, literal, _ := strings.Cut(at, "/")
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || nameOf(fn) != name {
				continue
			}
			body, n := fn.Body, 0
			ast.Inspect(fn, func(node ast.Node) bool {
				if lit, ok := node.(*ast.FuncLit); ok {
					if n++; fmt.Sprint(n) == literal {
						body = lit.Body
					}
				}
				return true
			})
			if literal != "" && body == fn.Body {
				t.Fatalf("%s has no such function literal", at)
			}
			source, err := os.ReadFile(file)
			if err == nil {
				file, err = filepath.Abs(file)
			}
			if err != nil {
				t.Fatal(err)
			}
			i := fset.Position(body.Lbrace).Offset + 1
			return file, append(append(append([]byte(nil), source[:i]...), ` panic("planted");`...), source[i:]...)
		}
	}
	t.Fatalf("no function %s in %s", at, dir)
	return "", nil
}

// nameOf is a function's name, a method's after its type's.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}
