package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/text"
)

// OrphanDepth is the maximum number of levels between a search root and a run's data folder.
const OrphanDepth = 3

// AnyDepth is a number of levels that makes CleanOrphans search all levels. It is for roots that
// contain only our files.
const AnyDepth = math.MaxInt

// Orphan is a claimed folder that was removed because its owner had exited.
type Orphan struct {
	Path  string
	Disks int // disks that were still mounted in the folder after their server had exited
}

// String returns a sentence without the period at its end.
func (o Orphan) String() string {
	words := fmt.Sprintf("removed %s, which a killed command left", o.Path)
	if o.Disks > 0 {
		words += fmt.Sprintf(", and unmounted %s in it", text.Plural(uint64(o.Disks), "disk"))
	}
	return words
}

// CleanOrphans searches root, down to the given number of levels, for claimed folders whose owner
// has exited. In each of them, it kills the processes that still work there, unmounts the disks
// whose server has exited, and then removes the folder. It returns the removed folders. It never
// changes a folder whose owner is running. A missing root is not an error.
//
// CleanOrphans trusts a claimed folder only if no other user can write to this folder, to its owner
// file, or to the folders between it and root. Other users may be able to write to root itself,
// provided that they cannot remove our entries there, as in /tmp.
func CleanOrphans(root string, levels int) (removed []Orphan, err error) {
	top, err := OpenFolder(root)
	if err != nil {
		return nil, nil // a folder that we cannot read contains none of our files
	}
	defer top.Close()
	if !top.protectsEntries() {
		return nil, nil
	}
	return cleanBelow(top, levels)
}

// protectsEntries reports whether only we and root can remove or replace our folders in f.
func (f *Folder) protectsEntries() bool {
	owner := ownerID(f.info)
	return (owner == os.Geteuid() || owner == 0) && (f.info.Mode()&othersWriteMask == 0 || f.info.Mode()&fs.ModeSticky != 0)
}

func cleanBelow(f *Folder, depth int) (removed []Orphan, err error) {
	names, err := f.Names()
	if err != nil {
		return nil, nil
	}
	slices.Sort(names)
	var errs []error
	for _, name := range names {
		claimed := strings.HasPrefix(name, claimPrefix) || strings.HasPrefix(name, AdoptedPrefix)
		if _, folder, err := f.Inspect(name); err != nil || !folder || !claimed && depth <= 1 {
			continue
		}
		sub, err := f.Sub(name)
		if err != nil {
			continue
		}
		if claimed && sub.CheckOwner() == nil {
			disks, gone, err := f.removeOrphan(sub)
			errs = append(errs, err)
			if gone {
				removed = append(removed, Orphan{sub.Path(), disks})
			}
		} else if sub.CheckOwner() == nil {
			more, err := cleanBelow(sub, depth-1)
			errs = append(errs, err)
			removed = append(removed, more...)
		}
		sub.Close()
	}
	return removed, errors.Join(errs...)
}

// removeOrphan removes dir, a claimed folder in f, if its owner has exited. It returns the number
// of disks that it unmounted, and whether it removed the folder.
func (f *Folder) removeOrphan(dir *Folder) (disks int, removed bool, err error) {
	note, err := dir.openOwned(ownerFile, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil // the owner is still creating the folder
	}
	if err != nil {
		return 0, false, fmt.Errorf("cannot read the owner of %s: %w", dir.Path(), Cause(err))
	}
	defer func() { _ = note.Close() }()
	lockErr := unix.Flock(int(note.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(lockErr, unix.EWOULDBLOCK) {
		return 0, false, nil // the owner is running
	}
	b, err := readNote(note)
	if err != nil {
		return 0, false, fmt.Errorf("cannot read the owner of %s: %w", dir.Path(), Cause(err))
	}
	var o owner
	if json.Unmarshal(b, &o) != nil {
		return 0, false, nil // the owner is still writing its owner file
	}
	switch o.Place.Visibility() {
	case SamePlace:
		if o.Owner.Running() {
			return 0, false, nil
		}
		if err := killProcesses(o, dir.Path()); err != nil {
			return 0, false, fmt.Errorf("cannot remove the data folder %s, whose owner has exited: %w", dir.Path(), err)
		}
	case OtherPIDNamespace:
		if lockErr != nil {
			return 0, false, nil // without locks we cannot know whether the owner has exited
		}
	case OtherHost:
		return 0, false, nil
	case Rebooted:
	}
	if real, err := filepath.EvalSymlinks(dir.Path()); err == nil {
		disks = disk.UnmountStaleBelow(real)
	}
	if err := dir.clear(f); err != nil {
		return disks, false, fmt.Errorf("cannot remove the data folder %s, whose owner has exited: %w", dir.Path(), Cause(err))
	}
	return disks, true, nil
}

// killTimeout is the maximum time for which we wait until killed processes have exited.
const killTimeout = 10 * time.Second

// killProcesses kills the processes that work in an orphan, and waits until they have exited. If
// the owner file lists a running process that cannot be proved to be ours, killProcesses kills no
// process and returns an error.
func killProcesses(o owner, dir string) error {
	found := FindMarked(o.Mark, dir)
	defer func() {
		for _, h := range found {
			h.Release()
		}
	}()
	if foreign := FindUnproven(o.Processes, found); foreign != nil {
		return fmt.Errorf("process %d is running, but %w", foreign.PID, errNotProven)
	}
	for _, h := range found {
		if err := h.Signal(Kill); err != nil {
			return err
		}
	}
	deadline := time.After(killTimeout)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for _, h := range found {
		for h.Running() {
			select {
			case <-ticker.C:
			case <-deadline:
				return fmt.Errorf("process %d was killed but has not exited", h.PID)
			}
		}
	}
	return nil
}

// FindUnproven returns the first process in `recorded` that is running but not in `found`. It
// returns nil if no such process exists.
func FindUnproven(recorded []Identity, found []*ProcessHandle) *Identity {
	for i := range recorded {
		proven := slices.ContainsFunc(found, func(h *ProcessHandle) bool { return h.Identity == recorded[i] })
		if !proven && recorded[i].Running() {
			return &recorded[i]
		}
	}
	return nil
}

// HasClaims reports whether root contains a claimed folder at one of the levels that CleanOrphans
// searches.
func HasClaims(root string) bool {
	for depth := range OrphanDepth {
		if found, _ := fs.Glob(os.DirFS(root), strings.Repeat("*/", depth)+claimPrefix+"*"); len(found) > 0 {
			return true
		}
	}
	return false
}
