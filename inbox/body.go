package inbox

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// envelopeTag is the element in which a session looks for the sender.
const envelopeTag = "cross-session-message"

// maxName is the longest sender name, in code points: longer ones break the
// envelope (PROTOCOL.md, Who the message is from).
const maxName = 64

// DefaultFrom is the sender's name where the message bears none.
const DefaultFrom = "ccpost"

// envelope names the sender of an escaped body. It bears no reply address,
// because nobody answers there, and never a from-mode: that would be a forgery.
func envelope(from, body string) string {
	return "<" + envelopeTag + ` from-name="` + SenderName(from) + "\">\n" + body + "\n</" + envelopeTag + ">"
}

// SenderName makes a name that needs no escaping in the envelope: at most 64
// code points of letters, digits, space and . _ @ / + - with everything else
// made a hyphen. A name with a quote, an angle bracket or a newline would break
// the envelope, and the session would show it as text.
func SenderName(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.TrimSpace(name) {
		if n++; n > maxName {
			break
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._@/+-", r) {
			r = '-'
		}
		b.WriteRune(r)
	}
	// The cut can leave a space at the end.
	if s := strings.TrimSpace(b.String()); s != "" {
		return s
	}
	return DefaultFrom
}

// Clean makes text that a model can be given: what is not UTF-8 becomes U+FFFD
// (a lone surrogate makes every later request of a session fail), control
// characters other than newline and tab go, and so do terminal sequences; of a
// line that was redrawn with carriage returns, the last state stays.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == escape || 0x80 <= r && r <= 0x9f:
			i += sequence(s[i:])
			continue
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\n' || r == '\t' || r == '\r' || !unicode.IsControl(r):
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return lastStates(b.String())
}

// isClean spares the common case a copy.
func isClean(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

const (
	escape = 0x1b
	bell   = 0x07
)

// sequence gives the length of the terminal sequence (ECMA-48) that s begins
// with: at least its first character.
func sequence(s string) int {
	r, i := utf8.DecodeRuneInString(s)
	if r == escape {
		if i == len(s) {
			return i
		}
		// ESC and a letter is the seven-bit spelling of a C1 control.
		if c := s[i]; 0x40 <= c && c <= 0x5f {
			r = rune(c) + 0x40
			i++
		}
	}
	switch r {
	case 0x9b: // CSI: parameters, intermediates, one final
		i += span(s[i:], 0x30, 0x3f)
		i += span(s[i:], 0x20, 0x2f)
		if i < len(s) && 0x40 <= s[i] && s[i] <= 0x7e {
			i++
		}
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC: up to the string terminator
		i += controlString(s[i:])
	case escape: // intermediates and one final
		i += span(s[i:], 0x20, 0x2f)
		if i < len(s) && 0x30 <= s[i] && s[i] <= 0x7e {
			i++
		}
	}
	return i
}

// span counts the bytes at the start of s that lie between lo and hi.
func span(s string, lo, hi byte) int {
	n := 0
	for n < len(s) && lo <= s[n] && s[n] <= hi {
		n++
	}
	return n
}

// controlString gives the length of a control string with its terminator: BEL,
// ST, or ESC \. One that was never closed ends at its line, so that a cut
// sequence doesn't take the rest of the message with it.
func controlString(s string) int {
	for i, r := range s {
		switch r {
		case '\n':
			return i
		case bell:
			return i + 1
		case 0x9c:
			return i + utf8.RuneLen(r)
		case escape:
			if i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			return i
		}
	}
	return len(s)
}

// lastStates makes \r\n a newline, and of each line that holds carriage
// returns keeps what stands after the last one that something follows.
func lastStates(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.Lines(s) {
		text, newline := strings.CutSuffix(line, "\n")
		text = strings.TrimRight(text, "\r")
		b.WriteString(text[strings.LastIndexByte(text, '\r')+1:])
		if newline {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// escapeTags puts a backslash into whatever could be read as the envelope's
// start or end, as the vendor's client does, in any case and spacing.
func escapeTags(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			break
		}
		b.WriteString(s[:i+1])
		if s = s[i+1:]; looksLikeTag(s) {
			b.WriteByte('\\')
		}
	}
	if b.Len() == 0 {
		return s
	}
	b.WriteString(s)
	return b.String()
}

// looksLikeTag reports whether s, which follows a <, is the envelope's name
// with or without a slash, whatever space stands around it.
func looksLikeTag(s string) bool {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	s = strings.TrimLeftFunc(strings.TrimPrefix(s, "/"), unicode.IsSpace)
	return len(s) >= len(envelopeTag) && strings.EqualFold(s[:len(envelopeTag)], envelopeTag)
}
