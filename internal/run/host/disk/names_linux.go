package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// names tracks the changes of names since the last sync of any file or folder.
type names struct {
	trash string // folder that keeps removed files until their removal is synced
	kept  int    // number of names ever used in trash
	done  int    // number of synced changes
	open  []change
}

// change is one change of a name, such as a rename.
type change struct {
	undo func() error
	// synced is called when the change can no longer be undone. It may be nil.
	synced func() error
}

func (n *names) add(undo, synced func() error) { n.open = append(n.open, change{undo, synced}) }

// count returns the total number of changes so far.
func (n *names) count() int { return n.done + len(n.open) }

// sync marks the first count of all changes as synced.
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

// lose undoes the changes that were not synced, starting with the latest.
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

// removed records that the file at path was moved to kept. When this removal is synced, gone is
// called and kept is deleted.
func (n *names) removed(path, kept string, gone func()) {
	n.add(func() error { return os.Rename(kept, path) }, func() error {
		gone()
		return os.Remove(kept)
	})
}
