package envtoken

import (
	"os"
	"path/filepath"
	"testing"
)

// The local settings of the repository's root count below it, key by key before
// the directory's own; those of the main repository for a linked worktree.
func TestLocalSettings(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string // path below the top: content
		dir   string
		home  string
		want  Inbound
		by    string
	}{
		{"the directory's own", map[string]string{"r/sub/.claude/settings.local.json": "refuse"}, "r/sub", "", Refuse, "r/sub"},
		{"the root's", map[string]string{"r/.git/HEAD": "", "r/.claude/settings.local.json": "refuse"}, "r/sub", "", Refuse, "r"},
		{"not the parent's without a repository", map[string]string{"r/.claude/settings.local.json": "refuse"}, "r/sub", "", Unset, ""},
		{"not one in the middle", map[string]string{"r/.git/HEAD": "", "r/sub/.claude/settings.local.json": "refuse"}, "r/sub/sub", "", Unset, ""},
		{"the root's project file doesn't", map[string]string{"r/.git/HEAD": "", "r/.claude/settings.json": "refuse"}, "r/sub", "", Unset, ""},
		{"the root's before the own", map[string]string{"r/.git/HEAD": "", "r/.claude/settings.local.json": "hold", "r/sub/.claude/settings.local.json": "refuse"}, "r/sub", "", Hold, "r"},
		{"the own where the root's sets nothing", map[string]string{"r/.git/HEAD": "", "r/.claude/settings.local.json": "{}", "r/sub/.claude/settings.local.json": "refuse"}, "r/sub", "", Refuse, "r/sub"},
		{"only the innermost repository's", map[string]string{"r/.git/HEAD": "", "r/.claude/settings.local.json": "refuse", "r/n/.git/HEAD": ""}, "r/n/sub", "", Unset, ""},
		{"a home that is a repository", map[string]string{"r/.git/HEAD": "", "r/.claude/settings.local.json": "refuse"}, "r/sub", "r", Unset, ""},
		{"a linked worktree's main repository", map[string]string{
			"r/.git/worktrees/w/commondir": "../..\n", "w/.git": "gitdir: ../r/.git/worktrees/w\n",
			"r/.claude/settings.local.json": "refuse", "w/.claude/settings.local.json": "hold",
		}, "w/sub", "", Refuse, "r"},
		{"a submodule's own", map[string]string{
			"r/.git/modules/m/HEAD": "", "r/m/.git": "gitdir: ../.git/modules/m\n", "r/m/.claude/settings.local.json": "hold",
		}, "r/m/sub", "", Hold, "r/m"},
	} {
		top := t.TempDir()
		for path, content := range c.files {
			if filepath.Base(path) == "settings.local.json" || filepath.Base(path) == "settings.json" {
				if content != "{}" {
					content = `{"crossSessionInbound":"` + content + `"}`
				}
			}
			path = filepath.Join(top, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := Settings{ConfigDir: filepath.Join(top, "config"), ManagedDir: filepath.Join(top, "managed"), Dir: filepath.Join(top, c.dir)}
		if c.home != "" {
			s.Home = filepath.Join(top, c.home)
		}
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		p := s.Policy()
		by := ""
		if p.By != nil {
			by = filepath.Dir(filepath.Dir(p.By.Path))
		}
		if want := filepath.Join(top, c.by); p.Value != c.want || c.by != "" && by != want || c.by == "" && by != "" {
			t.Errorf("%s: %q by %q, want %q by %q", c.name, p.Value, by, c.want, c.by)
		}
	}
}
