// Package readme finds the parts of a document that a program writes or runs.
package readme

import (
	"fmt"
	"os"
	"strings"
)

// Section finds what stands between two comments, <!-- NAME --> and
// <!-- /NAME -->, on lines of their own. It gives the file up to and including
// the first comment, the section, and the rest from the last comment on. An error
// names what is missing.
func Section(file, name string) (before, section, after string, err error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	b, err := os.ReadFile(file)
	if err != nil {
		return "", "", "", err
	}
	before, rest, begun := strings.Cut(string(b), begin)
	section, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		return "", "", "", fmt.Errorf("%s has no section between %q and %q", file, begin, end)
	}
	return before + begin, section, end + after, nil
}

// Block is the text of the fenced block behind the comment <!-- recipe: NAME -->,
// without its last newline.
func Block(file, name string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(b), "<!-- recipe: "+name+" -->\n```")
	_, rest, fenced := strings.Cut(rest, "\n")
	text, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !fenced || !closed {
		return "", fmt.Errorf("%s has no block named %s", file, name)
	}
	return text, nil
}
