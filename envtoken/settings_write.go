package envtoken

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ccpost/inbox"
	"ccpost/precheck"
)

// Why a settings file was left alone, besides inbox.ReasonSymlink.
const (
	ReasonNotRegular   = inbox.Reason(precheck.NotRegular)
	ReasonTooLarge     = inbox.Reason(precheck.TooLarge)
	ReasonUnreadable   = inbox.Reason("unreadable")
	ReasonHardLink     = inbox.Reason("hard_link")
	ReasonNotOurs      = inbox.Reason("not_ours")
	ReasonACL          = inbox.Reason("acl")
	ReasonNotJSON      = inbox.Reason("not_json")
	ReasonDuplicateKey = inbox.Reason("duplicate_key")
	ReasonChanged      = inbox.Reason("changed_meanwhile")
	ReasonRevision     = inbox.Reason("revision")
	ReasonLocked       = inbox.Reason("locked")
	ReasonNotWritable  = inbox.Reason("not_writable")
	ReasonMount        = inbox.Reason("mount")
	ReasonDiskFull     = inbox.Reason("disk_full")
)

// Set gives crossSessionInbound the value v in the user's settings file, or
// takes it out where v is Unset. Every other byte, the mode, the owner and the
// group stay. It reports whether a file was written: one that has the value
// already isn't. Where ifRevision is not empty, the file must be at that
// Policy.Revision.
//
// The error is inbox.NotChanged, and then the file is as it was.
func (s Settings) Set(v Inbound, ifRevision string) (changed bool, err error) {
	path := s.UserFile()
	refuse := func(r inbox.Reason, why string, err error) (bool, error) {
		if err != nil {
			why += ": " + cause(err).Error()
		}
		return false, inbox.Fail(inbox.NotChanged, r, fmt.Errorf("%s %s; %s", strconv.Quote(path), why, byHand(v)))
	}
	unlock, err := s.lock()
	if err != nil {
		return refuse(ReasonLocked, "is being edited by another ccpost", nil)
	}
	defer unlock()
	old, refused := openOwn(path)
	is := parseSource(User, path, old.data)
	if refused != nil {
		// A link, say: what it leads to needs no edit where it says so already.
		is = readSource(User, path)
	}
	switch {
	case ifRevision != "" && is.revision != ifRevision:
		return refuse(ReasonRevision, "is not at the revision "+strconv.Quote(ifRevision), nil)
	case is.Err == nil && is.Value == v && is.Unknown == "":
		return false, nil
	case refused != nil:
		return refuse(whyRefused(refused))
	}
	if r, why := old.keepable(); r != "" {
		return refuse(r, why, nil)
	}
	data := old.data
	if is.Missing {
		if !oursToFill(s.ConfigDir) {
			return refuse(ReasonNotOurs, "would be new in another user's directory", nil)
		}
		data = []byte(newSettings)
	}
	doc, err := parseSettings(data)
	switch {
	case err != nil:
		return refuse(ReasonNotJSON, "is not plain JSON", err)
	case doc.found > 1:
		return refuse(ReasonDuplicateKey, "has the key "+settingsKey+" twice", nil)
	}
	next := doc.without()
	if v != Unset {
		next = doc.with(v)
	}
	if len(next) > maxSettings {
		return refuse(ReasonTooLarge, "would be too large", errTooLarge)
	}
	switch err := s.replace(path, old, next); {
	case errors.Is(err, errChanged):
		return refuse(ReasonChanged, err.Error(), nil)
	case err != nil:
		return refuse(whySystem(err), "can't be written", err)
	}
	return true, nil
}

// lockTime is how long an edit waits for another one, which takes a few milliseconds.
const lockTime = time.Second

// lock keeps other ccposts from editing the file until unlock is called. Where
// the directory can't be opened, or locked at all, it does nothing.
func (s Settings) lock() (unlock func(), err error) {
	dir, err := os.Open(s.ConfigDir)
	if err != nil {
		return func() {}, nil
	}
	unlock = func() { _ = dir.Close() }
	for end := time.Now().Add(lockTime); ; time.Sleep(5 * time.Millisecond) {
		switch err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err != unix.EWOULDBLOCK && err != unix.EINTR:
			return unlock, nil
		case time.Now().After(end):
			unlock()
			return nil, err
		}
	}
}

// oursToFill reports whether a new file in dir would not be for another user.
func oursToFill(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}

// byHand is what a person does in place of the edit.
func byHand(v Inbound) string {
	if v == Unset {
		return `the line to remove: "` + settingsKey + `"`
	}
	return `the line to add: "` + settingsKey + `": "` + string(v) + `",`
}

// ownFile is a settings file that may be edited; the zero value is none yet.
type ownFile struct {
	data []byte
	info fs.FileInfo
	acl  bool
}

// openOwn reads the file for an edit: a link is not followed here, since the
// rename would put a plain file in its place. It never gives nil.
func openOwn(path string) (*ownFile, error) {
	f, err := precheck.OpenFile(path, precheck.FileOptions{})
	switch {
	case absent(err):
		return &ownFile{}, nil
	case err != nil:
		return &ownFile{}, err
	}
	defer f.Close()
	o := &ownFile{}
	if o.acl, err = hasACL(f); err != nil {
		return o, err
	}
	if o.info, err = f.Stat(); err != nil {
		return o, err
	}
	o.data, err = readSettings(f)
	return o, err
}

