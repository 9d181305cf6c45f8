package hook

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// Tail keeps the last lines of what a command prints to several streams, in the
// order in which the lines were finished. However much is printed, and however
// long a line is, it holds a few times its limit in bytes.
type Tail struct {
	mu      sync.Mutex
	n       int // lines that are kept, at most
	limit   int // bytes of them, at most
	lines   []tailLine
	size    int // bytes in lines
	total   int // lines that there were
	streams []*Stream
}

type tailLine struct {
	text []byte
	cut  int // bytes that its beginning has lost
}

// NewTail keeps the last n lines, and at most limit bytes of them.
func NewTail(n, limit int) *Tail { return &Tail{n: n, limit: limit} }

// Stream is one of the streams that a Tail follows. Write never fails.
type Stream struct {
	tail *Tail
	part tailLine // of the line that isn't finished
}

// Stream gives one more stream to follow.
func (t *Tail) Stream() *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &Stream{tail: t}
	t.streams = append(t.streams, s)
	return s
}

func (s *Stream) Write(p []byte) (int, error) {
	s.tail.mu.Lock()
	defer s.tail.mu.Unlock()
	rest := p
	// Of many lines at once only the last matter.
	if i := lastLines(rest, s.tail.n); i > 0 {
		s.tail.total += bytes.Count(rest[:i], []byte{'\n'})
		s.part = tailLine{text: s.part.text[:0]}
		rest = rest[i:]
	}
	for {
		line, after, finished := bytes.Cut(rest, []byte{'\n'})
		s.add(line)
		if !finished {
			return len(p), nil
		}
		s.finish()
		rest = after
	}
}

// lastLines is where the last n finished lines of p begin.
func lastLines(p []byte, n int) int {
	i := len(p)
	for range n + 1 {
		if i = bytes.LastIndexByte(p[:i], '\n'); i < 0 {
			return 0
		}
	}
	return i + 1
}

// add appends to the line that isn't finished, and keeps its end.
func (s *Stream) add(b []byte) {
	s.part.text = append(s.part.text, b...)
	if len(s.part.text) > 2*s.tail.limit {
		s.shorten()
	}
}

func (s *Stream) shorten() {
	if over := len(s.part.text) - s.tail.limit; over > 0 {
		s.part.cut += over
		s.part.text = append(s.part.text[:0], s.part.text[over:]...)
	}
}

// finish makes the line one of those that are kept.
func (s *Stream) finish() {
	s.shorten()
	t := s.tail
	t.lines = append(t.lines, tailLine{bytes.Clone(s.part.text), s.part.cut})
	t.size += len(s.part.text)
	t.total++
	s.part = tailLine{text: s.part.text[:0]}
	for len(t.lines) > t.n || t.size > t.limit {
		first := &t.lines[0]
		if over := t.size - t.limit; len(t.lines) <= t.n && over < len(first.text) {
			first.text, first.cut = first.text[over:], first.cut+over
			t.size -= over
			break
		}
		t.size -= len(first.text)
		*first = tailLine{} // not to be held by the array
		t.lines = t.lines[1:]
	}
}

// Output is what was kept, as it came but for clean, which is given every line.
// Lines that aren't finished are taken for such.
func (t *Tail) Output(clean func(string) string) *Output {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.streams {
		if len(s.part.text) > 0 {
			s.finish()
		}
	}
	o := &Output{Total: t.total}
	for _, l := range t.lines {
		text := l.text
		// The cut may have gone through a character.
		for i := 0; l.cut > 0 && i < utf8.UTFMax-1 && len(text) > 0 && !utf8.RuneStart(text[0]); i++ {
			text = text[1:]
		}
		o.Lines = append(o.Lines, clean(string(text)))
		o.Cut += l.cut
	}
	return o
}
