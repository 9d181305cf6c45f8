package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// archive writes a tar.gz of these files in a folder of this name. They are
// root's, and all of one time.
func archive(to, folder string, list []file, at time.Time) error {
	return compressed(to, func(w io.Writer) error {
		t := tar.NewWriter(w)
		for _, f := range list {
			if err := add(t, folder, f, at); err != nil {
				return err
			}
		}
		return t.Close()
	})
}

func add(t *tar.Writer, folder string, f file, at time.Time) error {
	h := &tar.Header{Name: folder + "/" + f.name, Mode: 0o644, ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
	if f.program {
		h.Mode = 0o755
	}
	if f.link != "" {
		h.Typeflag, h.Linkname = tar.TypeLink, folder+"/"+f.link
		return t.WriteHeader(h)
	}
	data, err := os.ReadFile(f.from)
	if err != nil {
		return err
	}
	h.Size = int64(len(data))
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = t.Write(data)
	return err
}

// compressed writes a file through gzip. Its header has no name and no time.
func compressed(to string, write func(io.Writer) error) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(write(z), z.Close(), f.Close())
}

// publish puts what was made into a folder, with a list of its checksums that
// sha256sum -c reads.
func publish(made []string, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, path := range slices.Sorted(slices.Values(made)) {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	fmt.Print(sums.String())
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
