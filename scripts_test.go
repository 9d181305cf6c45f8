package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"ccpost/golden"
	"ccpost/golden/update"
	"ccpost/inbox"
)

// TestScripts runs the command-line scripts in golden/scripts, one topic each.
//
// A script starts outside of any session, with PATH, an empty HOME and a short
// directory $S for sockets. Besides testscript's own commands it has:
//
//	session NAME [FLAG...]   starts a stand-in session in a process of its own, with the
//	                         flags of standin; sets $NAME_SOCKET, _CONFIG, _PID and _ID
//	inside NAME              sets the variables that the session's hooks would get
//	outside                  empties them
//	killed NAME              kills the session and waits for its end
//	exits CODE PROGRAM...    runs a program, and holds it to this very exit code
//	object FIELD=VALUE...    holds what was printed to one JSON report with these values,
//	                         and to nothing on standard error; here and above A|B is either
//	arrived NAME             prints the lines that came: tokens, ids and paths by name
//	bodies NAME              prints the messages that came, each under its sender's name
//	nothing NAME...          holds these sessions to having been sent nothing
//	fill FILE SIZE TEXT      makes a file of TEXT again and again
//	socket KIND PATH         makes a socket that is no session's: bound, datagram
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "golden/scripts",
		UpdateScripts:       *update.Golden,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			dir, err := os.MkdirTemp("/tmp", "cc")
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(dir) })
			home := filepath.Join(dir, "home")
			hooks, err := filepath.Abs("golden/capture/hook-input")
			if err != nil {
				return err
			}
			env.Setenv("S", dir)
			env.Setenv("HOME", home)
			env.Setenv("TMPDIR", dir)
			env.Setenv("CAPTURED", hooks)
			env.Values[sessionsKey{}] = map[string]*scripted{}
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"session": scriptSession,
			"inside":  scriptInside,
			"outside": scriptOutside,
			"killed":  scriptKilled,
			"exits":   scriptExits,
			"object":  scriptObject,
			"arrived": scriptArrived,
			"bodies":  scriptBodies,
			"nothing": scriptNothing,
			"fill":    scriptFill,
			"socket":  scriptSocket,
		},
	})
}

type sessionsKey struct{}

// scripted is a session of a script.
type scripted struct {
	announced
	cmd    *exec.Cmd
	killed bool
	lines  string // the file for what arrives
	names  *strings.Replacer
}

func sessionOf(ts *testscript.TestScript, args []string) *scripted {
	if len(args) != 1 {
		ts.Fatalf("one session's name is wanted")
	}
	s := ts.Value(sessionsKey{}).(map[string]*scripted)[args[0]]
	if s == nil {
		ts.Fatalf("no session is named %s", args[0])
	}
	return s
}

func scriptSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: session NAME [FLAG...]")
	}
	name, dir := args[0], ts.Getenv("S")
	s := &scripted{lines: filepath.Join(dir, name+".lines")}
	token, key := envToken+name, keyToken+name
	cmd := exec.Command("standin", append([]string{
		"-sockets", filepath.Join(dir, name), "-config", filepath.Join(dir, name+"-config"), "-name", name,
		"-token", token, "-key", key, "-lines", s.lines,
	}, args[1:]...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s.cmd = cmd
	ts.Defer(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil && !s.killed {
			fmt.Fprintln(os.Stderr, "the stand-in session", name+":", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	ts.Check(err)
	ts.Check(json.Unmarshal(line, &s.announced))
	id := lookup(s.Environ, "CLAUDE_CODE_SESSION_ID")
	s.names = strings.NewReplacer(token, "ENV-TOKEN", key, "KEY-TOKEN", id, "SESSION-ID")
	ts.Value(sessionsKey{}).(map[string]*scripted)[name] = s
	for k, v := range map[string]string{
		"SOCKET": s.Path, "CONFIG": filepath.Join(dir, name+"-config"), "PID": strconv.Itoa(s.PID), "ID": id,
	} {
		ts.Setenv(name+"_"+k, v)
	}
}

// scriptKilled kills a session and waits for its end: until then its socket
// still takes connections.
func scriptKilled(ts *testscript.TestScript, neg bool, args []string) {
	s := sessionOf(ts, args)
	ts.Check(s.cmd.Process.Kill())
	s.killed = true
	_ = s.cmd.Wait()
}

func scriptInside(ts *testscript.TestScript, neg bool, args []string) {
	for _, e := range sessionOf(ts, args).Environ {
		key, value, _ := strings.Cut(e, "=")
		ts.Setenv(key, value)
	}
}

func scriptOutside(ts *testscript.TestScript, neg bool, args []string) {
	for _, key := range []string{"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_CONFIG_DIR"} {
		ts.Setenv(key, "")
	}
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if !oneOf(args[0], strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
	if args[1] == "ccpost" {
		if part, found := leak(ts.ReadFile("stdout")+ts.ReadFile("stderr"), envToken, keyToken); found {
			ts.Fatalf("it printed %q of a token", part)
		}
	}
}

// oneOf reports whether got is one of the words in want, which | divides.
func oneOf(want, got string) bool { return slices.Contains(strings.Split(want, "|"), got) }

// reportKeys are the fields of --json, in their order.
var reportKeys = []string{"outcome", "class", "reason", "detail", "hint", "exit", "sent", "auth", "evidence", "session_id", "name", "pid", "socket", "msg_id", "elapsed_ms"}

func scriptObject(ts *testscript.TestScript, neg bool, args []string) {
	if errs := ts.ReadFile("stderr"); errs != "" {
		ts.Fatalf("standard error isn't empty: %s", errs)
	}
	fields, err := reportOf(ts.ReadFile("stdout"))
	ts.Check(err)
	for _, arg := range args {
		key, want, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("usage: object FIELD=VALUE...")
		}
		if got := fmt.Sprint(fields[key]); !oneOf(want, got) {
			ts.Fatalf("%s is %q, want %q, in %v", key, got, want, fields)
		}
	}
}

// reportOf reads the one JSON object of --json, and holds it to what is true
// of every report.
func reportOf(out string) (map[string]any, error) {
	line, rest, _ := strings.Cut(out, "\n")
	if rest != "" {
		return nil, fmt.Errorf("more than one line: %q", out)
	}
	// encoding/json keeps no order of keys, so they are read one by one.
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("no object: %q", out)
	}
	fields := map[string]any{}
	var keys []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		fields[key.(string)] = value
		keys = append(keys, key.(string))
	}
	if diff := cmp.Diff(reportKeys, keys); diff != "" {
		return nil, fmt.Errorf("the fields: %s", diff)
	}
	for _, key := range keys {
		_, isNumber := fields[key].(json.Number)
		_, isBool := fields[key].(bool)
		if isNumber != slices.Contains([]string{"exit", "pid", "elapsed_ms"}, key) || isBool != (key == "sent") {
			return nil, fmt.Errorf("%s has the wrong type: %q", key, out)
		}
	}
	outcome := inbox.Name(fields["outcome"].(string))
	row := outcome.Row()
	detail := fields["detail"].(string)
	switch {
	case row.Name != outcome:
		return nil, fmt.Errorf("no outcome is named %s", outcome)
	case fmt.Sprint(fields["exit"]) != strconv.Itoa(row.Exit) && !signalExit.MatchString(fmt.Sprint(fields["exit"])), fields["class"] != row.Class():
		return nil, fmt.Errorf("%s has exit %v and class %v", outcome, fields["exit"], fields["class"])
	case !strings.HasPrefix(detail, string(outcome)+": "+row.Sentence), strings.Contains(detail, "\n"):
		return nil, fmt.Errorf("the detail is %q", detail)
	case !slices.Contains([]string{"none", "offered", "refused", "confirmed"}, fields["auth"].(string)),
		!slices.Contains([]string{"none", "read", "transcript", "receipt"}, fields["evidence"].(string)):
		return nil, fmt.Errorf("auth is %q and evidence %q", fields["auth"], fields["evidence"])
	case row.Exit != 0 && fields["hint"] == "":
		return nil, fmt.Errorf("%s says nothing about what to do", outcome)
	}
	return fields, nil
}

// signalExit is 128 and a signal.
var signalExit = regexp.MustCompile(`^1(29|3[0-9]|43)$`)

// replyAddress depends on where the session's socket stands.
var replyAddress = regexp.MustCompile(`"from":"uds:[^"]*/[0-9a-f]{16}\.sock"`)

var messageID = regexp.MustCompile(`"msg_id":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`)

func (s *scripted) arrived(ts *testscript.TestScript) string {
	b, err := os.ReadFile(s.lines)
	ts.Check(err)
	return string(b)
}

// frames reads what arrived, as strictly as golden does, and forgets it.
func (s *scripted) frames(ts *testscript.TestScript) (lines string, envelopes []golden.Envelope) {
	lines = s.arrived(ts)
	for line := range strings.Lines(lines) {
		f, err := golden.ParseLine([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			ts.Fatalf("a session would not take this: %v: %.300s", err, line)
		}
		if strings.HasPrefix(f.Content, "<cross-session") {
			e, err := golden.ParseEnvelope(f.Content)
			if err != nil {
				ts.Fatalf("the envelope: %v in %.300s", err, f.Content)
			}
			envelopes = append(envelopes, e)
		}
	}
	ts.Check(os.Truncate(s.lines, 0))
	return lines, envelopes
}

func scriptArrived(ts *testscript.TestScript, neg bool, args []string) {
	s := sessionOf(ts, args)
	lines, _ := s.frames(ts)
	text := messageID.ReplaceAllString(s.names.Replace(lines), `"msg_id":"MSG-ID"`)
	_, err := fmt.Fprint(ts.Stdout(), replyAddress.ReplaceAllString(text, `"from":"REPLY"`))
	ts.Check(err)
}

func scriptBodies(ts *testscript.TestScript, neg bool, args []string) {
	_, envelopes := sessionOf(ts, args).frames(ts)
	for _, e := range envelopes {
		_, err := fmt.Fprintf(ts.Stdout(), "%s: %s\n", e.FromName, e.Body)
		ts.Check(err)
	}
}

func scriptNothing(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		if got := sessionOf(ts, []string{name}).arrived(ts); got != "" {
			ts.Fatalf("%s was sent %.300q", name, got)
		}
	}
}

func scriptFill(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: fill FILE SIZE TEXT")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := strings.Repeat(args[2], size/len(args[2])+1)[:size]
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func scriptSocket(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: socket KIND PATH")
	}
	kind, ok := map[string]int{"bound": unix.SOCK_STREAM, "datagram": unix.SOCK_DGRAM}[args[0]]
	if !ok {
		ts.Fatalf("no kind of socket is named %s", args[0])
	}
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	ts.Check(err)
	unix.CloseOnExec(fd)
	ts.Defer(func() { unix.Close(fd) })
	ts.Check(unix.Bind(fd, &unix.SockaddrUnix{Name: args[1]}))
	ts.Check(os.Chmod(args[1], 0o600))
}
