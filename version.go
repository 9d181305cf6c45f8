package main

import (
	"runtime"
	"runtime/debug"
)

// versionCmd prints what Go wrote into the binary: the tag that it was built at,
// else a pseudo-version, which names the commit, both with +dirty where there
// were changes; (devel) outside of a checkout or with -buildvcs=false.
type versionCmd struct{}

func (versionCmd) run(a *app) int {
	version := "(devel)"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		version = b.Main.Version
	}
	a.ui.say("ccpost " + version + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH)
	return 0
}
