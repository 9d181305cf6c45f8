// Release makes what is given away of a version: for each system an archive, for
// Linux packages too, and the list of their checksums.
//
//	go run ./scripts/release [DIR]
//
// DIR is dist in the checkout where it isn't given; it must not be there yet, or
// be empty. Run it anywhere in a checkout without changes. The version is what
// Go writes into a binary that is built there: the tag of the commit, such as
// v0.1.0, else a pseudo-version, which names the commit. Outside of git there is
// none, and so no release.
//
// Contract: two runs at one commit and tag, with one version of Go, leave the same
// bytes, wherever the checkouts are. Every file bears SOURCE_DATE_EPOCH, else the
// commit's time, and belongs to root. A file that should be in there and isn't is
// an error, and then DIR is left as it was. The exit code is 3 where anything failed.
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// systems are those that there are archives for. Packages are made for Linux.
var systems = []system{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

type system struct{ os, arch string }

func main() {
	if err := run(os.Args[min(1, len(os.Args)):]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(3)
	}
}

func run(args []string) error {
	if len(args) > 1 {
		return errors.New("which folder?")
	}
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	r := release{root: filepath.Dir(strings.TrimSpace(string(mod)))}
	out := filepath.Join(r.root, "dist")
	if len(args) == 1 {
		out = args[0]
	}
	if there, err := os.ReadDir(out); err == nil && len(there) > 0 {
		return fmt.Errorf("%s is not empty", out)
	}
	// Not in the checkout, which would have changes then.
	if r.work, err = os.MkdirTemp("", "release"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	for _, s := range systems {
		if err := r.build(s); err != nil {
			return fmt.Errorf("%s/%s: %w", s.os, s.arch, err)
		}
	}
	for _, s := range systems {
		if err := r.pack(s); err != nil {
			return fmt.Errorf("%s/%s: %w", s.os, s.arch, err)
		}
	}
	return publish(r.made, out)
}

// release is one run.
type release struct {
	root, work string
	version    string // without the v; known after the first build
	time       time.Time
	made       []string // paths of what is to be given away
}

// built is where a program is built.
func (r *release) built(s system, program string) string {
	return filepath.Join(r.work, s.os+"_"+s.arch, program)
}

// build builds both programs for a system.
func (r *release) build(s system) error {
	for program, pkg := range map[string]string{"ccpost": ".", "ccpost-doctor": "./scripts/doctor"} {
		path := r.built(s, program)
		cmd := exec.Command(filepath.Join(r.root, "scripts", "build"), path, pkg)
		// Nothing of the user's own settings may change the bytes, and a version
		// from git is wanted even where it is switched off.
		cmd.Env = append(os.Environ(), "GOOS="+s.os, "GOARCH="+s.arch, "GOAMD64=v1", "GOARM64=v8.0",
			"GOFLAGS=-buildvcs=true", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("scripts/build: %w\n%s", err, out)
		}
		if err := r.inspect(path); err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
	}
	return nil
}

// inspect takes the version and the time from a binary.
func (r *release) inspect(path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	version, tagged := strings.CutPrefix(info.Main.Version, "v")
	switch {
	case !tagged:
		return fmt.Errorf("its version is %q: is this a checkout?", info.Main.Version)
	case settings["vcs.modified"] != "false":
		return errors.New("the checkout has changes: commit them first")
	case r.version != "" && r.version != version:
		return fmt.Errorf("its version is %s, not %s", version, r.version)
	}
	r.version = version
	r.time, err = stamp(settings["vcs.time"])
	return err
}

// stamp is the time that everything bears: the commit's, unless it is asked for
// another one.
func stamp(commit string) (time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return time.Parse(time.RFC3339, commit)
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// pack makes what is given away for a system.
func (r *release) pack(s system) error {
	list, err := r.files(s)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("ccpost_%s_%s_%s", r.version, s.os, s.arch)
	path := filepath.Join(r.work, name+".tar.gz")
	if err := archive(path, name, list, r.time); err != nil {
		return err
	}
	r.made = append(r.made, path)
	if s.os != "linux" {
		return nil
	}
	for _, format := range []string{"deb", "rpm"} {
		path := filepath.Join(r.work, name+"."+format)
		if err := r.packageFor(format, s.arch, list, path); err != nil {
			return err
		}
		r.made = append(r.made, path)
	}
	return nil
}
