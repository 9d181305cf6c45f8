package envtoken

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// settingsIn makes a home, a project and managed settings, and the files of the
// map in them: "user", "project", "local", "managed", or a name in managed.d.
func settingsIn(t *testing.T, files map[string]string) Settings {
	t.Helper()
	root := t.TempDir()
	s := Settings{ConfigDir: filepath.Join(root, "config"), Dir: filepath.Join(root, "project"), ManagedDir: filepath.Join(root, "managed")}
	for _, dir := range []string{s.ConfigDir, filepath.Join(s.Dir, ".claude"), filepath.Join(s.ManagedDir, "managed-settings.d")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(settingsPath(s, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func settingsPath(s Settings, name string) string {
	switch name {
	case "user":
		return s.UserFile()
	case "project":
		return filepath.Join(s.Dir, ".claude", "settings.json")
	case "local":
		return filepath.Join(s.Dir, ".claude", "settings.local.json")
	case "managed":
		return filepath.Join(s.ManagedDir, "managed-settings.json")
	}
	return filepath.Join(s.ManagedDir, "managed-settings.d", name)
}

func sets(v string) string { return `{"model":"opus","crossSessionInbound":"` + v + `"}` }

func TestPolicyRank(t *testing.T) {
	type files = map[string]string
	for _, c := range []struct {
		name                 string
		files                files
		by                   string // "" is nobody
		prompting, bypassing Inbound
	}{
		{"none", nil, "", Accept, HoldUnlessChild},
		{"files that don't set it", files{"user": `{"model":"opus"}`, "managed": `{}`, "project": `{}`}, "", Accept, HoldUnlessChild},
		{"user accepts", files{"user": sets("accept")}, "user", Accept, Accept},
		{"user holds", files{"user": sets("hold")}, "user", Hold, Hold},
		{"user refuses", files{"user": sets("refuse")}, "user", Refuse, Refuse},
		{"managed before user", files{"managed": sets("accept"), "user": sets("refuse")}, "managed", Accept, Accept},

		{"project never opens", files{"project": sets("accept"), "local": sets("accept")}, "", Accept, HoldUnlessChild},
		{"project is no looser", files{"user": sets("hold"), "project": sets("accept")}, "user", Hold, Hold},
		{"project is not stricter", files{"user": sets("hold"), "project": sets("hold")}, "user", Hold, Hold},
		{"project tightens", files{"user": sets("accept"), "project": sets("hold")}, "project", Hold, Hold},
		{"project tightens nothing", files{"project": sets("hold")}, "project", Hold, Hold},
		{"project tightens managed", files{"managed": sets("hold"), "project": sets("refuse")}, "project", Refuse, Refuse},
		{"local tightens", files{"user": sets("accept"), "local": sets("refuse")}, "local", Refuse, Refuse},
		{"local tightens nothing", files{"local": sets("refuse")}, "local", Refuse, Refuse},
		{"local is stricter than project", files{"user": sets("accept"), "project": sets("hold"), "local": sets("refuse")}, "local", Refuse, Refuse},
		{"project is stricter than local", files{"user": sets("accept"), "project": sets("refuse"), "local": sets("hold")}, "project", Refuse, Refuse},

		{"unknown in user", files{"user": sets("Accept")}, "user", Hold, Hold},
		{"no string in user", files{"user": `{"crossSessionInbound":true}`}, "user", Hold, Hold},
		{"null in user", files{"user": `{"crossSessionInbound":null}`}, "user", Hold, Hold},
		{"empty in user", files{"user": sets("")}, "user", Hold, Hold},
		{"unknown in managed", files{"managed": sets("yes"), "user": sets("accept")}, "managed", Refuse, Refuse},
		{"unknown in managed.d", files{"a.json": `{"crossSessionInbound":["accept"]}`}, "a.json", Refuse, Refuse},
		{"unknown in project", files{"user": sets("accept"), "project": sets("never")}, "project", Hold, Hold},

		{"managed.d over managed", files{"managed": sets("refuse"), "a.json": sets("accept")}, "a.json", Accept, Accept},
		{"the last of managed.d", files{"10.json": sets("hold"), "9.json": sets("accept"), "0.json": sets("refuse")}, "9.json", Accept, Accept},
		{"managed under a silent managed.d", files{"managed": sets("hold"), "z.json": `{}`}, "managed", Hold, Hold},
		{"hidden and other names in managed.d", files{"user": sets("accept"), ".z.json": sets("refuse"), "z.json.bak": sets("refuse"), "z": sets("refuse")}, "user", Accept, Accept},

		{"a mark", files{"user": bom + sets("hold")}, "user", Hold, Hold},
		{"an escaped key", files{"user": `{"crossSession\u0049nbound":"refus\u0065"}`}, "user", Refuse, Refuse},
		{"the last of two", files{"user": `{"crossSessionInbound":"refuse","crossSessionInbound":"accept"}`}, "user", Accept, Accept},
		{"deeper down it is another's", files{"user": `{"env":{"crossSessionInbound":"refuse"}}`}, "", Accept, HoldUnlessChild},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settingsIn(t, c.files)
			p := s.Policy()
			by, want := "", ""
			if p.By != nil {
				by = p.By.Path
			}
			if c.by != "" {
				want = settingsPath(s, c.by)
			}
			if by != want || p.Prompting() != c.prompting || p.Bypassing() != c.bypassing {
				t.Errorf("prompting %q, bypassing %q, by %q; want %q, %q, %q", p.Prompting(), p.Bypassing(), by, c.prompting, c.bypassing, want)
			}
			for _, src := range p.Sources {
				if src.Err != nil {
					t.Errorf("%s: %v", src.Path, src.Err)
				}
			}
		})
	}
}

func TestPolicySourcesInRank(t *testing.T) {
	s := settingsIn(t, map[string]string{"managed": "{}", "b.json": "{}", "a.json": "{}"})
	var got []string
	for _, src := range s.Policy().Sources {
		got = append(got, string(src.Scope)+" "+strings.TrimPrefix(src.Path, filepath.Dir(s.Dir)))
	}
	want := "managed /managed/managed-settings.d/b.json, managed /managed/managed-settings.d/a.json, managed /managed/managed-settings.json, " +
		"flag , user /config/settings.json, project /project/.claude/settings.json, local /project/.claude/settings.local.json"
	if strings.Join(got, ", ") != want {
		t.Errorf("the sources are %q, want %q", strings.Join(got, ", "), want)
	}
}

// TestPolicyUnreadable: what can't be read is said so, waits for nothing, and
// hides no other source.
func TestPolicyUnreadable(t *testing.T) {
	write := func(content string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	for _, c := range []struct {
		name string
		make func(path string) error
		want string
	}{
		{"pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		{"directory", func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		{"device", func(path string) error { return os.Symlink("/dev/null", path) }, "not a regular file"},
		{"loop", func(path string) error { return os.Symlink(path, path) }, "too many levels of symbolic links"},
		{"huge", func(path string) error { return write(sets("refuse") + strings.Repeat(" ", maxSettings))(path) }, "more than 2097152 bytes"},
		{"empty", write(""), "not JSON"},
		{"half written", write(sets("refuse")[:20]), "not JSON"},
		{"comment", write("{\n// why\n\"crossSessionInbound\":\"refuse\"}"), "not JSON"},
		{"trailing comma", write(`{"crossSessionInbound":"refuse",}`), "not JSON"},
		{"array", write("[" + sets("refuse") + "]"), "not a JSON object"},
		{"string", write(`"refuse"`), "not a JSON object"},
		{"deep", write(`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `,"crossSessionInbound":"refuse"}`), "nested too deep"},
		{"latin-1", write("{\"a\":\"\xe9\",\"crossSessionInbound\":\"refuse\"}"), "not UTF-8"},
		{"utf-16", write("\xff\xfe{\x00}\x00"), "not UTF-8"},
	} {
		for _, where := range []string{"managed", "a.json", "user", "project", "local"} {
			t.Run(c.name+" "+where, func(t *testing.T) {
				s := settingsIn(t, nil)
				if err := c.make(settingsPath(s, where)); err != nil {
					t.Fatal(err)
				}
				other := "local"
				if where == other {
					other = "user"
				}
				if err := write(sets("hold"))(settingsPath(s, other)); err != nil {
					t.Fatal(err)
				}
				p := s.Policy()
				found := false
				for _, src := range p.Sources {
					if src.Path == settingsPath(s, where) {
						found = true
						if src.Err == nil || src.Err.Error() != c.want || src.Value != Unset || src.Missing {
							t.Errorf("error %v, value %q, missing %v; want the error %s", src.Err, src.Value, src.Missing, c.want)
						}
					} else if src.Err != nil {
						t.Errorf("%s: %v", src.Path, src.Err)
					}
				}
				if !found || p.Value != Hold || p.By.Path != settingsPath(s, other) {
					t.Errorf("value %q by %v, of %v", p.Value, p.By, p.Sources)
				}
			})
		}
	}
}

func TestPolicyManagedFolderUnreadable(t *testing.T) {
	s := settingsIn(t, map[string]string{"managed": sets("hold")})
	folder := filepath.Join(s.ManagedDir, "managed-settings.d")
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, folder); err != nil { // not even root gets through a loop
		t.Fatal(err)
	}
	p := s.Policy()
	if src := p.Sources[0]; src.Path != folder || src.Err == nil || p.Value != Hold {
		t.Errorf("the folder is %+v, the value %q", src, p.Value)
	}
}

func TestPolicyFollowsLinks(t *testing.T) {
	s := settingsIn(t, map[string]string{"elsewhere": sets("refuse")})
	if err := os.Symlink(settingsPath(s, "elsewhere"), s.UserFile()); err != nil {
		t.Fatal(err)
	}
	if p := s.Policy(); p.Value != Refuse || p.By.Scope != User || len(p.Revision) != 64 {
		t.Errorf("value %q by %+v at %q", p.Value, p.By, p.Revision)
	}
}

func TestPolicyRevision(t *testing.T) {
	s := settingsIn(t, nil)
	if r := s.Policy().Revision; r != "absent" {
		t.Errorf("without a file the revision is %q", r)
	}
	seen := map[string]string{}
	for _, content := range []string{"", "{}", "{} ", "not JSON"} {
		if err := os.WriteFile(s.UserFile(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r := s.Policy().Revision
		if other, found := seen[r]; found || len(r) != 64 {
			t.Errorf("%q has the revision %q, as %q", content, r, other)
		}
		seen[r] = content
	}
	if err := os.Remove(s.UserFile()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.UserFile(), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := s.Policy().Revision; r != "" {
		t.Errorf("an unreadable file has the revision %q", r)
	}
}

func TestPolicyUnknownIsQuotedAndShort(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{`"a\nb\u001b[1m"`, `"a\nb\x1b[1m"`},
		{`"` + strings.Repeat("é", 30) + `"`, `"` + strings.Repeat("é", 20) + `..."`},
		{`"x` + strings.Repeat("é", 30) + `"`, `"x` + strings.Repeat("é", 19) + `..."`},
		{`{"secret":"s3cr3t"}`, "not a string"},
		{`17`, "not a string"},
	} {
		s := settingsIn(t, map[string]string{"user": `{"crossSessionInbound":` + c.value + `}`})
		if p := s.Policy(); p.By == nil || p.By.Unknown != c.want {
			t.Errorf("%s: %+v, want %s", c.value, p.By, c.want)
		}
	}
}

func TestFinderSettings(t *testing.T) {
	vars := map[string]string{}
	f := Finder{Getenv: func(key string) string { return vars[key] }}
	if s, err := f.Settings("/p"); err == nil {
		t.Errorf("without a home: %+v", s)
	}
	for _, c := range []struct{ key, value, want string }{
		{"HOME", "/h", "/h/.claude/settings.json"},
		{EnvConfigDir, "/c", "/c/settings.json"},
	} {
		vars[c.key] = c.value
		if s, err := f.Settings("/p"); err != nil || s.UserFile() != c.want || s.Dir != "/p" {
			t.Errorf("%+v %v, want %s", s, err, c.want)
		}
	}
	vars[EnvConfigDir] = "c"
	if s, err := f.Settings("/p"); err == nil || !strings.Contains(err.Error(), `CLAUDE_CONFIG_DIR is "c"`) {
		t.Errorf("%+v %v", s, err)
	}
	f.ConfigDirs = []string{"/a", "/b"}
	if s, _ := f.Settings("/p"); s.UserFile() != "/a/settings.json" {
		t.Errorf("%+v", s)
	}
}
