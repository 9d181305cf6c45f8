//go:build !linux

package envtoken

import (
	"errors"
	"os"
)

// hasACL reports false: no system call that these systems share tells it.
func hasACL(*os.File) (bool, error) { return false, nil }

func exchange(_, _ string) error { return errors.ErrUnsupported }

func renameNew(_, _ string) error { return errors.ErrUnsupported }
