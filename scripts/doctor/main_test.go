package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain also is the program, for the tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("DOCTOR") != "" {
		main()
	}
	os.Exit(m.Run())
}

func fake(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := fake(t, "echo 'what is --name? "+token+"' >&2; echo more >&2; exit 2")
	for _, tt := range []struct {
		name string
		args []string
		exit int
		want string // where standard error begins; standard output for 0
	}{
		{"nothing", nil, 64, "ccpost-doctor: missing --claude PATH\nusage: "},
		{"no flag", []string{"--what"}, 64, "ccpost-doctor: flag provided but not defined: -what\nusage: "},
		{"no value", []string{"--claude"}, 64, "ccpost-doctor: flag needs an argument: -claude\nusage: "},
		{"an argument", []string{"--claude", other, "more"}, 64, "ccpost-doctor: unexpected \"more\"\nusage: "},
		{"no file", []string{"--claude", "/nowhere"}, 64, "ccpost-doctor: --claude: exec: \"/nowhere\": "},
		{"no program", []string{"--claude", plain}, 64, "ccpost-doctor: --claude: exec: "},
		{"no ccpost", []string{"--claude", other, "--ccpost", "/nowhere"}, 64, "ccpost-doctor: --ccpost: exec: \"/nowhere\": "},
		{"help", []string{"--help"}, 0, "usage: ccpost-doctor --claude PATH [--ccpost PATH]\n"},
		{"not Claude Code", []string{"--claude", other}, 69,
			"ccpost-doctor: session: no session with an inbox: session doctor ended before it had an inbox: no record; it said \"what is --name? [32 hex digits]\"\n"},
	} {
		var stdout, stderr strings.Builder
		got := run(tt.args, &stdout, &stderr)
		said, silent := stderr.String(), stdout.String()
		if tt.exit == 0 {
			said, silent = silent, said
		}
		if got != tt.exit || !strings.HasPrefix(said, tt.want) || silent != "" {
			t.Errorf("%s: exit %d, want %d, with %q, want %q, and %q", tt.name, got, tt.exit, said, tt.want, silent)
		}
	}
}

// Whatever ends it, nothing of it stays, and it doesn't exit with 1 or 2.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT} {
		note := filepath.Join(t.TempDir(), "home")
		claude := fake(t, `echo "$HOME" >'`+note+`.new'; mv '`+note+`.new' '`+note+`'; read -r line`)
		cmd := exec.Command(os.Args[0], "--claude", claude)
		cmd.Env = []string{"DOCTOR=1", "PATH=" + os.Getenv("PATH")}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var home []byte
		for deadline := time.Now().Add(20 * time.Second); len(home) == 0; time.Sleep(5 * time.Millisecond) {
			if home, _ = os.ReadFile(note); time.Now().After(deadline) {
				t.Fatal("it starts nothing")
			}
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if exit := (*exec.ExitError)(nil); !errors.As(cmd.Wait(), &exit) || exit.ExitCode() != 128+int(sig) {
			t.Errorf("%v: %v, want exit %d", sig, cmd.ProcessState, 128+int(sig))
		}
		if want := "ccpost-doctor: ended by the signal " + sig.String() + "\n"; stderr.String() != want {
			t.Errorf("%v: it says %q, want %q", sig, stderr.String(), want)
		}
		if _, err := os.Stat(strings.TrimSpace(string(home))); !os.IsNotExist(err) {
			t.Errorf("%v: its HOME is there still: %v", sig, err)
		}
	}
}
