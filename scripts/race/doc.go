// Package race tries to get a token by swapping what stands at an inbox's path
// while it is posted to.
//
// Contract: its test posts to one session's socket again and again, as a library
// and as a process, while the socket, its directory and the directory above are
// exchanged, as fast as can be, for links, for a stranger's sockets and for a
// stranger's directories. Not one byte may reach the stranger. Another run of the
// same, in which the check of the process behind the socket believes everything,
// must reach it: else the first has shown nothing.
//
// As root the stranger is another user; else it is another process of the same
// user, and its pid is what gives it away.
//
//	go test -v ./scripts/race -tries 120000
package race
