package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each file that a release should have and hasn't is an error that names it.
func TestMissingFile(t *testing.T) {
	linux := system{"linux", "amd64"}
	r := &release{root: t.TempDir(), work: t.TempDir(), version: "0.1.0"}
	make := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("something"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	paths := map[string]string{"ccpost": r.built(linux, "ccpost"), "ccpost-doctor": r.built(linux, "ccpost-doctor")}
	for _, f := range kept {
		paths[f.name] = filepath.Join(r.root, f.from)
	}
	for _, path := range paths {
		make(path)
	}
	if _, err := r.files(linux); err != nil {
		t.Fatalf("with all in place: %v", err)
	}
	for name, path := range paths {
		for what, spoil := range map[string]func() error{
			"missing": func() error { return os.Remove(path) },
			"empty":   func() error { return os.Truncate(path, 0) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			if _, err := r.files(linux); err == nil || !strings.Contains(err.Error(), name+" is missing or empty") {
				t.Errorf("%s %s: %v", what, name, err)
			}
			make(path)
		}
	}
}

// A release is made whole or not at all, and never into another one.
func TestRunRefuses(t *testing.T) {
	if err := run([]string{"a", "b"}); err == nil {
		t.Error("it takes two folders")
	}
	dir := t.TempDir()
	note := filepath.Join(dir, "note")
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{dir}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a folder that isn't empty: %v", err)
	}
}

func TestVersionAndTime(t *testing.T) {
	self, err := os.Executable() // built without a version
	if err != nil {
		t.Fatal(err)
	}
	r := &release{}
	if err := r.inspect(self); err == nil || !strings.Contains(err.Error(), "is this a checkout?") {
		t.Errorf("a binary without a version: %v", err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	t.Setenv("SOURCE_DATE_EPOCH", "1767323045")
	if got, err := stamp("2020-01-01T00:00:00Z"); err != nil || !got.Equal(at) {
		t.Errorf("stamp is %v, %v, want %v", got, err, at)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if got, err := stamp("2020-01-01T00:00:00Z"); err == nil {
		t.Errorf("stamp takes yesterday for %v", got)
	}
}
