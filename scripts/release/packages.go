package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0"

// description is what nfpm makes a package of. Its own format is YAML, of which
// JSON is a part.
type description struct {
	Name            string    `json:"name"`
	Arch            string    `json:"arch"`
	Version         string    `json:"version"`
	Section         string    `json:"section"`
	Priority        string    `json:"priority"`
	Maintainer      string    `json:"maintainer"`
	Description     string    `json:"description"`
	License         string    `json:"license"`
	MTime           time.Time `json:"mtime"`
	DisableGlobbing bool      `json:"disable_globbing"`
	RPM             struct {
		BuildHost string `json:"buildhost"`
	} `json:"rpm"`
	Contents []content `json:"contents"`
}

type content struct {
	Src  string `json:"src,omitempty"`
	Dst  string `json:"dst"`
	Type string `json:"type,omitempty"`
	Info struct {
		Mode  int       `json:"mode"`
		MTime time.Time `json:"mtime"`
	} `json:"file_info"`
}

func (d *description) add(kind, from, to string, mode int) {
	c := content{Src: from, Dst: to, Type: kind}
	c.Info.Mode, c.Info.MTime = mode, d.MTime
	d.Contents = append(d.Contents, c)
}

// packageFor makes a package of these files: format is deb or rpm.
func (r *release) packageFor(format, arch string, list []file, to string) error {
	d := description{
		Name: "ccpost", Arch: arch, Version: r.version, Section: "utils", Priority: "optional",
		Maintainer:  "the ccpost authors",
		Description: "post one message into a running Claude Code session\nIt says truthfully what became of the message.",
		License:     "MIT", MTime: r.time, DisableGlobbing: true,
	}
	d.RPM.BuildHost = "localhost" // else the name of the one that it is made on
	installed := map[string]string{}
	for _, f := range list {
		installed[f.name] = f.install
		for dir := path.Dir(f.install); strings.Contains(dir+"/", "/ccpost/"); dir = path.Dir(dir) {
			if !slices.ContainsFunc(d.Contents, func(c content) bool { return c.Dst == dir }) {
				d.add("dir", "", dir, 0o755) // else rpm would leave it behind
			}
		}
		kind, from, to, mode := "", f.from, f.install, 0o644
		if f.program {
			mode = 0o755
		}
		switch {
		case f.link != "":
			kind, from, mode = "symlink", installed[f.link], 0o777
		case strings.HasSuffix(to, ".gz"):
			from = filepath.Join(r.work, path.Base(to))
			if err := zip(f.from, from); err != nil {
				return err
			}
		case format == "rpm": // the other folder is Debian's own
			to = strings.Replace(to, "/zsh/vendor-completions/", "/zsh/site-functions/", 1)
		}
		d.add(kind, from, to, mode)
	}
	config, err := json.Marshal(d)
	if err != nil {
		return err
	}
	described := filepath.Join(r.work, "nfpm.json")
	if err := os.WriteFile(described, config, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("go", "run", nfpm, "package", "--config", described, "--packager", format, "--target", to)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nfpm: %w\n%s", err, out)
	}
	return nil
}

// zip is a compressed copy.
func zip(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return compressed(to, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
