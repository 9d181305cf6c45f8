package hook

import (
	"context"
	"errors"
	"fmt"
)

// Reason says why there is no event, or no text.
type Reason string

const (
	NoInput     Reason = "no_input"   // nothing, white space, or silence until the deadline
	TooLarge    Reason = "too_large"  // more than MaxBytes
	NotJSON     Reason = "not_json"   // cut short, or never JSON
	NotObject   Reason = "not_object" // JSON, but an array or a scalar
	TooDeep     Reason = "too_deep"   // more than MaxDepth
	BadTemplate Reason = "template"   // Event.Expand and CheckTemplate
)

// Error is the only error type of this package. Err is the detail or the cause,
// nil where the reason says it all; a deadline is there for errors.Is.
type Error struct {
	Reason Reason
	Err    error
}

// Error is one line in lower case that shows nothing of the input.
func (e *Error) Error() string {
	var what string
	switch e.Reason {
	case NoInput:
		what = "nothing on standard input"
	case TooLarge:
		what = "the event is too large"
	case NotJSON:
		what = "the event is not JSON"
	case NotObject:
		what = "the event is not a JSON object"
	case TooDeep:
		what = "the event is nested too deep"
	default:
		what = "bad template"
	}
	switch {
	case e.Err == nil:
		return what
	case errors.Is(e.Err, context.DeadlineExceeded) && e.Reason == NoInput:
		return what + ": silent until the deadline"
	case errors.Is(e.Err, context.DeadlineExceeded):
		return what + ": still incomplete at the deadline"
	case errors.Is(e.Err, context.Canceled):
		return what + ": interrupted"
	}
	return what + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

func errTooDeep() *Error {
	return &Error{TooDeep, fmt.Errorf("more than %d levels", MaxDepth)}
}

// tooLarge names both sizes; whole says that size is all there was.
func tooLarge(size int64, whole bool) *Error {
	more := ""
	if !whole {
		more = " or more"
	}
	return &Error{TooLarge, fmt.Errorf("%d bytes%s, at most %d are taken", size, more, MaxBytes)}
}
