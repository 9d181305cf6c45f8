package precheck

import (
	"os"
	"strconv"
	"strings"
)

// mapped reports whether this user namespace maps a user id.
func mapped(uid int64) (bool, error) {
	data, err := os.ReadFile("/proc/self/uid_map")
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line) // the first id inside, the first outside, how many
		if len(f) != 3 {
			continue
		}
		first, err := strconv.ParseInt(f[0], 10, 64)
		n, _ := strconv.ParseInt(f[2], 10, 64)
		if err == nil && first <= uid && uid-first < n {
			return true, nil
		}
	}
	return false, err
}
