package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is the command that runs in this process's stead, and what signals mean
// while it does.
type child struct {
	mu      sync.Mutex
	process *os.Process // nil where none has been started
	ended   time.Time   // zero while it runs
}

// settling is how long after a command's end a signal is still taken for one
// that was meant for it: a terminal's keys, or a service manager that stops a
// whole unit, send it to both of us, and the command can be the faster.
const settling = 200 * time.Millisecond

// takes reports whether a signal to this process is the command's affair. TERM
// and HUP are passed on, and ABRT, which like them comes from somebody who wants
// an end of us. What a terminal's keys send reaches the command by itself.
func (c *child) takes(s syscall.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.process == nil:
		return false
	case !c.ended.IsZero():
		return time.Since(c.ended) < settling
	}
	if s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGABRT {
		_ = c.process.Signal(s)
	}
	return true
}

// start starts a command with these descriptors. The error is a *startError, or
// the cause of a's end.
func (a *app) startCommand(args, environ []string, files ...*os.File) error {
	path, err := lookPath(args[0], a.getenv("PATH"))
	if err != nil {
		return err
	}
	// POSIX shells let background commands ignore both of these. Go keeps the
	// one for the command, but not the other.
	if signal.Ignored(syscall.SIGINT) {
		signal.Ignore(syscall.SIGQUIT)
	}
	c := &a.child
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	// Not os/exec: it would add 135 kB to the binary.
	attr := &os.ProcAttr{Env: environ, Files: files}
	c.process, err = os.StartProcess(path, args, attr)
	if errors.Is(err, syscall.ENOEXEC) { // a script without #!, as execvp(3) takes it
		c.process, err = os.StartProcess("/bin/sh", append([]string{"sh", path}, args[1:]...), attr)
	}
	if err != nil {
		c.process = nil
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return &startError{args[0], err, 126}
	}
	return nil
}

// waitCommand waits for the end of the command that was started.
func (a *app) waitCommand() (syscall.WaitStatus, error) {
	state, err := a.child.process.Wait()
	a.child.mu.Lock()
	defer a.child.mu.Unlock()
	a.child.ended = time.Now()
	if err != nil {
		return 0, err
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	return status, nil
}

// exitCode is how a shell tells the end of a command in one number.
func exitCode(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// startError is why a command could not be started.
type startError struct {
	name string
	err  error
	code int // 126 or 127, as a shell would exit
}

func (e *startError) Error() string { return fmt.Sprintf("can't run %q: %v", e.name, e.err) }
func (e *startError) Unwrap() error { return e.err }

var errNotFound = errors.New("no such command in PATH")

// lookPath finds a command as a shell does: one that is there and may not be run
// is another thing than one that is nowhere, or where we may not look. The error
// is a *startError.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		err := executable(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return "", &startError{name, err, 127}
		} else if err != nil {
			return "", &startError{name, err, 126}
		}
		return name, nil
	}
	if path == "" {
		path = "/usr/bin:/bin"
	}
	failed := &startError{name, errNotFound, 127}
	for _, dir := range strings.Split(path, ":") {
		if name == "" {
			break
		}
		if dir == "" {
			dir = "."
		}
		file := filepath.Join(dir, name)
		if !strings.Contains(file, "/") {
			file = "./" + file
		}
		switch err := executable(file); {
		case err == nil:
			return file, nil
		case errors.Is(err, syscall.EACCES) && there(file):
			failed = &startError{name, err, 126}
		}
	}
	return "", failed
}

func there(file string) bool {
	var stat unix.Stat_t
	return unix.Stat(file, &stat) == nil
}

// executable gives the bare cause, which the name is put before.
func executable(file string) error {
	var stat unix.Stat_t
	if err := unix.Stat(file, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return syscall.EISDIR
	}
	return unix.Access(file, unix.X_OK)
}
