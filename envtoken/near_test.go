package envtoken

import (
	"errors"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	records := func(names ...string) (rs []Record) {
		for _, name := range names {
			rs = append(rs, Record{Session: &Session{Name: name}})
		}
		return rs
	}
	long := strings.Repeat("x", longestNear)
	for _, c := range []struct {
		who   string
		names []string
		want  string
	}{
		{"ap1", []string{"web", "api"}, "api"},         // another
		{"ai", []string{"api"}, ""},                    // too little to tell
		{"aip", []string{"api"}, "api"},                // swapped
		{"appi", []string{"api"}, "api"},               // too many
		{"apis", []string{"api"}, "api"},               // too many, at the end
		{"ap", []string{"api", "AP"}, "AP"},            // case alone
		{"API", []string{"apo", "api"}, "api"},         // the nearest
		{"api", []string{"api-server"}, "api-server"},  // begun
		{"name:ap1", []string{"api"}, "api"},           // without what says what it is
		{"frontned", []string{"frontend"}, "frontend"}, // two in six
		{"frnotned", []string{"frontend"}, "frontend"}, // two swaps
		{"frxxxend", []string{"frontend"}, ""},         // three in eight
		{"xxxntend-web", []string{"frontend-web"}, "frontend-web"},
		{"xxxxtend-web-long-name", []string{"frontend-web-long-name"}, ""}, // never more than three
		{"東亰都", []string{"東京都"}, "東京都"},
		{"straße", []string{"strase"}, "strase"},
		{"b", []string{"a"}, ""},
		{"api", nil, ""},
		{"api", []string{""}, ""},
		{"api", []string{"ap\x1bi", "ap\ni", "ap\x7fi", "ap\u009bi"}, ""},
		{"1234", []string{"12345"}, ""},
		{"pid:123", []string{"124"}, ""},
		{"id:abcdefgi", []string{"abcdefgh"}, ""},
		{"/ap1", []string{"/api"}, ""},
		{"@api", []string{"@ap1"}, ""},
		{"dir:ap1", []string{"api"}, ""},
		{"uds:ap1", []string{"api"}, ""},
		{"", []string{"a"}, ""},
		{long[1:], []string{long}, long},
		{long, []string{long + "x"}, ""},
	} {
		if got := near(c.who, records(c.names...)); got != c.want {
			t.Errorf("%q among %q is near to %q, want %q", c.who, c.names, got, c.want)
		}
	}
	dead := records("api")
	dead[0].Err = errors.New("gone")
	if got := near("ap1", dead); got != "" {
		t.Errorf("%q is offered, which is dead", got)
	}
}
