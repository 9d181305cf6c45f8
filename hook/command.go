package hook

import (
	"fmt"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// Command is a command that has ended, or that could not be started.
type Command struct {
	Args   []string
	Label  string         // stands for the command line; may be empty
	Err    error          // why it could not be started
	Code   int            // its exit code, where no signal ended it
	Signal syscall.Signal // what ended it; 0 where it ended by itself
	Took   time.Duration
	Output *Output // nil where it wasn't watched
}

// Output is the end of what a command printed.
type Output struct {
	Lines []string // the last lines, cleaned, each without its newline
	Total int      // how many lines there were in all
	Cut   int      // how many bytes the beginnings of Lines have lost
}

// maxCommand is how much of a command line the text shows, in characters.
const maxCommand = 200

// Text is one line that says which command, how it ended and how long it took,
// since the terminal's preview shows no more; then the end of its output between
// fences that nothing in it can close. It is valid UTF-8 of at most limit bytes,
// and says what was cut.
func (c Command) Text(limit int) string {
	head := c.head(limit)
	if block := c.Output.block(limit - len(head) - 1); block != "" {
		return head + "\n" + block
	}
	return Cap(head, limit)
}

// head is the first line. Where it is longer than limit bytes, what it calls the
// command gives way: how that ended is the news.
func (c Command) head(limit int) string {
	what := c.Label
	if isBlank(what) {
		var words []string
		for _, arg := range c.Args {
			words = append(words, Quote(arg))
		}
		what = strings.Join(words, " ")
	}
	what, end := shortened(what), ": "+c.end()
	if room := limit - len(end); len(what) > room {
		const more = "…"
		what = what[:boundary(what, max(room-len(more), 0))] + more
	}
	return what + end
}

// end says how the command ended.
func (c Command) end() string {
	switch {
	case c.Err != nil:
		return "could not start: " + shortened(c.Err.Error())
	case c.Signal != 0:
		return "killed by " + signalName(c.Signal) + " after " + duration(c.Took)
	case c.Code != 0:
		return fmt.Sprintf("exit code %d after %s", c.Code, duration(c.Took))
	}
	return "ok after " + duration(c.Took)
}

// shortened is at most maxCommand characters of s on one line.
func shortened(s string) string {
	if cut := oneLine(s, maxCommand); cut == oneLine(s, maxCommand+1) {
		return cut
	}
	return oneLine(s, maxCommand-1) + "…"
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// duration is a time as a person would tell it.
func duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d.Milliseconds(), 1))
	case d < 10*time.Second:
		return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}

// Quote makes one word for a shell.
func Quote(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("/._-+=:,@%", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

const (
	// minBlock is the room below which no output is shown, in bytes: what
	// stands around it takes most of that.
	minBlock = 192

	// maxFence is the longest fence that is let take the output's room.
	maxFence = 16
)

// block is the output, named as what it is, in at most room bytes; "" where there
// is none to show.
func (o *Output) block(room int) string {
	switch {
	case o == nil || room < minBlock:
		return ""
	case o.Total == 0:
		return "no output"
	}
	text := strings.ToValidUTF8(strings.Join(o.Lines, "\n"), "\uFFFD")
	whole := len(text)
	// The largest number there could be, so that the real one has room.
	room -= len(o.title(whole)) + len("\n\n\n")
	f := fence(text)
	if len(f) > maxFence {
		// Half of the room is for the fences, which are at most as long as the text.
		text = last(text, room/4)
		f = fence(text)
	}
	text = last(text, room-2*len(f))
	return o.title(whole-len(text)) + "\n" + f + "\n" + text + "\n" + f
}

// title names the output; cut is how many bytes of the lines aren't shown.
func (o *Output) title(cut int) string {
	s := "output of the command"
	switch n := len(o.Lines); {
	case n == 1 && o.Total > 1:
		s += fmt.Sprintf(", the last of %d lines", o.Total)
	case n < o.Total:
		s += fmt.Sprintf(", the last %d of %d lines", n, o.Total)
	}
	if cut += o.Cut; cut > 0 {
		s += fmt.Sprintf(" [… %d bytes cut]", cut)
	}
	return s + ":"
}

// last is the end of s from a whole character on, of at most n bytes.
func last(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-max(n, 0):]
	for len(s) > 0 && s[0]&0xc0 == 0x80 {
		s = s[1:]
	}
	return s
}

// fence is longer than any in text. A fence of backticks is closed by backticks
// alone, wherever a reader may look for them.
func fence(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