// keepable says what of the file a rename would lose, or why it isn't to be
// written; nothing where it may be.
func (o *ownFile) keepable() (r inbox.Reason, why string) {
	switch {
	case o.info == nil:
	case o.info.Mode().Perm()&0o200 == 0:
		// A rename asks the directory alone. Who took the bit away meant it.
		return ReasonNotWritable, "is read-only"
	case o.stat().Nlink > 1:
		return ReasonHardLink, "has another name (a hard link), which a rename would leave at the old content"
	case o.acl:
		return ReasonACL, "has an access control list, which a rename would lose"
	}
	return "", ""
}

func (o *ownFile) stat() *syscall.Stat_t { return o.info.Sys().(*syscall.Stat_t) }

// same reports whether now is the file that o was.
func (o *ownFile) same(now *ownFile) bool {
	return os.SameFile(o.info, now.info) && bytes.Equal(o.data, now.data) &&
		o.info.Mode() == now.info.Mode() && o.stat().Gid == now.stat().Gid
}

var errChanged = errors.New("was changed by someone else meanwhile")

// replace writes next beside path and renames it over old. Whatever fails,
// path is as it was and nothing is left beside it.
func (s Settings) replace(path string, old *ownFile, next []byte) (err error) {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".settings.json.*.tmp") // 0600
	if err != nil {
		return err
	}
	defer func() {
		_ = tmp.Close()
		_ = os.Remove(tmp.Name()) // the old content, by now, or nothing
	}()
	if _, err := tmp.Write(next); err != nil {
		return err
	}
	if old.info != nil {
		// The group first: the old mode must not let another group in.
		if err := chgrp(tmp, old.stat().Gid); err != nil {
			return err
		}
		if err := tmp.Chmod(old.info.Mode()); err != nil {
			return err
		}
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if s.beforeRename != nil {
		s.beforeRename()
	}
	if err := old.swap(tmp.Name(), path); err != nil {
		return err
	}
	// That the name outlives a power cut, where the file system can say so.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// swap puts the file tmp at path, where o is. Where something else is there it
// stays, and swap says errChanged.
func (o *ownFile) swap(tmp, path string) error {
	if o.info == nil {
		err := renameNew(tmp, path)
		if errors.Is(err, errors.ErrUnsupported) {
			// A link, other than a rename, never replaces what came meanwhile.
			err = os.Link(tmp, path)
		}
		if errors.Is(err, fs.ErrExist) {
			return errChanged
		}
		return err
	}
	if now, err := openOwn(path); err != nil || !o.same(now) {
		return errChanged
	}
	err := o.exchange(tmp, path)
	if errors.Is(err, errors.ErrUnsupported) {
		err = os.Rename(tmp, path)
	}
	return err
}

// exchange has the two files change places, and looks at what came out.
func (o *ownFile) exchange(tmp, path string) error {
	in, err := os.Lstat(tmp)
	if err == nil {
		err = exchange(tmp, path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errChanged
	case err != nil:
		return err
	}
	if out, err := openOwn(tmp); err == nil && o.same(out) {
		return nil
	}
	// Another one goes back, and so does what came to path meanwhile, until what
	// was put in last comes out.
	for {
		other, err := os.Lstat(tmp)
		if err == nil {
			err = exchange(tmp, path)
		}
		if err != nil {
			_ = os.Rename(tmp, path) // rather than lose it
			return errChanged
		}
		if out, err := os.Lstat(tmp); err != nil || os.SameFile(out, in) {
			return errChanged
		}
		in = other
	}
}

// chgrp gives the file to a group, where it isn't the group's already: some
// file systems refuse even that.
func chgrp(f *os.File, gid uint32) error {
	info, err := f.Stat()
	if err != nil || info.Sys().(*syscall.Stat_t).Gid == gid {
		return err
	}
	return f.Chown(-1, int(gid))
}

// whyRefused tells the reason of what openOwn refused. Those of package
// precheck that speak of a socket's owner have hints that don't fit here.
func whyRefused(err error) (r inbox.Reason, why string, sys error) {
	var pe *precheck.Error
	switch {
	case errors.Is(err, errTooLarge):
		return ReasonTooLarge, "is too large", err
	case !errors.As(err, &pe):
		return ReasonUnreadable, "can't be read", err
	}
	switch pe.Reason {
	case precheck.Symlink:
		return inbox.ReasonSymlink, "is a symbolic link, which a rename would replace", nil
	case precheck.NotRegular:
		return ReasonNotRegular, "is not a regular file", nil
	case precheck.ForeignUID:
		return ReasonNotOurs, "is another user's", nil
	}
	return ReasonUnreadable, "can't be read", pe.Err
}

// whySystem tells the reason of what the system refused.
func whySystem(err error) inbox.Reason {
	switch e := cause(err); {
	case errors.Is(e, syscall.EBUSY), errors.Is(e, syscall.EXDEV):
		return ReasonMount
	case errors.Is(e, fs.ErrPermission), errors.Is(e, syscall.EROFS):
		return ReasonNotWritable
	case errors.Is(e, syscall.ENOSPC), errors.Is(e, syscall.EDQUOT), errors.Is(e, syscall.EFBIG):
		return ReasonDiskFull
	}
	return ReasonUnreadable
}
