// Package files reads files that other users may have written. It also stores the blocks of
// append-only files in frames, so that the earlier blocks remain readable after a crash at any
// moment. CleanEnviron builds the environment of the programs that quorumbench starts, without
// variables that might change how these programs behave.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Open opens a regular file for reading. It does not block, even if the path is a pipe.
func Open(path string) (*os.File, error) {
	return open(path, path, os.Stat, os.OpenFile)
}

// OpenIn opens a regular file in a folder or below it. It never opens a file outside the folder,
// whatever the name contains and wherever links point.
func OpenIn(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	path := filepath.Join(dir, name)
	f, err := open(path, name, root.Stat, root.OpenFile)
	if err != nil {
		if link := escapingLink(root, name); link != "" {
			err = readError(path, fmt.Errorf("%s is a symbolic link to a target outside %s, and quorumbench does not follow such links; replace the link with a copy of its target", link, dir))
		}
	}
	return f, err
}

// escapingLink returns the first symbolic link in a file's path whose target is outside the root,
// or "".
func escapingLink(root *os.Root, name string) string {
	_, err := root.Stat("..")
	errEscapes := errors.Unwrap(err) // the package os does not export this error
	prefix := ""
	for part := range strings.SplitSeq(filepath.Clean(name), "/") {
		prefix = filepath.Join(prefix, part)
		if _, err := root.Stat(prefix); !errors.Is(err, errEscapes) {
			continue
		}
		if info, err := root.Lstat(prefix); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return prefix
		}
		return ""
	}
	return ""
}

func open(path, name string, stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	// Check the type before opening, because opening a device may have side effects.
	if info, err := stat(name); err == nil {
		if err := checkRegular(path, info); err != nil {
			return nil, err
		}
	}
	f, err := openFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(path, info) // the path may refer to a different file now
	}
	if err != nil {
		_ = f.Close() // nothing was read or written
		return nil, err
	}
	return f, nil
}

// Read reads a regular file. It returns an error if the file has more than `limit` bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return readLimited(f, path, limit)
}

// ReadIn reads a file in a folder or below it, with the restrictions of OpenIn. It returns an error
// if the file has more than `limit` bytes.
func ReadIn(dir, name string, limit int64) ([]byte, error) {
	f, err := OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	return readLimited(f, filepath.Join(dir, name), limit)
}

func readLimited(f *os.File, path string, limit int64) ([]byte, error) {
	defer func() { _ = f.Close() }() // the file was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, readError(path, tooLarge(limit))
	}
	// The reported size is only a hint: a file may grow while it is read, and files that the kernel
	// generates report the size 0.
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = b.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(b.Len()) > limit {
		err = tooLarge(limit)
	}
	if err != nil {
		return nil, readError(path, err)
	}
	return b.Bytes(), nil
}

// ReadAll reads all data. It returns an error if the data has more than `limit` bytes.
func ReadAll(in io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, tooLarge(limit)
	}
	return b, err
}

func tooLarge(limit int64) error {
	switch {
	case limit >= 1<<20:
		return fmt.Errorf("it is larger than %d MiB, the limit for such a file", limit>>20)
	case limit >= 1<<10:
		return fmt.Errorf("it is larger than %d KiB, the limit for such a file", limit>>10)
	}
	return fmt.Errorf("it is larger than %d bytes, the limit for such a file", limit)
}

// checkRegular returns an error if `info` does not describe a regular file. The error contains the
// type of the file.
func checkRegular(path string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "something else"
	}
	return readError(path, errors.New("it is "+what+" and not a regular file"))
}

// readError returns an error in the same form as the operating system's errors.
func readError(path string, err error) error {
	return &fs.PathError{Op: "read", Path: path, Err: err}
}
