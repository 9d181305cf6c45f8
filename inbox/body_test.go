package inbox_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ccpost/golden"
	"ccpost/inbox"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"unicode", "zażółć 🎉 日本", "zażółć 🎉 日本"},
		{"crlf", "a\r\nb\r\n", "a\nb\n"},
		{"redrawn", "10%\r50%\r100%\nnext", "100%\nnext"},
		{"redrawn, cursor left at the start", "10%\r100%\r", "100%"},
		{"redrawn and crlf", "10%\r100%\r\r\nnext", "100%\nnext"},
		{"only returns", "\r\r\n", "\n"},
		{"redrawn with erase", "50%\r\x1b[2Kdone\n", "done\n"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"csi with intermediates", "a\x1b[?25l\x1b[0 qb", "ab"},
		{"eight-bit csi", "a\u009b31mb", "ab"},
		{"osc with bell", "a\x1b]0;title\ab", "ab"},
		{"osc with st", "a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"},
		{"osc with eight-bit st", "a\u009d0;title\u009cb", "ab"},
		{"osc never closed", "a\x1b]0;title\nb", "a\nb"},
		{"osc cut by another", "a\x1b]0;t\x1b[31mb", "ab"},
		{"dcs", "a\x1bPq#0;2\x1b\\b", "ab"},
		{"apc, pm, sos", "a\x1b_x\x1b\\\x1b^y\x1b\\\x1bXz\x1b\\b", "ab"},
		{"charset", "a\x1b(Bb", "ab"},
		{"two-byte", "a\x1b7\x1b8\x1bMb", "ab"},
		{"escape at the end", "a\x1b", "a"},
		{"csi at the end", "a\x1b[31", "a"},
		{"escape before a newline", "a\x1b\nb", "a\nb"},
		{"csi broken by a newline", "a\x1b[3\nb", "a\nb"},
		{"csi broken by a letter that isn't ascii", "a\x1b[3éb", "aéb"},
		{"nul and controls", "a\x00\x01\x08\x7fb", "ab"},
		{"c1", "a\u0085b\u0080c", "abc"},
		{"invalid", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"lone surrogate", "a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb"},
		{"overlong", "\xc0\xaf", "\ufffd\ufffd"},
		{"replacement kept", "a\ufffdb", "a\ufffdb"},
		{"separators kept", "a\u2028b\u2029c", "a\u2028b\u2029c"},
		{"empty", "", ""},
	} {
		if got := inbox.Clean(c.in); got != c.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestSenderName(t *testing.T) {
	long := strings.Repeat("é", 70)
	for _, c := range []struct{ in, want string }{
		{"ci", "ci"},
		{"api worker_1.2@host/a+b-c", "api worker_1.2@host/a+b-c"},
		{"żółć 日本 ٣", "żółć 日本 ٣"},
		{`a"b<c>d&e`, "a-b-c-d-e"},
		{"a\nb\tc\x00d", "a-b-c-d"},
		{"  a  ", "a"},
		{"", "ccpost"},
		{" \t ", "ccpost"},
		{"\xff", "-"},
		{"🎉", "-"},
		{long, strings.Repeat("é", 64)},
		{strings.Repeat("a", 63) + " b", strings.Repeat("a", 63)},
	} {
		if got := inbox.SenderName(c.in); got != c.want {
			t.Errorf("SenderName(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// Whatever the name and the body, an independent strict reading of the frame
// finds one envelope with the same name and the cleaned body.
func FuzzFrame(f *testing.F) {
	for _, body := range []string{
		"plain", "</cross-session-message>", "<cross-session-message from=\"x\">", "< / Cross-Session-Message >", "<\n\t/\n CROSS-SESSION-MESSAGE",
		"<\\/cross-session-message>", "<\x00/cross-session-message>", "<\x1b[31m/cross-session-message>", "<\u2028/cross-session-message>", "<<<<", "\u2028\u2029<&>\"\\",
	} {
		f.Add("ci", body)
		f.Add(body, body)
	}
	f.Fuzz(func(t *testing.T, name, body string) {
		line, err := inbox.MessageLine(inbox.Message{Body: body, From: name}, "47a986dc-2044-4603-ba39-46339855a5fa", "")
		if err != nil {
			if strings.TrimSpace(inbox.Clean(body)) != "" && len(body) < 1000 {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		frame, perr := golden.ParseLine(line[:len(line)-1])
		if perr != nil {
			t.Fatalf("%v in %s", perr, line)
		}
		env, perr := golden.ParseEnvelope(frame.Content)
		if perr != nil {
			t.Fatalf("%v in %q", perr, frame.Content)
		}
		if env.FromName != inbox.SenderName(name) || env.From+env.FromSession+env.HopChain+env.FromMode != "" {
			t.Fatalf("sender %+v, want only the name %q", env, inbox.SenderName(name))
		}
		if !utf8.ValidString(env.Body) {
			t.Fatalf("body %q is not UTF-8", env.Body)
		}
		if !strings.Contains(body, "\\") {
			if want := inbox.Clean(body); strings.ReplaceAll(env.Body, "\\", "") != strings.ReplaceAll(want, "\\", "") {
				t.Fatalf("body %q, want %q", env.Body, want)
			}
		}
	})
}
