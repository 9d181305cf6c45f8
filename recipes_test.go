package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"ccpost/golden"
	"ccpost/scripts/readme"
)

// recipe is the README's block of this name.
func recipe(t *testing.T, name string) string {
	t.Helper()
	block, err := readme.Block("README.md", name)
	do(t, err)
	return block
}

// kitchen is a HOME with sessions in it, and ccpost where the recipes look for it.
type kitchen struct{ home, bin string }

func newKitchen(t testing.TB) *kitchen {
	t.Helper()
	k := &kitchen{home: shortDir(t)}
	k.bin = k.dir(t, "bin")
	ccpost, err := exec.LookPath("ccpost")
	do(t, err)
	do(t, os.Symlink(ccpost, filepath.Join(k.bin, "ccpost")))
	return k
}

func (k *kitchen) dir(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(k.home, name)
	do(t, os.MkdirAll(dir, 0o700))
	return dir
}

// session starts one that works in dir, in a process of its own.
func (k *kitchen) session(t testing.TB, name, dir string) {
	t.Helper()
	cmd := exec.Command("standin", "-name", name, "-config", filepath.Join(k.home, ".claude"),
		"-sockets", filepath.Join(k.home, "s"), "-lines", filepath.Join(k.home, name+".lines"),
		"-token", envToken+name, "-key", keyToken+name)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	do(t, err)
	launch(t, cmd)
	t.Cleanup(func() {
		stdin.Close()
		do(t, cmd.Wait())
	})
}

// told is what a session was sent, each message under its sender's name.
func (k *kitchen) told(t *testing.T, name string) (got []string) {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join(k.home, name+".lines"))
	do(t, err)
	for line := range strings.Lines(string(lines)) {
		f, err := golden.ParseLine([]byte(strings.TrimSuffix(line, "\n")))
		do(t, err)
		if strings.HasPrefix(f.Content, "<cross-session") {
			e, err := golden.ParseEnvelope(f.Content)
			do(t, err)
			got = append(got, e.FromName+": "+e.Body)
		}
	}
	return got
}

func (k *kitchen) wasTold(t *testing.T, name string, want ...string) {
	t.Helper()
	if got := k.told(t, name); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%s was told %q, want %q", name, got, want)
	}
}

// environ is what cron and systemd give a command: next to nothing.
func (k *kitchen) environ(vars ...string) []string {
	return append([]string{"HOME=" + k.home, "PATH=" + k.bin + ":/usr/bin:/bin"}, vars...)
}

// run runs a line of a recipe with this shell.
func (k *kitchen) run(t *testing.T, dir string, env []string, shell []string, line string) (out string, err error) {
	t.Helper()
	line = strings.ReplaceAll(line, "/usr/local/bin/ccpost", filepath.Join(k.bin, "ccpost"))
	cmd := exec.Command(shell[0], append(shell[1:], line)...)
	cmd.Dir, cmd.Env = dir, env
	b, err := cmd.CombinedOutput()
	return string(b), err
}

func TestRecipeCron(t *testing.T) {
	t.Parallel()
	k := newKitchen(t)
	do(t, os.WriteFile(filepath.Join(k.bin, "nightly"), []byte("#!/bin/sh\necho disk full\nexit 3\n"), 0o700))
	lines := strings.Split(recipe(t, "cron"), "\n")
	// Nobody is there: nothing is said, and the command's code stands.
	for round := range 2 {
		for i, line := range lines {
			command := strings.Join(strings.Fields(line)[5:], " ") // as cron takes it: what is behind the times
			out, err := k.run(t, k.home, []string{"HOME=" + k.home, "PATH=/usr/bin:/bin", "SHELL=/bin/sh"}, []string{"/bin/sh", "-c"}, command)
			want := []string{" <nil>", "disk full\n exit status 3"}[i] // cron mails what is printed
			if got := fmt.Sprintf("%s %v", out, err); got != want {
				t.Errorf("%s: %q, want %q", line, got, want)
			}
		}
		if round == 0 {
			k.session(t, "api", k.home)
		}
	}
	got := k.told(t, "api")
	if len(got) != 2 || got[0] != "cron: the nightly data is in" ||
		!strings.HasPrefix(got[1], "nightly: the nightly build: exit code 3 after ") || !strings.Contains(got[1], "disk full") {
		t.Errorf("api was told %q", got)
	}
}

