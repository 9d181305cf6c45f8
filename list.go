package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ccpost/envtoken"
	"ccpost/inbox"
)

// How much of a name and of a path the table shows.
const (
	nameColumns = 32
	dirColumns  = 64
)

type listCmd struct {
	ConfigDir []string `sep:"none" placeholder:"DIR" help:"Where the sessions' records are; may be repeated. Default: $CLAUDE_CONFIG_DIR, else ~/.claude."`
	Verbose   bool     `short:"v" help:"Also the records that don't count, and why."`
	JSON      bool     `name:"json" help:"Print one JSON array instead."`
}

func (c *listCmd) Validate() error { return absolute(c.ConfigDir) }

// listed is one session for a program.
type listed struct {
	Name      string       `json:"name"`
	Status    string       `json:"status"`
	PID       int          `json:"pid"`
	SessionID string       `json:"session_id"`
	Version   string       `json:"version"`
	Tmux      string       `json:"tmux"`
	Dir       string       `json:"dir"`
	StartedAt *time.Time   `json:"started_at"`
	ConfigDir string       `json:"config_dir"`
	Socket    string       `json:"socket"`
	Inbox     inbox.Name   `json:"inbox"` // reachable, or why not
	Reason    inbox.Reason `json:"reason"`
	Detail    string       `json:"detail"`
}

func (c *listCmd) run(a *app) int {
	a.ui.json = c.JSON
	f := &envtoken.Finder{Getenv: a.getenv, ConfigDirs: c.ConfigDir}
	records, errs := f.Records(a.ctx)
	rows := []listed{}
	table := [][]string{{"NAME", "STATUS", "PID", "ID", "VERSION", "TMUX", "DIRECTORY", "AGE", "INBOX"}}
	for _, r := range records {
		if r.Err != nil && !c.Verbose {
			continue
		}
		l := list(r)
		rows = append(rows, l)
		state := "ok"
		if l.Inbox != inbox.Reachable {
			state = string(l.Inbox)
			if l.Reason != "" {
				state += " (" + string(l.Reason) + ")"
			}
			if c.Verbose {
				state = l.Detail
			}
		}
		table = append(table, []string{
			cut(l.Name, nameColumns), cut(l.Status, nameColumns), fmt.Sprint(l.PID), r.ShortID(), cut(l.Version, nameColumns),
			cut(l.Tmux, nameColumns), cut(a.tilde(l.Dir), dirColumns), age(r.StartedAt), state,
		})
	}
	switch {
	case c.JSON:
		a.ui.object(rows)
	case len(rows) > 0:
		if width := terminalWidth(a.ui.out); width > 0 && !c.Verbose {
			table = narrowed(table, width)
		}
		for _, line := range columns(table) {
			a.ui.say(line)
		}
	case len(errs) == 0:
		a.ui.warn("no live session")
	}
	code := 0
	for _, e := range errs {
		if !c.JSON {
			a.ui.warn(e.Err.Error())
		}
		if code == 0 {
			code = e.Outcome.Exit()
		}
	}
	return a.ended(code)
}

// narrowed makes the table fit a terminal of so many columns: what is long is cut
// first, then columns are left out, the least missed first. Off a terminal every
// program finds all of them, and with --verbose every person does.
func narrowed(table [][]string, width int) [][]string {
	for _, step := range [...]struct {
		column string
		least  int // 0 leaves it out
	}{
		{"DIRECTORY", 24}, {"TMUX", 0}, {"VERSION", 0}, {"NAME", 20}, {"DIRECTORY", 12}, {"AGE", 0},
		{"ID", 0}, {"STATUS", 0}, {"DIRECTORY", 0}, {"NAME", 8},
	} {
		over := -width
		for _, w := range columnWidths(table) {
			over += w + gap
		}
		i := slices.Index(table[0], step.column)
		if over -= gap; over <= 0 {
			break
		} else if step.least == 0 {
			for r := range table {
				table[r] = append(table[r][:i], table[r][i+1:]...)
			}
			continue
		}
		most := max(step.least, columnWidths(table)[i]-over)
		for _, row := range table {
			row[i] = cut(row[i], most)
		}
	}
	return table
}

// list judges a record as a post would, up to the connection.
func list(r envtoken.Record) listed {
	l := listed{
		Name: r.Name, Status: r.Status, PID: r.PID, SessionID: r.ID, Version: r.Version, Tmux: r.Tmux,
		Dir: r.Cwd, ConfigDir: r.ConfigDir, Socket: r.Socket, Inbox: inbox.Reachable,
	}
	if !r.StartedAt.IsZero() {
		l.StartedAt = &r.StartedAt
	}
	err := r.Err
	if err == nil {
		_, err = r.Target()
	}
	if e := asError(err); e != nil {
		l.Inbox, l.Reason, l.Detail = e.Outcome, e.Reason, e.Error()
	}
	return l
}

// tilde shortens a path below the home directory.
func (a *app) tilde(path string) string {
	home := strings.TrimSuffix(a.getenv("HOME"), "/")
	if rest, ok := strings.CutPrefix(path, home); ok && home != "" && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return path
}

// age says how long ago something was, in one unit; "" where it isn't known.
func age(since time.Time) string {
	d := time.Since(since)
	switch {
	case since.IsZero():
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d/time.Second)))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}
