package drift

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ccpost/golden/capture"
	"ccpost/scripts/scratch"
)

// Difference is one field that is not as it was captured.
type Difference struct {
	Where string // what was compared, as in "receipt held"
	Field string // as in "message.role"
	Want  string // the captured value as JSON, or ours in its place; empty where the field is new
	Got   string // empty where the field is missing; of a new one its type
}

// New reports whether there is only more than was captured, which nothing here
// depends on.
func (d Difference) New() bool { return d.Want == "" }

func (d Difference) String() string {
	switch {
	case d.New():
		return fmt.Sprintf("%s: a new field %s (%s)", d.Where, d.Field, d.Got)
	case d.Got == "":
		return fmt.Sprintf("%s: %s is missing, which should be %s", d.Where, d.Field, d.Want)
	}
	return fmt.Sprintf("%s: %s is %s, not %s", d.Where, d.Field, d.Got, d.Want)
}

// rule decides whether a value of one field is as captured.
type rule func(want, got any) bool

// subject is one captured line, and what may differ from it. A field without a
// rule must have the captured value.
type subject struct {
	where string
	file  string // in golden/capture
	line  int    // of the file, from 0
	rules map[string]rule

	// ours are the fields that must have another value here than was captured;
	// gone as a value says that there must be none, free that nothing matters.
	ours map[string]any
}

type (
	gone struct{}
	free struct{}
)

// with is the subject with one more value of ours.
func (s subject) with(field string, v any) subject {
	s.ours = maps.Clone(s.ours)
	if s.ours == nil {
		s.ours = map[string]any{}
	}
	s.ours[field] = v
	return s
}

// compare holds one line against its capture. The error says that there is
// nothing to compare.
func (s subject) compare(line []byte) ([]Difference, error) {
	data, err := capture.Files.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	return s.compareWith(bytes.Split(data, []byte("\n"))[s.line], line)
}

func (s subject) compareWith(captured, line []byte) ([]Difference, error) {
	want, err := object(captured)
	if err != nil {
		return nil, fmt.Errorf("%s, as captured: %w", s.where, err)
	}
	got, err := object(line)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.where, err)
	}
	return s.fields("", want, got), nil
}

func object(line []byte) (o map[string]any, err error) {
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fmt.Errorf("no object")
	}
	return o, nil
}

// fields compares two objects, those inside them too. Differences come in the
// order of their fields' names.
func (s subject) fields(under string, want, got map[string]any) (all []Difference) {
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	for field := range s.ours {
		if name, ok := strings.CutPrefix(field, under); ok && !strings.Contains(name, ".") {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		field := under + name
		w, captured := want[name]
		if ours, ok := s.ours[field]; ok {
			w, captured = ours, ours != gone{}
		}
		if w == any(free{}) {
			continue
		}
		g, there := got[name]
		switch {
		case !captured && there:
			all = append(all, Difference{s.where, field, "", typeOf(g)})
		case captured && !there:
			all = append(all, Difference{s.where, field, show(field, w), ""})
		case captured:
			all = append(all, s.values(field, w, g)...)
		}
	}
	return all
}

func (s subject) values(field string, want, got any) []Difference {
	if r := s.rules[field]; r != nil {
		if !r(want, got) {
			return []Difference{{s.where, field, show(field, want), show(field, got)}}
		}
		return nil
	}
	if w, ok := parts(want); ok {
		if g, ok := parts(got); ok && reflect.TypeOf(want) == reflect.TypeOf(got) {
			return s.fields(field+".", w, g)
		}
	}
	if !reflect.DeepEqual(want, got) {
		return []Difference{{s.where, field, show(field, want), show(field, got)}}
	}
	return nil
}

// parts gives what has fields of its own: an object; a list, whose strings are a
// set, for nothing depends on their order; and an envelope.
func parts(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case []any:
		o := map[string]any{}
		for i, e := range v {
			if text, ok := e.(string); ok {
				o[text] = true
			} else {
				o[strconv.Itoa(i)] = e
			}
		}
		return o, true
	case string:
		m := envelope.FindStringSubmatch(v)
		if m == nil {
			return nil, false
		}
		o := map[string]any{"body": m[2]}
		for _, a := range attribute.FindAllStringSubmatch(m[1], -1) {
			o[a[1]] = a[2]
		}
		return o, true
	}
	return nil, false
}

var (
	envelope  = regexp.MustCompile(`(?s)^<cross-session-message((?: [a-z-]+="[^"]*")*)>\n(.*)\n</cross-session-message>$`)
	attribute = regexp.MustCompile(` ([a-z-]+)="([^"]*)"`)
)

// like takes another value of the same type and the same look.
func like(want, got any) bool {
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		return false
	}
	switch w := want.(type) {
	case float64:
		return w < milliseconds || got.(float64) >= milliseconds
	case string:
		for _, shape := range shapes {
			if shape.MatchString(w) {
				return shape.MatchString(got.(string))
			}
		}
		return (w == "") == (got == "")
	}
	return true
}

// milliseconds since 1970 are at least that many in our days.
const milliseconds = 1e12

// shapes are the looks of a string; the first that the captured one has counts.
var shapes = []*regexp.Regexp{
	regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
	regexp.MustCompile(`^[0-9a-f]{32}$`),
	regexp.MustCompile(`^[0-9]+$`),
	regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`),
	regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`),
	regexp.MustCompile(`^linux:[0-9a-f]{32}:pid:\[\d+\]$`),
	regexp.MustCompile(`^uds:/.*\.sock$`),
	regexp.MustCompile(`^/.*\.sock$`),
	regexp.MustCompile(`^/.*/projects/[-0-9A-Za-z]+/[0-9a-f-]{36}\.jsonl$`),
	regexp.MustCompile(`^/`),
	regexp.MustCompile(`^toolu_`),
}

// holds takes a text with the wanted one in it.
func holds(want, got any) bool {
	w, _ := want.(string)
	g, ok := got.(string)
	return ok && strings.Contains(g, w)
}

// show is a value for a person. What could be a token isn't shown.
func show(field string, v any) string {
	if text, ok := v.(string); ok && strings.HasSuffix(strings.ToLower(field), "token") {
		return fmt.Sprintf("[a string of %d characters]", len(text))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	text := scratch.Redact(strings.TrimSpace(out.String()))
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "list"
	}
	return "object"
}
