package envtoken

import (
	"strings"
	"unicode"
)

// longestNear bounds the names that are offered, in bytes: a record can hold a
// name of any length.
const longestNear = 128

// near gives the name of the live session that WHO could be a slip of, "" where
// there is none. Each three characters of it allow for one that is another, is
// missing, is too many, or has changed places with the next; its case counts for
// nothing, and three characters are enough to begin a name.
func near(who string, records []Record) string {
	kind, name := split(who)
	if _, isPID := parsePID(who); isPID || kind != "" && kind != "name" {
		return ""
	}
	typed := strings.ToLower(name)
	slips := min(len([]rune(typed))/3, 3)
	for n := range slips + 1 {
		for _, r := range records {
			if r.Err != nil || r.Name == "" || len(r.Name) > longestNear || strings.ContainsFunc(r.Name, unicode.IsControl) {
				continue
			}
			if other := strings.ToLower(r.Name); n > 0 && strings.HasPrefix(other, typed) || isSlip([]rune(typed), []rune(other), n) {
				return r.Name
			}
		}
	}
	return ""
}

// isSlip reports whether n slips of the hand or fewer make b of a.
func isSlip(a, b []rune, n int) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a)+len(b) <= n
	case n == 0:
		return false
	}
	return isSlip(a[1:], b[1:], n-1) || isSlip(a[1:], b, n-1) || isSlip(a, b[1:], n-1) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && isSlip(a[2:], b[2:], n-1)
}
