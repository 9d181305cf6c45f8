package redact_test

import (
	"fmt"

	"ccpost/redact"
)

func ExampleToken() {
	token, err := redact.Parse("6b1d0c52f3a94e8796b1d0c52f3a94e8")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v %q %#v\n", token, token, struct{ Token redact.Token }{token})
	fmt.Println(token.Scrub("refused: 6b1d0c52f3a94e8796b1d0c52f3a94e8"))
	_, err = redact.Parse("not a token")
	fmt.Println(err)

	// Output:
	// [redacted] [redacted] struct { Token redact.Token }{Token:[redacted]}
	// refused: [redacted]
	// a token is 16 to 512 characters of A-Z a-z 0-9 . _ ~ + / = -
}
