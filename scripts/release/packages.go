package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	Src  string `json:"src"`
	Dst  string `json:"dst"`
	Type string `json:"type,omitempty"`
	Info struct {
		Mode  int       `json:"mode,omitempty"`
		MTime time.Time `json:"mtime"`
	} `json:"file_info"`
}

// packageFor makes a package of these files: format is deb or rpm.
func (r *release) packageFor(format, arch string, list []file, to string) error {
	d := description{
		Name: "ccpost", Arch: arch, Version: r.version, Section: "utils", Priority: "optional",
		Maintainer:  "the ccpost authors",
		Description: "posts one message into a running Claude Code session,\nand says truthfully what became of it.",
		License:     "MIT", MTime: r.time, DisableGlobbing: true,
	}
	d.RPM.BuildHost = "localhost" // else the name of the one that it is made on
	installed := map[string]string{}
	for _, f := range list {
		installed[f.name] = f.install
		c := content{Src: f.from, Dst: f.install}
		c.Info.Mode, c.Info.MTime = 0o644, r.time
		if f.program {
			c.Info.Mode = 0o755
		}
		switch {
		case f.link != "":
			c.Type, c.Src, c.Info.Mode = "symlink", installed[f.link], 0
		case strings.HasSuffix(f.install, ".gz"):
			c.Src = filepath.Join(r.work, filepath.Base(f.install))
			if err := zip(f.from, c.Src); err != nil {
				return err
			}
		}
		if format == "rpm" {
			// The folder that is Debian's own for this.
			c.Dst = strings.Replace(c.Dst, "/zsh/vendor-completions/", "/zsh/site-functions/", 1)
		}
		d.Contents = append(d.Contents, c)
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

func zip(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return compressed(to, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	})
}
