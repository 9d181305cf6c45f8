package envtoken

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/tidwall/gjson"

	"ccpost/inbox"
	"ccpost/precheck"
	"ccpost/precheck/digest"
)

// settingsKey is the one setting that this package reads and edits.
const settingsKey = "crossSessionInbound"

// maxSettings bounds a settings file, in bytes: one that is larger counts as no
// file to Claude Code either (PROTOCOL.md, The settings behind it).
const maxSettings = 2 << 20

// Inbound is a value of crossSessionInbound: what a session does with the
// messages of other processes (PROTOCOL.md, The settings behind it).
type Inbound string

const (
	Unset  Inbound = "" // a session that prompts accepts, one that bypasses permissions holds
	Accept Inbound = "accept"
	Hold   Inbound = "hold"
	Refuse Inbound = "refuse"

	// HoldUnlessChild is no setting: it is what a bypassing session makes of
	// none. Only its own children are let in.
	HoldUnlessChild Inbound = "hold-unless-child"
)

// stricter orders the values: accept, hold, refuse. Against Unset, which
// accepts or holds, hold is stricter and accept is not.
func (v Inbound) stricter(than Inbound) bool {
	rank := func(v Inbound) int {
		switch v {
		case Refuse:
			return 2
		case Hold:
			return 1
		}
		return 0
	}
	return rank(v) > rank(than)
}

// Scope is the kind of a source of settings.
type Scope string

const (
	Managed Scope = "managed" // the system's, for every user
	Flag    Scope = "flag"    // --settings of a running session: can't be seen from outside it
	User    Scope = "user"    // settings.json of the config dir
	Project Scope = "project" // .claude/settings.json of the session's directory
	Local   Scope = "local"   // .claude/settings.local.json there
)

// Source is one place that may set crossSessionInbound.
type Source struct {
	Scope   Scope
	Path    string  // empty for Flag
	Value   Inbound // as it counts; Unset where it isn't set
	Unknown string  // what is written there, where that is none of the values
	Missing bool    // there is no such file
	Err     error   // why it can't be read, and so sets nothing

	revision string
}

// Policy is what the sources come to for one directory.
type Policy struct {
	Sources  []Source // in rank: the first value counts, but Project and Local only tighten
	Value    Inbound  // what they come to; Unset where none sets a value
	By       *Source  // which of Sources decides; nil where none sets a value
	Revision string   // of the user's file: changes with every byte; "absent" without one, empty if unreadable
}

// Prompting is what a session that prompts for permissions does.
func (p Policy) Prompting() Inbound {
	if p.Value == Unset {
		return Accept
	}
	return p.Value
}

// Bypassing is what a session that bypasses permissions does.
func (p Policy) Bypassing() Inbound {
	if p.Value == Unset {
		return HoldUnlessChild
	}
	return p.Value
}

// Settings says whose settings are meant.
type Settings struct {
	ConfigDir  string // the user's, which may be a session's own
	Dir        string // where the session was started: its project
	ManagedDir string // empty: the system's
	Home       string // whose settings.local.json is none of a project below it

	beforeRename func() // for tests: somebody else's edit
}

// Settings are those of a session that was started in dir, with the first of
// the Finder's config dirs as the user's; an error says why it has none.
func (f *Finder) Settings(dir string) (Settings, error) {
	if err := f.noConfigDir(); err != nil {
		return Settings{}, err
	}
	return Settings{ConfigDir: f.configDirs()[0], Dir: dir, Home: f.Getenv("HOME")}, nil
}

// UserFile is the user's settings file, the only one that is ever edited.
func (s Settings) UserFile() string { return filepath.Join(s.ConfigDir, "settings.json") }

// Policy reads every source that can be seen. One that can't be read hides no
// other: its Err says why. What a running session's --settings flag sets, and
// what a server or a device manager delivers, can't be seen at all.
func (s Settings) Policy() Policy {
	user := readSource(User, s.UserFile())
	p := Policy{Sources: s.managed(), Revision: user.revision}
	p.Sources = append(p.Sources,
		Source{Scope: Flag},
		user,
		readSource(Project, filepath.Join(s.Dir, ".claude", "settings.json")),
	)
	p.Sources = append(p.Sources, s.local()...)
	var local *Source // the one of the local files that counts
	for i := range p.Sources {
		src := &p.Sources[i]
		counts := p.Value == Unset
		switch src.Scope {
		case Local:
			if local != nil {
				continue // the first that sets a value has it for both
			}
			if src.Value != Unset && src.Unknown == "" {
				local = src
			}
			fallthrough
		case Project:
			counts = src.Value.stricter(p.Value)
		}
		if counts && src.Value != Unset {
			p.Value, p.By = src.Value, src
		}
	}
	return p
}

// local reads the local settings in rank: those of the repository's root, or of
// the main repository's for a linked worktree, before the directory's own
// (PROTOCOL.md, The settings behind it). A home directory is no project.
func (s Settings) local() []Source {
	own := readSource(Local, filepath.Join(s.Dir, ".claude", "settings.local.json"))
	root := gitRoot(s.Dir)
	if root == "" || root == s.Dir || root == s.Home {
		return []Source{own}
	}
	return []Source{readSource(Local, filepath.Join(root, ".claude", "settings.local.json")), own}
}

