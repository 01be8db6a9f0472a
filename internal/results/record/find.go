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

// UnreadableFolder is a subfolder that FindRuns skipped.
type UnreadableFolder struct {
	Path string
	Err  error
}

// FindRuns returns the run directories in a folder and in its subfolders, in alphabetical order. It
// does not follow links, and does not search inside run directories. It skips subfolders that
// cannot be read, so that they do not hide the other runs, and returns them as skipped.
func FindRuns(dir string) (all []string, skipped []UnreadableFolder, err error) {
	return findRuns(dir, os.ReadDir)
}

// findRuns implements FindRuns. It calls readDir to read a folder.
func findRuns(dir string, readDir func(string) ([]fs.DirEntry, error)) (all []string, skipped []UnreadableFolder, err error) {
	var walk func(dir string, levels int) error
	walk = func(dir string, levels int) error {
		entries, err := readDir(dir)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == runFile }) {
			all = append(all, dir)
			return nil
		}
		for _, e := range entries {
			if below := filepath.Join(dir, e.Name()); e.IsDir() && levels > 0 {
				if err := walk(below, levels-1); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been removed
					skipped = append(skipped, UnreadableFolder{below, err})
				}
			}
		}
		return nil
	}
	if err := walk(dir, maxDepth); err != nil {
		return nil, nil, fmt.Errorf("cannot list the run directories in %s: %w", dir, err)
	}
	return all, skipped, nil
}
