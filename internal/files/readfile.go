// Package files reads files that other people may have written, and frames the blocks of
// files that are only appended to, so that a crash at any moment leaves what was written
// before readable. CleanEnviron keeps what others have set out of programs that we start.
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

// Open opens a regular file for reading. It does not wait, whatever is there.
func Open(path string) (*os.File, error) {
	return open(path, path, os.Stat, os.OpenFile)
}

// OpenIn opens a regular file below a folder, and none outside of it, whatever
// the name says and wherever links lead.
func OpenIn(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	path := filepath.Join(dir, name)
	f, err := open(path, name, root.Stat, root.OpenFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if link := firstLink(root, name); link != "" {
			err = refused(path, fmt.Errorf("%s is a link that leads out of %s, and is not followed; replace it with the file that it leads to", link, dir))
		}
	}
	return f, err
}

// firstLink returns the first link on the way to a file, if any.
func firstLink(root *os.Root, name string) string {
	at := ""
	for _, part := range strings.Split(filepath.Clean(name), "/") {
		at = filepath.Join(at, part)
		if info, err := root.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}

func open(path, name string, stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	// A device is not even opened: some do something then.
	if info, err := stat(name); err == nil {
		if err := regular(path, info); err != nil {
			return nil, err
		}
	}
	f, err := openFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(path, info) // another may stand there meanwhile
	}
	if err != nil {
		_ = f.Close() // it was only opened
		return nil, err
	}
	return f, nil
}

// Read reads a regular file that has at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return whole(f, path, most)
}

// ReadIn is Read of a file below a folder, as OpenIn finds it.
func ReadIn(dir, name string, most int64) ([]byte, error) {
	f, err := OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	return whole(f, filepath.Join(dir, name), most)
}

func whole(f *os.File, path string, most int64) ([]byte, error) {
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, refused(path, tooLarge(most))
	}
	// A file that grows is read to its end, and one of the system has no size.
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = b.ReadFrom(io.LimitReader(f, most+1))
	if err == nil && int64(b.Len()) > most {
		err = tooLarge(most)
	}
	if err != nil {
		return nil, refused(path, err)
	}
	return b.Bytes(), nil
}

// All reads to the end of what has at most so many bytes.
func All(from io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, tooLarge(most)
	}
	return b, err
}

func tooLarge(most int64) error {
	switch {
	case most >= 1<<20:
		return fmt.Errorf("it has more than %d MiB, and such a file has at most that", most>>20)
	case most >= 1<<10:
		return fmt.Errorf("it has more than %d KiB, and such a file has at most that", most>>10)
	}
	return fmt.Errorf("it has more than %d bytes, and such a file has at most that", most)
}

// regular says what is there instead of a regular file.
func regular(path string, info fs.FileInfo) error {
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
	return refused(path, errors.New("it is "+what+" and not a regular file"))
}

// refused has the form of the system's own errors.
func refused(path string, err error) error {
	return &fs.PathError{Op: "read", Path: path, Err: err}
}
