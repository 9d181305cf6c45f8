package main

import (
	"runtime"
	"runtime/debug"
)

type versionCmd struct{}

func (versionCmd) run(a *app) int {
	version := "(devel)"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		version = b.Main.Version
	}
	a.ui.say("ccpost " + version + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH)
	return 0
}
