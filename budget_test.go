package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A budget is what context.WithTimeout would be.
func TestBudget(t *testing.T) {
	t.Parallel()
	type key struct{}
	parent := context.WithValue(t.Context(), key{}, "value")
	before := time.Now()
	ctx, cancel := withTimeout(parent, time.Hour)
	if at, ok := ctx.Deadline(); !ok || at.Before(before.Add(time.Hour)) || at.After(time.Now().Add(time.Hour)) {
		t.Errorf("deadline %v %v", at, ok)
	}
	if ctx.Err() != nil || context.Cause(ctx) != nil || ctx.Value(key{}) != "value" {
		t.Errorf("%v, %v, %v", ctx.Err(), context.Cause(ctx), ctx.Value(key{}))
	}
	select {
	case <-ctx.Done():
		t.Error("done before its time")
	default:
	}
	shorter, stop := withTimeout(ctx, 2*time.Hour)
	defer stop()
	if at, _ := shorter.Deadline(); at.After(time.Now().Add(time.Hour)) {
		t.Errorf("it outlives its parent: %v", at)
	}
	cancel()
	for _, c := range []context.Context{ctx, shorter} {
		<-c.Done()
		if !errors.Is(c.Err(), context.Canceled) || !errors.Is(context.Cause(c), context.Canceled) {
			t.Errorf("%v, %v", c.Err(), context.Cause(c))
		}
	}
}

func TestBudgetPasses(t *testing.T) {
	t.Parallel()
	ctx, cancel := withTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for end := time.Now().Add(patience); ctx.Err() == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		t.Errorf("%v, %v", ctx.Err(), context.Cause(ctx))
	}
	ctx, cancel = withTimeout(t.Context(), time.Millisecond)
	defer cancel()
	child, stop := context.WithCancel(ctx)
	defer stop()
	<-child.Done() // whoever waits is told
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || child.Err() == nil {
		t.Errorf("%v, %v", ctx.Err(), child.Err())
	}
	why := errors.New("a signal")
	parent, end := context.WithCancelCause(t.Context())
	ctx, cancel = withTimeout(parent, time.Hour)
	defer cancel()
	end(why)
	if !errors.Is(ctx.Err(), context.Canceled) || context.Cause(ctx) != why {
		t.Errorf("%v, %v", ctx.Err(), context.Cause(ctx))
	}
}
