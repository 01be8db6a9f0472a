package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// names records the changes of names since the last sync of any file or folder.
type names struct {
	trash       string // folder that contains removed files until their removal is synced
	trashCount  int    // number of names that were used in trash so far
	syncedCount int    // number of synced changes
	pending     []change
}

// change is one change of a name, such as a rename.
type change struct {
	undo func() error
	// onSynced is called when the change is synced and can no longer be undone. It may be nil.
	onSynced func() error
}

func (n *names) add(undo, synced func() error) { n.pending = append(n.pending, change{undo, synced}) }

// count returns the total number of changes so far.
func (n *names) count() int { return n.syncedCount + len(n.pending) }

// sync marks the first `count` changes as synced. Like the method count, it counts all changes so
// far, including those that are already synced.
func (n *names) sync(count int) error {
	var errs []error
	for n.syncedCount < count {
		if done := n.pending[0].onSynced; done != nil {
			errs = append(errs, done())
		}
		n.pending, n.syncedCount = n.pending[1:], n.syncedCount+1
	}
	return errors.Join(errs...)
}

// undoUnsynced undoes the changes that were not synced, in reverse order.
func (n *names) undoUnsynced() error {
	var errs []error
	for i := len(n.pending) - 1; i >= 0; i-- {
		errs = append(errs, n.pending[i].undo())
	}
	n.pending = nil
	return errors.Join(errs...)
}

// recordCreation records that a file or an empty folder was created at path.
func (n *names) recordCreation(path string) { n.add(func() error { return os.Remove(path) }, nil) }

// nextTrashPath returns an unused path in the trash.
func (n *names) nextTrashPath() string {
	n.trashCount++
	return filepath.Join(n.trash, fmt.Sprint(n.trashCount))
}

// recordRemoval must be called when the file at `path` was moved to the path `trashPath` in the
// trash. When this removal is synced, the function `onSynced` is called, and the file in the trash
// is deleted.
func (n *names) recordRemoval(path, trashPath string, onSynced func()) {
	n.add(func() error { return os.Rename(trashPath, path) }, func() error {
		onSynced()
		return os.Remove(trashPath)
	})
}
