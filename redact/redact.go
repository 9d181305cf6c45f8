// Package redact holds a session's token in a type that cannot print itself.
//
// Every way in which the standard library turns a value into text (fmt with
// any verb, log/slog, encoding/json and whatever else takes a TextMarshaler)
// gives the same placeholder, whether the token is set or not. The characters
// come out through [Token.Reveal] alone, which the program calls in one place:
// where the auth line is written. A test in this package holds the source to that.
//
// It does not protect against reflection with unsafe, a debugger or a core dump.
package redact

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Placeholder is what stands wherever a token would have been printed.
const Placeholder = "[redacted]"

// MinLen and MaxLen bound a token's length, in bytes. The tokens that sessions
// publish are 32 characters of hexadecimal; the bounds leave room for others.
const (
	MinLen = 16
	MaxLen = 512
)

// ErrBadToken says that a string is no token. It never quotes the string.
var ErrBadToken = errors.New("a token is 16 to 512 characters of A-Z a-z 0-9 . _ ~ + / = -")

// Token is one secret. The zero value is no token. Tokens can't be compared.
type Token struct {
	// A closure, because fmt doesn't call the methods of a value in another
	// struct's unexported field: it prints the field itself, and follows a
	// pointer where the verb is wrong. Of a function it prints the address.
	text func() string
}

// Parse takes a token as the environment or a key file spells it. The alphabet
// needs no escaping in JSON, so that the auth line is the token and a frame.
// The error is ErrBadToken.
func Parse(s string) (Token, error) {
	if len(s) < MinLen || len(s) > MaxLen {
		return Token{}, ErrBadToken
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("._~+/=-", c) >= 0:
		default:
			return Token{}, ErrBadToken
		}
	}
	return Token{func() string { return s }}, nil
}

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.text == nil }

// Reveal gives the token's characters, "" for no token. Only the writer of the
// auth line may call it.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return t.text()
}

// Scrub gives text with every occurrence of the token replaced: the last net
// under whatever is about to be printed.
func (t Token) Scrub(text string) string {
	if t.text == nil {
		return text
	}
	return strings.ReplaceAll(text, t.text(), Placeholder)
}

// String, GoString, Format, LogValue, MarshalJSON and MarshalText all give the
// placeholder.

func (Token) String() string                { return Placeholder }
func (Token) GoString() string              { return Placeholder }
func (Token) Format(f fmt.State, verb rune) { _, _ = f.Write([]byte(Placeholder)) }
func (Token) LogValue() slog.Value          { return slog.StringValue(Placeholder) }
func (Token) MarshalJSON() ([]byte, error)  { return []byte(`"` + Placeholder + `"`), nil }
func (Token) MarshalText() ([]byte, error)  { return []byte(Placeholder), nil }