// gitRoot is the root of the repository that dir is in, "" for none.
func gitRoot(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		dotgit := filepath.Join(dir, ".git")
		info, err := os.Lstat(dotgit)
		switch {
		case err == nil && info.IsDir():
			return dir
		case err == nil:
			return mainRoot(dir, dotgit)
		case dir == filepath.Dir(dir):
			return ""
		}
	}
}

// mainRoot is the root of the repository that a worktree's .git file leads to,
// else dir: a submodule's file leads to no other root.
func mainRoot(dir, dotgit string) string {
	const enough = 4096
	data, err := precheck.ReadFile(dotgit, enough, precheck.FileOptions{})
	link, ok := strings.CutPrefix(string(data), "gitdir:")
	if err != nil || !ok {
		return dir
	}
	gitDir := under(dir, strings.TrimSpace(link))
	common, err := precheck.ReadFile(filepath.Join(gitDir, "commondir"), enough, precheck.FileOptions{})
	if err != nil {
		return dir
	}
	if c := under(gitDir, strings.TrimSpace(string(common))); filepath.Base(c) == ".git" {
		return filepath.Dir(c)
	}
	return dir
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// managed reads the managed settings in rank. Claude Code merges them, the one
// file first and then the folder's by name, and of two values the later counts.
// As in the folders of systemd, a file whose name begins with a dot is none.
func (s Settings) managed() []Source {
	dir := s.ManagedDir
	if dir == "" {
		dir = managedDir()
	}
	sources := []Source{readSource(Managed, filepath.Join(dir, "managed-settings.json"))}
	folder := filepath.Join(dir, "managed-settings.d")
	entries, err := os.ReadDir(folder) // in order of the names
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".json") && name[0] != '.' {
			sources = append([]Source{readSource(Managed, filepath.Join(folder, name))}, sources...)
		}
	}
	if err != nil && !absent(err) {
		sources = append([]Source{{Scope: Managed, Path: folder, Err: cause(err)}}, sources...)
	}
	return sources
}

func managedDir() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode"
	}
	return "/etc/claude-code"
}

// readSource reads one file as Claude Code does: links are followed (many keep
// their settings elsewhere), the owner doesn't matter, a byte-order mark is
// skipped, and anything but plain JSON is no settings file.
func readSource(scope Scope, path string) Source {
	data, err := readLinked(path)
	if err != nil && !absent(err) {
		return Source{Scope: scope, Path: path, Err: cause(err)}
	}
	return parseSource(scope, path, data)
}

// parseSource reads the content of one file, nil being that there is none.
func parseSource(scope Scope, path string, data []byte) Source {
	src := Source{Scope: scope, Path: path, Missing: data == nil, revision: revision(data)}
	if src.Missing {
		return src
	}
	doc, err := parseSettings(data)
	if err != nil {
		src.Err = err
		return src
	}
	src.Value, src.Unknown = inboundIn(scope, doc.value)
	return src
}

// inboundIn reads the value of the setting. An unknown one refuses in managed
// settings and holds elsewhere: a misspelt refuse must not open a session.
func inboundIn(scope Scope, v gjson.Result) (value Inbound, unknown string) {
	if !v.Exists() {
		return Unset, ""
	}
	if v.Type == gjson.String {
		switch value = Inbound(v.Str); value {
		case Accept, Hold, Refuse:
			return value, ""
		}
		const most = 40
		unknown = v.Str
		if len(unknown) > most {
			unknown = strings.ToValidUTF8(unknown[:most], "") + "..."
		}
		unknown = strconv.Quote(unknown)
	} else {
		unknown = "not a string"
	}
	if scope == Managed {
		return Refuse, unknown
	}
	return Hold, unknown
}

// readLinked reads a regular file wherever links lead.
func readLinked(path string) ([]byte, error) {
	// O_NONBLOCK: opening a pipe must not wait for its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return readSettings(f)
}

func readSettings(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(data) > maxSettings {
		err = errTooLarge
	}
	return data, err
}

var errTooLarge = errors.New("more than " + strconv.Itoa(maxSettings) + " bytes")

// absent reports that there is no such file. A file where a directory should be
// says so too.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// cause is what the system answered, without the path, which is told already
// and would be spelled unquoted.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// revision names the content of a file, nil being that there is none.
func revision(data []byte) string {
	if data == nil {
		return "absent"
	}
	sum := digest.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// settingsDoc is the content of a settings file, and where the setting stands in it.
type settingsDoc struct {
	data  []byte
	brace int          // where the object's opening brace is
	found int          // how many members bear the key; readers take the last
	value gjson.Result // of the last of them
	start int          // where its value begins in data
	comma int          // where the comma before that member is; -1 where it is the first
}

// parseSettings reads a settings file that is plain JSON. No error quotes it.
func parseSettings(data []byte) (*settingsDoc, error) {
	body := bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := inbox.CheckJSON(body, maxDepth); err != nil {
		return nil, err
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return nil, errors.New("not a JSON object")
	}
	skipped := len(data) - len(body)
	d := &settingsDoc{data: data, brace: skipped + root.Index}
	before, first := d.brace+1, true // where the member before ended
	root.ForEach(func(k, v gjson.Result) bool {
		start := skipped + v.Index
		if k.Str == settingsKey {
			d.found++
			d.value, d.start, d.comma = v, start, -1
			if !first {
				d.comma = before + bytes.IndexByte(data[before:], ',')
			}
		}
		before, first = start+len(v.Raw), false
		return true
	})
	return d, nil
}
