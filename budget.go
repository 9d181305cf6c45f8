package main

import (
	"context"
	"sync"
	"time"
)

// withTimeout is context.WithTimeout without a timer until somebody waits for
// Done. The first timer makes the runtime set up its poller and a thread to watch
// it, and the client only ever asks for the deadline and whether it has passed.
func withTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	base, cancel := context.WithCancel(parent)
	at := time.Now().Add(d)
	if by, ok := parent.Deadline(); ok && by.Before(at) {
		at = by
	}
	return &budget{Context: base, at: at}, cancel
}

type budget struct {
	context.Context
	at time.Time

	once  sync.Once
	timed context.Context
	stop  context.CancelFunc // of timed, which ends with Context in any case
}

func (b *budget) Deadline() (time.Time, bool) { return b.at, true }

func (b *budget) Done() <-chan struct{} {
	b.once.Do(func() { b.timed, b.stop = context.WithDeadline(b.Context, b.at) })
	return b.timed.Done()
}

func (b *budget) Err() error {
	if err := b.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(b.at) {
		return context.DeadlineExceeded
	}
	return nil
}
