//go:build !linux

package envtoken

import "os"

// hasACL reports false: no system call that these systems share tells it.
func hasACL(*os.File) bool { return false }
