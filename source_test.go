package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the program is made of has no way to end but main's, starts goroutines
// only where a panic of theirs is caught and processes only for run and listen,
// and has no package in it that speaks to a network, is too large for it, or
// panics over a bad template.
func TestNoForbiddenExits(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Dir}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	goroutines := map[string]int{}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if slices.Contains([]string{"net", "net/http", "os/exec", "plugin", "text/template", "html/template", "testing", "flag"}, path) {
			t.Errorf("the binary has package %s in it", path)
		}
		if strings.HasPrefix(path, "crypto/") {
			t.Errorf("the binary has package %s in it, which ends it with 2 where GODEBUG=fips140=on is set", path)
		}
		if path != "ccpost" && !strings.HasPrefix(path, "ccpost/") {
			continue
		}
		// Also the files of other systems.
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files of %s: %v", path, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				scan(t, path, file, goroutines)
			}
		}
	}
	want := map[string]int{"ccpost app.start": 1, "ccpost/golden Session.spawn": 1}
	for where, n := range goroutines {
		if n != want[where] {
			t.Errorf("%d go statements in %s, want %d", n, where, want[where])
		}
	}
	for where := range want {
		if goroutines[where] == 0 {
			t.Errorf("no go statement in %s: is it the helper still?", where)
		}
	}
}

func scan(t *testing.T, path, file string, goroutines map[string]int) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		where := path + " "
		if fn, ok := d.(*ast.FuncDecl); ok {
			where += nameOf(fn)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				goroutines[where]++
			case *ast.CallExpr:
				name := called(n)
				allowed := name == "os.Exit" && where == "ccpost main" ||
					name == "os.StartProcess" && where == "ccpost app.startCommand" // run's and listen's
				if forbidden(name) && !allowed {
					t.Errorf("%s: %s calls %s", fset.Position(n.Pos()), where, name)
				}
				if opens(name) && !strings.HasPrefix(where, "ccpost/golden ") && !slices.Contains(openers, where) {
					t.Errorf("%s: %s calls %s, where package precheck should open", fset.Position(n.Pos()), where, name)
				}
				if (name == "unix.Socket" || name == "syscall.Socket") && (len(n.Args) == 0 || !isUnix(n.Args[0])) {
					t.Errorf("%s: %s makes a socket that is no Unix socket", fset.Position(n.Pos()), where)
				}
			}
			return true
		})
	}
}

// openers may open what they do without package precheck's care: the system's own
// files, directories, and settings wherever links lead, as Claude Code reads them.
var openers = []string{
	"ccpost spare", "ccpost/envtoken Session.running", "ccpost/envtoken ownPIDDomain", "ccpost/envtoken readLinked",
	"ccpost/envtoken Settings.lock", "ccpost/envtoken Settings.replace", "ccpost/inbox lock",
	"ccpost/precheck open", "ccpost/precheck mapped", "ccpost/precheck fdSteps.open",
}

func opens(name string) bool {
	return slices.Contains([]string{
		"os.Open", "os.OpenFile", "os.OpenRoot", "os.OpenInRoot", "os.ReadFile", "os.WriteFile", "os.Create", "os.DirFS",
		"unix.Open", "unix.Openat", "unix.Openat2", "unix.Creat", "syscall.Open", "syscall.Openat", "syscall.Creat",
	}, name)
}

func isUnix(family ast.Expr) bool {
	sel, ok := family.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "AF_UNIX"
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if pkg, ok := f.X.(*ast.Ident); ok {
			return pkg.Name + "." + f.Sel.Name
		}
	}
	return ""
}

func forbidden(name string) bool {
	switch name {
	case "panic", "os.Exit", "syscall.Exit", "unix.Exit", "runtime.Goexit", "kong.Parse",
		"regexp.MustCompile", "template.Must", "debug.SetTraceback",
		"unix.Socketpair", "syscall.Socketpair", "unix.Syscall", "unix.RawSyscall", "syscall.Syscall", "syscall.RawSyscall", "syscall.Syscall6", "unix.Syscall6",
		"os.StartProcess", "syscall.StartProcess", "syscall.ForkExec", "syscall.Exec", "unix.Exec":
		return true
	}
	return strings.HasPrefix(name, "log.Fatal") || strings.HasPrefix(name, "log.Panic")
}
