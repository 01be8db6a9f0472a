package upload

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// folderStore is a store in a folder on this machine. It opens, writes and removes only files in
// that folder, even if another process creates links there.
type folderStore struct{ root *os.Root }

func openFolder(dir string) (store, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folderStore{root}, nil
}

// list lists the objects in a folder, whose name must end with a slash. If folder is empty, list
// lists all objects in the store.
func (s *folderStore) list(ctx context.Context, folder string, limit int, each func(string, object) error) error {
	from := path.Clean(folder)
	return fs.WalkDir(s.root.FS(), from, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission) && name != from:
			return nil // the folder does not exist yet, the entry was removed in the meantime, or it belongs to another program
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case name == from && !d.IsDir():
			return &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
		case limit == 0:
			return fs.SkipAll
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		limit--
		return each(name, object{size: info.Size()})
	})
}

func (s *folderStore) reader(_ context.Context, key string) (io.ReadCloser, error) {
	f, err := s.root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errNotExist, err)
	}
	if err != nil {
		return nil, err // not f, because an interface with a nil *os.File is not nil
	}
	return f, nil
}

// write writes a temporary file and renames it. The temporary file is in the folder of the object,
// because a rename cannot move a file to another file system. As in a run directory, only the user
// can read the file.
func (s *folderStore) write(_ context.Context, key string, source io.Reader, _ int64) error {
	if err := s.root.MkdirAll(path.Dir(key), 0o700); err != nil {
		return err
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	temporary := key + "." + hex.EncodeToString(random[:]) + ".tmp"
	f, err := s.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, source)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.root.Rename(temporary, key)
	}
	if err != nil {
		_ = s.root.Remove(temporary) // report the earlier error
	}
	return err
}

func (s *folderStore) remove(_ context.Context, key string) error { return s.root.Remove(key) }

func (s *folderStore) Close() error { return s.root.Close() }
