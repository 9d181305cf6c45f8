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
// folder and used from there afterwards. A test that lacks something, which may
// be Claude Code after three attempts to fetch it, tmux, a user other than root,
// or something that the version hasn't got, skips with a line of its own (-v
// shows it) that begins with `live: not run: ` and the test's name. Whatever
// else fails is a failure.
//
// The README's picture of two terminals is made anew by one of the tests:
//
//	go test -tags live ./scripts/live -run TestPicture -picture ../../docs/session.svg
package live
