package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// These modes give only our user access to members' folders, configuration and logs.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// MakeDir implements Host.
func (l *Local) MakeDir(_ context.Context, path string) error {
	folder, err := l.makeFolder(path)
	if err != nil {
		return err
	}
	folder.Close()
	return nil
}

// makeFolder creates a folder and its missing parents, and opens the folder.
func (l *Local) makeFolder(path string) (folder *Folder, err error) {
	if l.folder == nil {
		if _, err := CreateFolders(path); err != nil {
			return nil, err
		}
		folder, err = OpenFolder(path)
	} else {
		folder, err = l.folder.openBelow(path, true)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create the folder %s: %w", path, Cause(err))
	}
	return folder, nil
}

// openFolder opens an existing folder.
func (l *Local) openFolder(path string) (*Folder, error) {
	if l.folder != nil {
		return l.folder.openBelow(path, false)
	}
	return OpenFolder(path)
}

// openFile opens a regular file for reading.
func (l *Local) openFile(path string) (*os.File, fs.FileInfo, error) {
	folder, err := l.openFolder(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	return folder.open(filepath.Base(path), os.O_RDONLY)
}

// appendTo opens a regular file for appending. It creates the file if it is missing.
func (l *Local) appendTo(path string) (*os.File, error) {
	folder, err := l.openFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.appendTo(filepath.Base(path))
}

// WriteFile implements Host.
func (l *Local) WriteFile(_ context.Context, path string, contents []byte) error {
	folder, err := l.openFolder(filepath.Dir(path))
	if err == nil {
		err = folder.Replace(filepath.Base(path), contents)
		folder.Close()
	}
	if err != nil {
		return fmt.Errorf("cannot write the file %s: %w", path, Cause(err))
	}
	return nil
}

// tailBytes is the maximum number of bytes that tail reads from the end of a log.
const tailBytes = 64 << 10

// tail returns the last lines of a text file. The parameter `lines` is the maximum number of lines.
func (l *Local) tail(path string, lines int) ([]string, error) {
	f, info, err := l.openFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the log %s: %w", path, Cause(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	from := max(0, info.Size()-tailBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return nil, fmt.Errorf("cannot read the log %s: %w", path, Cause(err))
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if from > 0 && len(all) > 1 {
		all = all[1:] // the first line may be incomplete
	}
	if len(all) == 1 && all[0] == "" {
		return nil, nil
	}
	return all[max(0, len(all)-lines):], nil
}

// Cause returns a system error without its operation and path, for messages that already contain
// both.
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
