package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// file is the part of *os.File that the writers need, so that tests can replace it.
type file interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// opener opens a file for writing; flag as in os.OpenFile.
type opener func(path string, flag int) (file, error)

// Only the user has access to a run directory, because its files contain addresses, paths and
// members' logs.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

func openFile(path string, flag int) (file, error) { return os.OpenFile(path, flag, fileMode) }

// lines is a file that contains only whole lines. Each Write is one system call. If a write fails
// after a part of its data, Write removes this part, so that neither a crash nor a full disk leaves
// an incomplete line.
type lines struct {
	path string
	f    file
	size int64
}

func (w opener) lines(path string) (*lines, error) {
	f, err := w(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, writeError(path, err)
	}
	return &lines{path: path, f: f}, nil
}

func (l *lines) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := l.f.Write(b)
	if err != nil {
		_ = l.f.Truncate(l.size) // if this also fails, readers ignore the incomplete line
		return 0, writeError(l.path, err)
	}
	l.size += int64(n)
	return n, nil
}

// close syncs and closes the file.
func (l *lines) close() error {
	if err := errors.Join(l.f.Sync(), l.f.Close()); err != nil {
		return writeError(l.path, err)
	}
	return nil
}

// replace replaces a file atomically: at any moment, the file has either the old contents or the
// new contents.
func (w opener) replace(path string, contents []byte) error {
	temp := path + ".tmp"
	_ = os.Remove(temp) // a killed process may have left it; removing it avoids following a link or blocking on a pipe
	if err := w.write(temp, os.O_EXCL, contents); err != nil {
		_ = os.Remove(temp)
		return writeError(path, errors.Unwrap(err))
	}
	if err := os.Rename(temp, path); err != nil {
		return writeError(path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// write writes a file and syncs it.
func (w opener) write(path string, flag int, contents []byte) error {
	f, err := w(path, os.O_CREATE|os.O_WRONLY|flag)
	if err != nil {
		return writeError(path, err)
	}
	if _, err = f.Write(contents); err == nil {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err != nil {
		return writeError(path, err)
	}
	return nil
}

// syncFolder syncs a folder's entries. It ignores errors of Sync, because some systems cannot sync
// folders and write them back later.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return writeError(dir, err)
	}
	_ = d.Sync()
	return d.Close()
}

// pathError is the error of a failed write. Its text is a sentence.
type pathError struct {
	text string
	err  error
}

func (e *pathError) Error() string { return e.text }
func (e *pathError) Unwrap() error { return e.err }

// writeError returns an error that states the file, the reason and the remedy.
func writeError(path string, err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		err = wrapped.Err // its text would contain the path a second time
	}
	text := fmt.Sprintf("cannot write %s: %v", path, err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		text = fmt.Sprintf("cannot write %s: the disk is full; free some space, or record on another disk (--out)", path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		text += "; choose a folder that you may write to"
	}
	return &pathError{text: text, err: err}
}
