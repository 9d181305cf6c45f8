package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ccpost/scripts/plugin"
)

// file is one that a release has in it.
type file struct {
	name    string // in the archive, below its folder
	from    string // where it is: below the checkout, or absolute for one that is made
	install string // where packages put it, compressed where that ends in .gz
	program bool   // it can be run
	link    string // the name of the file that this is another name of, which comes before it
}

// kept is what a release has from the repository as it is.
var kept = []file{
	{name: "CHANGELOG.md", from: "CHANGELOG.md", install: "/usr/share/doc/ccpost/CHANGELOG.md"},
	{name: "LICENSE", from: "LICENSE", install: "/usr/share/doc/ccpost/copyright"},
	{name: "README.md", from: "README.md", install: "/usr/share/doc/ccpost/README.md"},
	{name: "ccpost.1", from: "scripts/manual/ccpost.1", install: "/usr/share/man/man1/ccpost.1.gz"},
	{name: "completions/_ccpost", from: "scripts/manual/_ccpost", install: "/usr/share/zsh/vendor-completions/_ccpost"},
	{name: "completions/ccpost.bash", from: "scripts/manual/ccpost.bash", install: "/usr/share/bash-completion/completions/ccpost"},
	{name: "completions/ccpost.fish", from: "scripts/manual/ccpost.fish", install: "/usr/share/fish/vendor_completions.d/ccpost.fish"},
}

// files is what a release for this system has in it, in the order of the names.
func (r *release) files(s system) ([]file, error) {
	list := []file{
		{name: "ccpost", from: r.built(s, "ccpost"), install: "/usr/bin/ccpost", program: true},
		{name: "ccpost-doctor", from: r.built(s, "ccpost-doctor"), install: "/usr/bin/ccpost-doctor", program: true},
		// A name and not a copy: the archive is a third smaller, and the plugin
		// works wherever its folder is copied to.
		{name: "plugin/" + plugin.Binary, link: "ccpost", install: installed(plugin.Binary), program: true},
	}
	for _, f := range kept {
		f.from = filepath.Join(r.root, f.from)
		list = append(list, f)
	}
	made, err := plugin.Files(r.version)
	if err != nil {
		return nil, err
	}
	for name, data := range made {
		f := file{name: "plugin/" + name, from: filepath.Join(r.work, "plugin", name), install: installed(name)}
		if err := os.MkdirAll(filepath.Dir(f.from), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(f.from, data, 0o644); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	for _, f := range list {
		if info, err := os.Stat(f.from); f.link == "" && (err != nil || info.Size() == 0) {
			return nil, fmt.Errorf("%s is missing or empty: %w", f.name, err)
		}
	}
	return list, nil
}

// installed is where packages put a file of the plugin.
func installed(name string) string { return "/usr/lib/ccpost/plugin/" + name }
