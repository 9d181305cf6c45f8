// Package plugin makes the folder with which Claude Code loads ccpost as a
// plugin: the manifest, the hooks, and the binary beside them.
//
// Which events it tells, and whom, is in folder/README.md, which goes with it.
package plugin

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Binary is where ccpost stands in the folder; hooks/hooks.json names it so.
const Binary = "bin/ccpost"

const manifest = ".claude-plugin/plugin.json"

//go:embed all:folder
var folder embed.FS

// Files gives the folder's files but for the binary, by their paths in it.
// version is ccpost's, without the v.
func Files(version string) (map[string][]byte, error) {
	files := map[string][]byte{}
	sub, err := fs.Sub(folder, "folder")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(sub, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = fs.ReadFile(sub, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(files[manifest], []byte(`"0.0.0"`))
	if !found {
		return nil, errors.New("the plugin's manifest has no place for a version")
	}
	files[manifest] = slices.Concat(before, []byte(`"`+version+`"`), after)
	return files, nil
}

// Write makes the folder at dir, with a copy of the executable ccpost in it.
func Write(dir, ccpost, version string) error {
	files, err := Files(version)
	if err != nil {
		return err
	}
	if files[Binary], err = os.ReadFile(ccpost); err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if name == Binary {
			mode = 0o755
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			return err
		}
	}
	return nil
}
