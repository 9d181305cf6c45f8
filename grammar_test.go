package main

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// kongHook is what kong makes of hook's command line, by the program's grammar.
func kongHook(t *testing.T, args []string) (hookCmd, *kong.Node, error) {
	t.Helper()
	var g grammar
	k, err := g.parser(kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(k.Model.Children, func(n *kong.Node) bool { return n.Name == "hook" })
	if i < 0 {
		t.Fatal("kong's grammar has no hook")
	}
	ctx, err := k.Parse(append([]string{"hook"}, args...))
	if err == nil {
		for _, f := range ctx.Flags() {
			// As in parse: kong itself can't tell a zero from a default.
			if f.Name == "timeout" && f.Set && g.Hook.Timeout == 0 {
				err = errors.New("zero")
			}
		}
	}
	return g.Hook, k.Model.Children[i], err
}

// TestHookGrammar holds hook's own reader against kong's grammar of hook:
// what it takes, it takes as kong does, and it takes every flag.
func TestHookGrammar(t *testing.T) {
	t.Parallel()
	var c hookCmd
	values, switches := c.flagTable()
	_, node, err := kongHook(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(node.Positional) > 0 || len(node.Children) > 0 {
		t.Error("hook takes more than flags, which its own reader doesn't know")
	}
	known := map[string]bool{}
	for _, f := range node.Flags {
		if f.Name == "help" {
			continue
		}
		known[f.Name] = true
		_, isValue := values[f.Name]
		_, isSwitch := switches[f.Name]
		if isSwitch != f.IsBool() || isValue == f.IsBool() {
			t.Errorf("--%s: kong's takes a value: %v; in the table it does: %v, is a switch: %v", f.Name, !f.IsBool(), isValue, isSwitch)
		}
		if len(f.Envs) > 0 || f.Negated || len(f.Aliases) > 0 {
			t.Errorf("--%s has a variable, a negation or an alias, which hook's own reader doesn't know", f.Name)
		}
		if f.Enum != "" && isValue {
			for word := range strings.SplitSeq(f.Enum, ",") {
				if values[f.Name](word) != nil {
					t.Errorf("--%s %s is refused by the table", f.Name, word)
				}
			}
			if values[f.Name]("no-such-word") == nil {
				t.Errorf("--%s takes any word", f.Name)
			}
		}
	}
	for name := range values {
		if !known[name] {
			t.Errorf("kong doesn't know --%s", name)
		}
	}
	for name := range switches {
		if !known[name] {
			t.Errorf("kong doesn't know --%s", name)
		}
	}

	for line, own := range map[string]bool{ // whether hook's own reader takes it
		"":                                  true,
		"--to|/tmp/1.sock":                  true,
		"--to=/tmp/1.sock":                  true,
		"--to=a=b":                          true,
		"--to=":                             true,
		"--to|":                             true,
		"--to|one|--to|two":                 true,
		"--as|the linter":                   true,
		"--text|{tool_name}, {x|y}":         true,
		"--text=-x":                         true,
		"--timeout|500ms":                   true,
		"--timeout=1m30s":                   true,
		"--timeout|10m":                     true,
		"--priority|later":                  true,
		"--priority=now":                    true,
		"--priority|now|--priority|next":    true,
		"--config-dir|/a,b|--config-dir=/c": true,
		"--snippet|Stop|--all":              true,
		"--dry-run|--if-present|--verbose|--allow-self|--allow-chain|--best-effort": true,
		"--if-present|--to|x|--verbose|--timeout|2s":                                true,

		// Not UTF-8.
		"--to|a\xffb|--as=\xe9|--text|\xc3":    true,
		"--config-dir=/caf\xe9|--snippet|\xff": true,

		"-v":                false, // kong's to take
		"--dry-run=true":    false,
		"--dry-run=false":   false,
		"--text|-x":         false,
		"--":                false,
		"--help":            false,
		"--no-such-flag":    false, // nobody's to take
		"--to":              false,
		"--to|x|--as":       false,
		"--timeout|0":       false,
		"--timeout|0s":      false,
		"--timeout=-1s":     false,
		"--timeout|11m":     false,
		"--timeout|soon":    false,
		"--timeout|":        false,
		"--priority|soon":   false,
		"--priority|":       false,
		"--json":            false,
		"surplus":           false,
		"--verbose|surplus": false,
		"--verb":            false,
		"-to|x":             false,
		"--to|--as|x":       false,
		"--verbose=maybe":   false,
		"--no-verbose":      false,
		"--dry-run|--raw":   false,
		"---to|x":           false,
	} {
		var args []string
		if line != "" {
			args = strings.Split(line, "|")
		}
		var got hookCmd
		if line == "--text|{tool_name}, {x|y}" {
			args = []string{"--text", "{tool_name}, {x|y}"}
		}
		took := got.read(args)
		want, _, err := kongHook(t, args)
		switch {
		case took != own:
			t.Errorf("%q: its own reader takes it: %v, want %v", args, took, own)
		case took && err != nil:
			t.Errorf("%q: its own reader takes it, kong says %v", args, err)
		case took:
			if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("%q: kong's is -, its own reader's +\n%s", args, diff)
			}
		}
	}
}

// What --snippet prints is the command line that it was given.
func TestSnippetCarriesEveryFlag(t *testing.T) {
	t.Parallel()
	given := map[string]string{"to": "a, b", "as": "the linter", "text": "{x|-y}", "timeout": "2s", "wait": "0s",
		"priority": "later", "config-dir": "/a b"}
	var want hookCmd
	values, switches := want.flagTable()
	var args []string
	for flag := range values {
		if flag == "snippet" {
			continue
		}
		if given[flag] == "" {
			t.Errorf("no value to try --%s with", flag)
		}
		args = append(args, "--"+flag, given[flag])
	}
	for flag := range switches {
		args = append(args, "--"+flag)
	}
	if !want.read(append(args, "--to=other")) {
		t.Fatalf("%q is refused", args)
	}
	var got hookCmd
	if carried := want.args(); carried[0] != "hook" || !got.read(carried[1:]) {
		t.Fatalf("%q is refused", carried)
	}
	if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("given is -, carried +\n%s", diff)
	}
}

// A token in an argument would stand in every list of processes, and a variable
// in a profile would change every hook.
func TestNoFlagTakesAToken(t *testing.T) {
	var g grammar
	k, err := g.parser(kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, n := range append(k.Model.Children, k.Model.Node) {
		for _, f := range n.Flags {
			flags++
			if len(f.Envs) > 0 || strings.Contains(f.Name, "token") || strings.Contains(f.Name, "key") {
				t.Errorf("%s --%s, variables %q", n.Name, f.Name, f.Envs)
			}
		}
	}
	if flags < 30 {
		t.Errorf("only %d flags: are they still looked at?", flags)
	}
}
