// Package ledger posts with thousands of real ccpost processes, up to 64 at
// once, to stand-in sessions that misbehave in every way that a session can, and
// holds what each post said of itself against what the session's process read.
//
//	go test -v ./scripts/ledger -posts 10000
//	go test -v ./scripts/ledger -posts 10000 -seed 7
//
// Contract: a session is a process of its own, package golden's behind a front
// that reads, stalls and closes as it likes. The front reads straight into a
// mapped file, the tape of that connection, so that what a session has read is
// known to the byte however it ended, and looks before it closes at what it
// leaves unread. The poster's word is never taken for what arrived.
//
// A seed settles what is tried, not what comes of it: that is up to the
// scheduler. It runs on Linux.
package ledger
