package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// poster is one way to post, as a command of its own.
type poster struct {
	name    string
	argv    []string
	binary  string   // whose size counts; "" for scripts and tools
	session *session // which it posts to; nil for programs that do nothing
}

// The rows that others are held against.
const (
	hookNoWait  = "`ccpost hook --wait 0`"
	minimalGo   = "minimal Go program"
	minimalC    = "minimal C program, static"
	pythonTool  = "Python"
	nodeTool    = "Node"
	idleC       = "C program that does nothing"
	messageText = "the build is red"
)

// build is one build of ccpost.
type build struct{ name, path string }

// tool finds a command, or tells that its poster is left out.
func (b *bench) tool(name string) (path string, ok bool) {
	path, err := exec.LookPath(name)
	if err != nil {
		b.skipped = append(b.skipped, name)
	}
	return path, err == nil
}

// command runs one command that prepares.
func command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// install puts a program in the posters' folder as installing does, by copying. A
// file that a linker wrote through a mapping lies in the page cache in pieces of
// one page, and costs a start a fifth more than its copy.
func (b *bench) install(name string, build func(out string) error) (string, error) {
	built, to := b.file(name+".built"), b.file(name)
	if err := build(built); err != nil {
		return "", err
	}
	data, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	return to, errors.Join(os.WriteFile(to, data, 0o755), os.Remove(built))
}

// goProgram and cProgram install a poster of ours.
func (b *bench) goProgram(name string) (string, error) {
	return b.install(name, func(out string) error {
		_, err := command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "./"+sources+"/"+name)
		return err
	})
}

func (b *bench) cProgram(cc, name string) (string, error) {
	return b.install(name+"-c", func(out string) error {
		_, err := command(cc, "-O2", "-static", "-s", "-o", out, sources+"/"+name+".c")
		return err
	})
}

const sources = "scripts/bench/posters"

// posters builds what is built and lists them all. silent says nothing of a
// message that it took; writing writes it into its transcript.
func (b *bench) posters(silent, writing *session) ([]poster, error) {
	ccpost, err := b.install("ccpost", func(out string) error {
		_, err := command("scripts/build", out)
		return err
	})
	if err != nil {
		return nil, err
	}
	minimal, err := b.goProgram("minimal")
	if err != nil {
		return nil, err
	}
	idle, err := b.goProgram("nothing")
	if err != nil {
		return nil, err
	}
	own := func(args ...string) []string { return slices.Concat([]string{ccpost}, args, b.budget) }
	list := []poster{
		{hookNoWait, own("hook", "--wait", "0"), ccpost, silent},
		{"`ccpost hook`", own("hook"), ccpost, writing},
		{"`ccpost send --wait 0`", own("send", messageText, "--wait", "0"), ccpost, silent},
		{"`ccpost send`", own("send", messageText), ccpost, writing},
		{minimalGo, []string{minimal}, minimal, silent},
		{"Go program that does nothing", []string{idle}, idle, nil},
	}
	for i, other := range b.also {
		path, err := b.install("also"+strconv.Itoa(i), func(out string) error {
			data, err := os.ReadFile(other.path)
			if err != nil {
				return err
			}
			return os.WriteFile(out, data, 0o755)
		})
		if err != nil {
			return nil, err
		}
		list = append(list, poster{other.name, []string{path, "hook", "--wait", "0"}, path, silent})
	}
	if cc, ok := b.tool("cc"); ok {
		minimal, err := b.cProgram(cc, "minimal")
		if err != nil {
			return nil, err
		}
		idle, err := b.cProgram(cc, "nothing")
		if err != nil {
			return nil, err
		}
		if b.peak, err = b.cProgram(cc, "peak"); err != nil {
			return nil, err
		}
		list = append(list, poster{minimalC, []string{minimal}, minimal, silent}, poster{idleC, []string{idle}, idle, nil})
	}
	script := func(name, command string) {
		const lines = `printf '{"type":"auth","token":"%s"}\n{"type":"user","message":{"role":"user","content":"%s"}}\n' ` +
			`"$CLAUDE_CODE_MESSAGING_TOKEN" '` + messageText + `' | `
		list = append(list, poster{name, []string{"/bin/sh", "-c", lines + command}, "", silent})
	}
	if nc, ok := b.tool("nc"); ok {
		// Others than OpenBSD's have no -N, and then no half-close.
		script("sh and `nc -N -U`", nc+` -N -U "$CLAUDE_CODE_MESSAGING_SOCKET"`)
	}
	if socat, ok := b.tool("socat"); ok {
		script("sh and socat", socat+` - "UNIX-CONNECT:$CLAUDE_CODE_MESSAGING_SOCKET"`)
	}
	for _, t := range []struct{ name, command, itself, script string }{
		// The interpreter itself: a version manager may have put a script before it.
		{pythonTool, "python3", "import sys; print(sys.executable)", "post.py"},
		{nodeTool, "node", "console.log(process.execPath)", "post.mjs"},
	} {
		path, ok := b.tool(t.command)
		if !ok {
			continue
		}
		flag := map[string]string{pythonTool: "-c", nodeTool: "-e"}[t.name]
		itself, err := command(path, flag, t.itself)
		if err != nil {
			return nil, err
		}
		version, err := command(itself, "--version")
		if err != nil {
			return nil, err
		}
		version = strings.TrimPrefix(strings.TrimPrefix(version, t.name+" "), "v")
		b.versions = append(b.versions, t.name+" "+version)
		source, err := filepath.Abs(filepath.Join(sources, t.script))
		if err != nil {
			return nil, err
		}
		list = append(list, poster{t.name, []string{itself, source}, "", silent})
	}
	return list, nil
}

func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

// size is that of a poster's binary in bytes, 0 where it has none.
func (p *poster) size() (int64, error) {
	if p.binary == "" {
		return 0, nil
	}
	info, err := os.Stat(p.binary)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("%s: no binary", p.name), err)
	}
	return info.Size(), nil
}
