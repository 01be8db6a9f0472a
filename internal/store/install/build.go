package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/store"
)

// build builds the server in a temporary folder and moves it into the cache. The caller must hold
// the server's lock. Therefore, if folders of other builds of this server exist, no process uses
// these folders any more.
func (c Cache) build(ctx context.Context, s store.ServerSource, progress func(Update)) (err error) {
	if err := c.sweep(s); err != nil {
		return err
	}
	w, err := c.prepare(s)
	if err != nil {
		return err
	}
	defer func() {
		if removing := os.RemoveAll(w.dir); err == nil {
			err = removing
		}
	}()
	switch s.Kind {
	case store.GoModule:
		err = buildGo(ctx, w, s, progress)
	case store.Maven:
		err = buildMaven(ctx, w, s, progress)
	default:
		err = fmt.Errorf("quorumbench cannot build servers of kind %d", s.Kind)
	}
	if err != nil {
		return err
	}
	progress(Update{Step: "checking"})
	if err := check(ctx, w, s); err != nil {
		return err
	}
	m, err := newManifest(w.out, s)
	if err != nil {
		return err
	}
	if err := m.write(w.out); err != nil {
		return err
	}
	return c.moveIntoCache(w, s)
}

// sweep removes the temporary folders of builds that were killed.
func (c Cache) sweep(s store.ServerSource) error {
	left, err := filepath.Glob(filepath.Join(c.Dir, "."+folderName(s)+".build-*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

func (c Cache) prepare(s store.ServerSource) (w workspace, err error) {
	files, err := buildInputs(s)
	if err != nil {
		return w, err
	}
	if w.dir, err = os.MkdirTemp(c.Dir, "."+folderName(s)+".build-"); err != nil {
		return w, err
	}
	w.in, w.out = filepath.Join(w.dir, "in"), filepath.Join(w.dir, "out")
	defer func() {
		if err != nil {
			_ = os.RemoveAll(w.dir) // ignore this error: the earlier error is the relevant one
		}
	}()
	if err := os.Mkdir(w.out, 0o755); err != nil {
		return w, err
	}
	for path, contents := range files {
		to := filepath.Join(w.in, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return w, err
		}
		if err := os.WriteFile(to, contents, 0o644); err != nil {
			return w, err
		}
	}
	return w, nil
}

// moveIntoCache renames the build's result to its final name. If an earlier result exists, it is
// damaged or was built from an older description. moveIntoCache moves it into the workspace, which
// is removed later. Members that still run from the earlier result keep their open files.
func (c Cache) moveIntoCache(w workspace, s store.ServerSource) error {
	final := filepath.Join(c.Dir, folderName(s))
	if err := os.Rename(final, filepath.Join(w.dir, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(w.out, final)
}
