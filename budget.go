package main

import (
	"context"
	"sync"
	"time"
)

// withTimeout is context.WithTimeout without a timer until somebody waits for
// Done. A first timer makes the runtime set up its poller and start a thread,
// which costs a hook as much as its whole look at the socket, and the client
// only ever asks for the deadline and whether it has passed.
func withTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	base, cancel := context.WithCancel(parent)
	at := time.Now().Add(d)
	if by, ok := parent.Deadline(); ok && by.Before(at) {
		at = by
	}
	return &budget{Context: base, at: at, timed: sync.OnceValue(func() context.Context {
		timed, stop := context.WithDeadline(base, at)
		context.AfterFunc(base, stop)
		return timed
	})}, cancel
}

type budget struct {
	context.Context
	at    time.Time
	timed func() context.Context
}

func (b *budget) Deadline() (time.Time, bool) { return b.at, true }

func (b *budget) Done() <-chan struct{} { return b.timed().Done() }

func (b *budget) Err() error {
	if err := b.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(b.at) {
		return context.DeadlineExceeded
	}
	return nil
}
