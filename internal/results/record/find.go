package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxDepth is the number of folder levels below the given folder that FindRuns searches.
const maxDepth = 3

// FindRuns returns the run directories in a folder and in its subfolders, in alphabetical order. It
// does not follow links, and does not search inside run directories.
func FindRuns(dir string) (all []string, err error) {
	var walk func(dir string, levels int) error
	walk = func(dir string, levels int) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == runFile }) {
			all = append(all, dir)
			return nil
		}
		for _, e := range entries {
			if !e.IsDir() || levels == 0 {
				continue
			}
			err := walk(filepath.Join(dir, e.Name()), levels-1)
			if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) { // the folder may have been removed
				return err
			}
		}
		return nil
	}
	if err := walk(dir, maxDepth); err != nil {
		return nil, fmt.Errorf("cannot list the run directories in %s: %w", dir, err)
	}
	return all, nil
}
