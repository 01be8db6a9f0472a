// Package files reads files that other users may have written. It also puts the blocks of
// append-only files into frames, so that a crash at any moment leaves the earlier blocks readable.
// CleanEnviron keeps variables meant for other programs away from the programs that quorumbench
// starts.
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if link := firstLink(root, name); link != "" {
			err = refused(path, fmt.Errorf("%s is a link that leads out of %s, and is not followed; replace it with the file that it leads to", link, dir))
		}
	}
	return f, err
}

// firstLink returns the first symbolic link in a file's path, or "".
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
	// A device is not opened at all, because opening it may have side effects.
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
		err = regular(path, info) // another file may have replaced it
	}
	if err != nil {
		_ = f.Close() // nothing was read or written
		return nil, err
	}
	return f, nil
}

// Read reads a regular file that has at most the given number of bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return whole(f, path, most)
}

// ReadIn reads a file in a folder or below it. It opens the file as OpenIn does.
func ReadIn(dir, name string, most int64) ([]byte, error) {
	f, err := OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	return whole(f, filepath.Join(dir, name), most)
}

func whole(f *os.File, path string, most int64) ([]byte, error) {
	defer func() { _ = f.Close() }() // the file was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, refused(path, tooLarge(most))
	}
	// A growing file is read to its end. Files that the kernel generates report the size 0.
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

// ReadAll reads all data, which must not have more than the given number of bytes.
func ReadAll(from io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, tooLarge(most)
	}
	return b, err
}

func tooLarge(most int64) error {
	switch {
	case most >= 1<<20:
		return fmt.Errorf("it has more than %d MiB, the limit for such a file", most>>20)
	case most >= 1<<10:
		return fmt.Errorf("it has more than %d KiB, the limit for such a file", most>>10)
	}
	return fmt.Errorf("it has more than %d bytes, the limit for such a file", most)
}

// regular returns an error if the path is not a regular file. The error names what it is.
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

// refused returns an error in the same form as the operating system's errors.
func refused(path string, err error) error {
	return &fs.PathError{Op: "read", Path: path, Err: err}
}
