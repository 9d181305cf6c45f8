// Package readme finds the parts of a document that a program writes: each
// stands between two comments, <!-- NAME --> and <!-- /NAME -->, on lines of
// their own.
package readme

import (
	"fmt"
	"os"
	"strings"
)

// Section gives a file up to and including a section's first comment, the
// section, and the rest from its last comment on. An error names what is missing.
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
