//go:build !linux

package precheck

import "errors"

// hold: without /proc no path leads through an open directory, and connectat
// is FreeBSD's alone.
func hold(string, Options) (*Held, error) { return nil, errors.ErrUnsupported }
