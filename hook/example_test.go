package hook_test

import (
	"context"
	"fmt"
	"strings"

	"ccpost/hook"
)

// An event that ends a turn becomes a message to another session, and none to its
// own, where it would start the next turn.
func ExampleEvent() {
	ctx := context.Background()
	stdin := strings.NewReader(`{"hook_event_name":"Stop","session_id":"1f6e","cwd":"/home/ada/api","last_assistant_message":"The migration is done."}`)
	raw, err := hook.Read(ctx, stdin)
	if err != nil {
		fmt.Println(err)
		return
	}
	event, err := hook.Parse(raw)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, skip := event.Guard(false); !skip { // to another session
		fmt.Println(event.Text())
	}
	if reason, skip := event.Guard(true); skip { // to its own
		what, _, _ := strings.Cut(reason, ";") // behind it: what to do about it
		fmt.Println("skipped:", what)
	}
	hook.Drain(ctx, stdin, hook.AfterValue)

	// Output:
	// Stop in api: The migration is done.
	// skipped: Stop to its own session: the message would start a turn that ends in Stop again
}
