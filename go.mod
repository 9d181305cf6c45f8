module ccpost

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/tidwall/gjson v1.20.2
	golang.org/x/sys v0.50.0
)

require (
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.3.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)

// test dependencies
require (
	github.com/google/go-cmp v0.7.0
	github.com/rogpeppe/go-internal v1.16.0
)
