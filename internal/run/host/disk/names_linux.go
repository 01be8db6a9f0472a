package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// names records the changes of names since the last sync of any file or folder.
type names struct {
	trash string // folder that contains removed files until their removal is synced
	kept  int    // number of names that were used in trash so far
	done  int    // number of synced changes
	open  []change
}

// change is one change of a name, such as a rename.
type change struct {
	undo func() error
	// synced is called when the change is synced and can no longer be undone. It may be nil.
	synced func() error
}

func (n *names) add(undo, synced func() error) { n.open = append(n.open, change{undo, synced}) }

// count returns the total number of changes so far.
func (n *names) count() int { return n.done + len(n.open) }

// sync marks the changes up to number count as synced. Changes are numbered from 1, as in the
// result of count.
func (n *names) sync(count int) error {
	var errs []error
	for n.done < count {
		if done := n.open[0].synced; done != nil {
			errs = append(errs, done())
		}
		n.open, n.done = n.open[1:], n.done+1
	}
	return errors.Join(errs...)
}

// lose undoes the changes that were not synced, in reverse order.
func (n *names) lose() error {
	var errs []error
	for i := len(n.open) - 1; i >= 0; i-- {
		errs = append(errs, n.open[i].undo())
	}
	n.open = nil
	return errors.Join(errs...)
}

// recordMade records that a file or an empty folder was created at path.
func (n *names) recordMade(path string) { n.add(func() error { return os.Remove(path) }, nil) }

// keep returns an unused path in the trash.
func (n *names) keep() string {
	n.kept++
	return filepath.Join(n.trash, fmt.Sprint(n.kept))
}

// removed must be called when the file at `path` was moved to the path `kept` in the trash. When
// this removal is synced, the function `gone` is called, and the file in the trash is deleted.
func (n *names) removed(path, kept string, gone func()) {
	n.add(func() error { return os.Rename(kept, path) }, func() error {
		gone()
		return os.Remove(kept)
	})
}
