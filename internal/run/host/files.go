package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// A member's folders, configuration and logs are our user's alone.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// MakeDir implements Host.
func (*Local) MakeDir(_ context.Context, path string) error {
	if err := os.MkdirAll(path, folderMode); err != nil {
		return fmt.Errorf("the folder %s cannot be made: %w", path, Cause(err))
	}
	return nil
}

// WriteFile implements Host.
func (*Local) WriteFile(_ context.Context, path string, contents []byte) error {
	temporary := path + Unfinished
	err := os.Remove(temporary) // of a process that was killed in that moment; a link is not followed
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = createFile(temporary, contents)
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return fmt.Errorf("the file %s cannot be written: %w", path, Cause(err))
	}
	return nil
}

// createFile makes a file that does not exist yet. It does not follow a link.
func createFile(path string, contents []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(contents)
	return errors.Join(err, file.Close())
}

// tailBytes bounds what is read of a log's end.
const tailBytes = 64 << 10

// tail returns at most the last so many lines of a text file.
func tail(path string, lines int) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the log %s cannot be read: %w", path, Cause(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the log %s cannot be read: %w", path, Cause(err))
	}
	from := max(0, info.Size()-tailBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return nil, fmt.Errorf("the log %s cannot be read: %w", path, Cause(err))
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if from > 0 && len(all) > 1 {
		all = all[1:] // the first is a part of a line
	}
	if len(all) == 1 && all[0] == "" {
		return nil, nil
	}
	return all[max(0, len(all)-lines):], nil
}

// Cause leaves the operation and the path out of a system error, since the
// sentence around it names them.
func Cause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	var linkError *os.LinkError
	if errors.As(err, &linkError) {
		return linkError.Err
	}
	return err
}
