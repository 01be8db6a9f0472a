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

// file is what the writers need of an *os.File; the tests have others.
type file interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// opener opens a file for writing; flag as in os.OpenFile.
type opener func(path string, flag int) (file, error)

// A run directory is its user's alone: it holds addresses, paths and the logs of
// members. Who wants to share one opens it.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

func openFile(path string, flag int) (file, error) { return os.OpenFile(path, flag, fileMode) }

// lines is a file of whole lines. Each Write is one call to the system, and one
// that fails half-way is taken back, so that a crash or a full disk leaves no
// half line.
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
		_ = l.f.Truncate(l.size) // if this fails too, a reader drops the half line
		return 0, writeError(l.path, err)
	}
	l.size += int64(n)
	return n, nil
}

// close makes the file last.
func (l *lines) close() error {
	if err := errors.Join(l.f.Sync(), l.f.Close()); err != nil {
		return writeError(l.path, err)
	}
	return nil
}

// replace writes a file as a whole: at any moment either the old contents or
// the new are there.
func (w opener) replace(path string, contents []byte) error {
	temp := path + ".tmp"
	_ = os.Remove(temp) // of a process that was killed; a link is not followed, and a pipe not waited for
	if err := w.write(temp, os.O_EXCL, contents); err != nil {
		_ = os.Remove(temp)
		return writeError(path, errors.Unwrap(err))
	}
	if err := os.Rename(temp, path); err != nil {
		return writeError(path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// write writes a new file and makes it last.
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

// syncFolder makes a folder's entries last. Where folders cannot be synced,
// the system does it in its own time.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return writeError(dir, err)
	}
	_ = d.Sync()
	return d.Close()
}

// pathError is a failure to write, as a sentence.
type pathError struct {
	text string
	err  error
}

func (e *pathError) Error() string { return e.text }
func (e *pathError) Unwrap() error { return e.err }

// writeError says what could not be written, why, and what to do.
func writeError(path string, err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		err = wrapped.Err // its own text names the path again
	}
	text := fmt.Sprintf("cannot write %s: %v", path, err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		text = fmt.Sprintf("cannot write %s: the disk is full; make room there, or record on another disk (--out)", path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		text += "; choose a folder that you may write to"
	}
	return &pathError{text: text, err: err}
}
