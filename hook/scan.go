package hook

import (
	"context"
	"errors"
)

const bom = "\uFEFF"

type state byte

const (
	blank    state = iota // before the value
	within                // inside an object or an array
	inString              // inside a string
	escaped               // after a backslash in one
	word                  // inside a number, true, false or null; it has no end of its own
	whole                 // the value is complete
	deep                  // MaxDepth exceeded
)

// scan finds the end of the first JSON value and its depth, looking at every
// byte once however the input is cut. It doesn't tell a bracket from a brace
// and checks nothing else: up to the first byte that is not valid JSON its
// depth is gjson's, and there gjson stops.
type scan struct {
	state state
	at    int // the next byte to look at
	start int // where the value begins
	depth int
}

// feed goes on with buf, which holds the input from its first byte. At whole,
// the value is buf[s.start:s.at].
func (s *scan) feed(buf []byte) {
	for s.at < len(buf) && s.state < whole {
		c := buf[s.at]
		switch s.state {
		case blank:
			s.first(buf, c)
		case within:
			switch c {
			case '"':
				s.state = inString
			case '{', '[':
				if s.depth++; s.depth > MaxDepth {
					s.state = deep
				}
			case '}', ']':
				if s.depth--; s.depth == 0 {
					s.state = whole
				}
			}
		case inString:
			for c != '"' && c != '\\' {
				if s.at++; s.at == len(buf) {
					return
				}
				c = buf[s.at]
			}
			switch {
			case c == '\\':
				s.state = escaped
			case s.depth == 0:
				s.state = whole
			default:
				s.state = within
			}
		case escaped:
			s.state = inString
		case word:
			if space(c) {
				s.state = whole
				return
			}
		}
		s.at++
	}
}

// first looks at a byte before the value.
func (s *scan) first(buf []byte, c byte) {
	i := s.at
	switch {
	case i < len(bom) && string(buf[:i+1]) == bom[:i+1]:
		return
	case i < len(bom) && buf[0] == bom[0]:
		s.state = whole // half a byte-order mark: no JSON, whatever follows
		return
	case space(c):
		return
	}
	s.start = i
	switch c {
	case '{', '[':
		s.state, s.depth = within, 1
	case '"':
		s.state = inString
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 't', 'f', 'n':
		s.state = word
	default:
		s.state = whole // no value begins like this: don't wait for more of it
	}
}

// end says what is wrong with the input if it ends here, because of cause: nil
// for its end, else the deadline or what the read said.
func (s *scan) end(cause error) error {
	// Only the end of the input ends a number, or as good: a deadline.
	last := cause == nil || errors.Is(cause, context.DeadlineExceeded)
	switch {
	case s.state == blank:
		return &Error{NoInput, cause}
	case s.state == whole, s.state == word && last:
		return nil
	case cause == nil:
		cause = errors.New("cut short")
	}
	return &Error{NotJSON, cause}
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
