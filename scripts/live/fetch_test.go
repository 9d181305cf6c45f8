//go:build live

package live

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	claudeVersion = flag.String("claude", "2.1.332", "version of Claude Code to test against")
	cacheDir      = flag.String("cache", "", "folder that keeps Claude Code's executables (default: the user's cache folder)")
)

// errNotFetched marks the failures that are the network's, not ours.
var errNotFetched = errors.New("not fetched")

// claude returns the executable of Claude Code, fetched at its first use.
func claude(t *testing.T) string {
	t.Helper()
	needs(t, inboxOffline)
	path, err := fetchOnce()
	return fetched(t, *claudeVersion, path, err)
}

var fetchOnce = sync.OnceValues(func() (string, error) {
	return fetch(*claudeVersion, *cacheDir)
})

// fetched skips the test where there is nothing to test against.
func fetched(t *testing.T, version, path string, err error) string {
	t.Helper()
	if errors.Is(err, errNotFetched) {
		t.Log(err)
		notRun(t, "no Claude Code "+version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// fetch returns <cache>/<version>/claude, put there if it is not yet. Several
// runs may fetch at once: each unpacks beside the name and renames onto it.
func fetch(version, cache string) (string, error) {
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("where to keep Claude Code? -cache says: %w", err)
		}
		cache = filepath.Join(user, "ccpost", "claude")
	}
	// Hooks and sessions run in directories of their own.
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, version)
	path := filepath.Join(dir, "claude")
	if _, err := os.Stat(path); err == nil {
		return path, checkVersion(path, version)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, "fetch")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	tarball, err := download(version, tmp)
	if err != nil {
		return "", err
	}
	unpacked := filepath.Join(tmp, "claude")
	if err := unpack(tarball, unpacked); err != nil {
		return "", err
	}
	if err := checkVersion(unpacked, version); err != nil {
		return "", err
	}
	return path, os.Rename(unpacked, path)
}

// platformPackage names the package that holds nothing but the executable.
func platformPackage(goos, goarch string) (string, error) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[goarch]
	if arch == "" || goos != "linux" && goos != "darwin" {
		return "", fmt.Errorf("%w: no Claude Code for %s/%s", errNotFetched, goos, goarch)
	}
	return "@anthropic-ai/claude-code-" + goos + "-" + arch, nil
}

// download leaves the package's tarball in dir. npm checks its integrity. The
// environment is the user's: a mirror or a proxy may be set there.
func download(version, dir string) (tarball string, err error) {
	pkg, err := platformPackage(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return "", err
	}
	for range 3 {
		// Some 180 MB: a slow line needs minutes, a dead one must not hold the run.
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		cmd := exec.CommandContext(ctx, "npm", "pack", pkg+"@"+version, "--pack-destination", dir)
		cmd.Dir = dir               // away from the checkout's package.json, if it ever has one
		cmd.WaitDelay = time.Second // npm's children may hold its pipes
		var out []byte
		out, err = cmd.CombinedOutput()
		cancel()
		if err != nil {
			err = fmt.Errorf("%w: npm pack %s@%s: %v\n%s", errNotFetched, pkg, version, err, out)
			continue
		}
		found, _ := filepath.Glob(filepath.Join(dir, "*.tgz"))
		if len(found) == 1 {
			return found[0], nil
		}
		err = fmt.Errorf("%w: npm pack left %d tarballs", errNotFetched, len(found))
	}
	return "", err
}

// unpack writes the tarball's executable to path.
func unpack(tarball, path string) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", tarball, err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return fmt.Errorf("%s: no executable: %w", tarball, err)
		}
		if h.Name != "package/claude" {
			continue
		}
		out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, r)
		return errors.Join(err, out.Close())
	}
}

// checkVersion keeps the cache honest: the run says which version it tested.
func checkVersion(path, version string) error {
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", path, err)
	}
	if got, _, _ := strings.Cut(string(out), " "); got != version {
		return fmt.Errorf("%s is version %q, not %s", path, got, version)
	}
	return nil
}
