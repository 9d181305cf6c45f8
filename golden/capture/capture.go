// Package capture holds the captures as files, for programs that compare.
// The small binary has none of them in it.
package capture

import "embed"

// Files are the captures by the names that README.md lists.
//
//go:embed *.json *.ndjson hook-input/*.json
var Files embed.FS