func TestRecipeSystemd(t *testing.T) {
	t.Parallel()
	k := newKitchen(t)
	k.session(t, "api", k.home)
	unit := recipe(t, "systemd")
	_, line, found := strings.Cut(unit, "\nExecStart=")
	if !found {
		t.Fatalf("no ExecStart in %q", unit)
	}
	// Its quotes are a shell's; %i is the name of the unit that failed.
	if out, err := k.run(t, k.home, k.environ(), []string{"sh", "-c"}, strings.ReplaceAll(line, "%i", "backup.service")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	k.wasTold(t, "api", "systemd: backup.service failed: journalctl --user -u backup.service says why")

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze to read the unit")
	}
	file := filepath.Join(k.home, "ccpost@.service")
	do(t, os.WriteFile(file, []byte(strings.ReplaceAll(unit, "/usr/local/bin/", k.bin+"/")), 0o600))
	verify := exec.Command(analyze, "verify", "--user", "--man=no", file)
	verify.Env = k.environ("XDG_RUNTIME_DIR=" + k.dir(t, "run"))
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

func TestRecipeActions(t *testing.T) {
	t.Parallel()
	k := newKitchen(t)
	k.session(t, "api", k.home)
	// A block: in a plain scalar of YAML a colon and a space would end the line.
	_, line, found := strings.Cut(recipe(t, "actions"), "\n  run: |\n")
	if !found {
		t.Fatal("no block to run in the step")
	}
	line = strings.ReplaceAll(line, "${{ job.status }}", "failure") // which the runner puts in
	env := k.environ("CI=true", "GITHUB_WORKFLOW=tests", "GITHUB_REF_NAME=main")
	if out, err := k.run(t, k.home, env, []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"}, line); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	k.wasTold(t, "api", "ci: tests on main: failure")
}

func TestRecipeGit(t *testing.T) {
	t.Parallel()
	k := newKitchen(t)
	repo := k.dir(t, "repo")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		cmd.Env = k.environ("GIT_AUTHOR_NAME=Dev", "GIT_AUTHOR_EMAIL=dev@example.com", "GIT_COMMITTER_NAME=Dev",
			"GIT_COMMITTER_EMAIL=dev@example.com", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "begin")
	git("checkout", "-q", "-b", "topic")
	git("commit", "-q", "--allow-empty", "-m", "fix the parser")
	git("checkout", "-q", "main")
	for _, hook := range []string{"post-commit", "post-merge"} {
		do(t, os.WriteFile(filepath.Join(repo, ".git", "hooks", hook), []byte(recipe(t, "git")+"\n"), 0o700))
	}
	git("commit", "-q", "--allow-empty", "-m", "told to nobody") // which is no failure

	inside := []string{"api", "web", "docs", "ops", "db"}
	for i, name := range inside {
		k.session(t, name, k.dir(t, []string{"repo", "repo/web"}[i%2]))
	}
	k.session(t, "elsewhere", k.dir(t, "other"))
	git("commit", "-q", "--allow-empty", "-m", "add the lexer")
	git("merge", "-q", "--ff-only", "HEAD") // nothing to merge: no hook
	git("merge", "-q", "--no-edit", "topic")
	for _, name := range inside {
		got := k.told(t, name)
		if len(got) != 2 || !strings.HasPrefix(got[0], "git: post-commit: ") || !strings.HasSuffix(got[0], " Dev: add the lexer") ||
			!strings.HasPrefix(got[1], "git: post-merge: ") || !strings.HasSuffix(got[1], " Dev: Merge branch 'topic'") {
			t.Errorf("%s was told %q", name, got)
		}
	}
	k.wasTold(t, "elsewhere")
}

// Five sessions in one repository are told in the time that a git hook may take.
func BenchmarkFiveSessions(b *testing.B) {
	k := newKitchen(b)
	repo := k.dir(b, "repo")
	for i := range 5 {
		k.session(b, fmt.Sprint("s", i), repo)
	}
	n := 0
	for b.Loop() {
		n++
		cmd := exec.Command("ccpost", "send", "--as", "git", "--if-present", "--quiet", "--wait", "0", "--to", "dir:.", fmt.Sprint("message ", n))
		cmd.Dir, cmd.Env = repo, k.environ()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}

// A real sshd, of this user's own, on loopback.
func TestRecipeSSH(t *testing.T) {
	t.Parallel()
	sshd := "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("no sshd")
	}
	me, err := user.Current()
	do(t, err)
	k := newKitchen(t)
	k.session(t, "api", k.home)
	file := func(name string) string { return filepath.Join(k.home, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	if me.Uid == "0" {
		do(t, os.MkdirAll("/run/sshd", 0o755)) // which a service would have made
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	do(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	// HOME and PATH are the host's: here, the test's.
	do(t, os.WriteFile(file("sshd_config"), fmt.Appendf(nil, `ListenAddress 127.0.0.1:%d
HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv HOME=%s PATH=%s:/usr/bin:/bin
`, port, file("host"), file("user.pub"), k.home, k.bin), 0o600))
	server := exec.Command(sshd, "-D", "-e", "-f", file("sshd_config"))
	log, err := os.Create(file("sshd.log"))
	do(t, err)
	defer log.Close()
	server.Stderr = log
	do(t, server.Start())
	defer func() {
		do(t, server.Process.Kill())
		_ = server.Wait() // which says that it was killed
	}()
	await(t, "sshd listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})

	do(t, os.WriteFile(file("build.log"), []byte("first\nlast\n"), 0o600))
	do(t, os.WriteFile(file("ssh_config"), fmt.Appendf(nil, `Host HOST
HostName 127.0.0.1
Port %d
User %s
IdentityFile %s
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
`, port, me.Username, file("user")), 0o600))
	line := strings.Replace(recipe(t, "ssh"), "| ssh ", "| ssh -F "+file("ssh_config")+" ", 1)
	out, err := k.run(t, k.home, k.environ(), []string{"sh", "-c"}, line)
	if err != nil || !strings.HasPrefix(out, "sent-no-receipt") {
		said, _ := os.ReadFile(file("sshd.log"))
		t.Fatalf("%s: %v\n%s\n%s", line, err, out, said)
	}
	k.wasTold(t, "api", "ci: first\nlast\n")
}
