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

// file has the methods of *os.File that the writers use. Tests can replace it.
type file interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// opener opens a file for writing. The parameter `flag` is the same as for os.OpenFile.
type opener func(path string, flag int) (file, error)

// Only the user who starts a run can access its directory, because the files contain addresses,
// paths and members' logs.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

func openFile(path string, flag int) (file, error) { return os.OpenFile(path, flag, fileMode) }

// lines is a file that contains only complete lines. Each Write is one system call. If a Write
// fails after it has written a part of its data, it removes this part. As a result, neither a crash
// of the process nor a full disk leaves an incomplete line.
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

// replace replaces a file atomically. At any time, the file has either the old or the new contents.
func (w opener) replace(path string, contents []byte) error {
	temp := path + ".tmp"
	_ = os.Remove(temp) // a process that was killed may have left this file; it could be a link or a pipe, so do not write to it
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

// syncFolder syncs the entries of a folder. It ignores errors of Sync, because some systems cannot
// sync folders and write the entries to disk later.
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

// writeError returns an error with the file, the reason and, if known, a remedy.
func writeError(path string, err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		err = wrapped.Err // the text of the wrapper would repeat the path
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
