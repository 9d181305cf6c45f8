// Package live posts into real Claude Code and looks at what the model was given.
//
//	go test -v -tags live ./scripts/live -claude 2.1.332
//
// Contract: nothing here stands in for Claude Code. Each test starts sessions in
// a HOME, a socket directory and a clean environment of their own, headless ones
// and interactive ones in tmux, posts into them with the built ccpost, from
// outside and from their hooks, and asserts on the requests that a stand-in
// Messages API receives, on the registry and on the screen. No account and no
// model is needed, and no session but its own is seen or touched.
//
// Claude Code is fetched with npm, as the user's npm is configured, into a cache
// folder and used from there afterwards. Where that fails three times the tests
// print a line that says `live: not run` and skip (-v shows it); once it is
// there, whatever fails is a failure. Without tmux the tests that need it skip
// with such a line each.
package live
