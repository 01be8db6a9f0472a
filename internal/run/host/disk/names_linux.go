package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// names are the changes of names since the last sync of anything.
type names struct {
	trash string // folder of what was removed, until that is synced
	kept  int    // files that were ever put there
	done  int    // changes that are synced
	open  []change
}

// change is one change of names.
type change struct {
	undo func() error
	// synced is called when it cannot be undone any more; nil for nothing.
	synced func() error
}

func (n *names) add(undo, synced func() error) { n.open = append(n.open, change{undo, synced}) }

// count is how many changes there ever were.
func (n *names) count() int { return n.done + len(n.open) }

// sync says that as many changes as there ever were at a moment are synced.
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

// lose undoes what was not synced, the last first.
func (n *names) lose() error {
	var errs []error
	for i := len(n.open) - 1; i >= 0; i-- {
		errs = append(errs, n.open[i].undo())
	}
	n.open = nil
	return errors.Join(errs...)
}

// made says that a file or an empty folder was made at path.
func (n *names) made(path string) { n.add(func() error { return os.Remove(path) }, nil) }

// keep is a new name in the trash.
func (n *names) keep() string {
	n.kept++
	return filepath.Join(n.trash, fmt.Sprint(n.kept))
}

// removed says that what was at path is at kept now, until that is synced; gone is
// called then.
func (n *names) removed(path, kept string, gone func()) {
	n.add(func() error { return os.Rename(kept, path) }, func() error {
		gone()
		return os.Remove(kept)
	})
}
