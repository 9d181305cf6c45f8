// Package update holds the one flag with which tests renew their golden files.
// Every test package imports it, so that `go test ./... -update` is known to
// each test binary. Nothing but tests may import it: it registers a flag.
package update

import "flag"

// Golden says that a test should write what it got in place of what it wanted.
var Golden = flag.Bool("update", false, "renew the golden files")
