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

// OrphanDepth is how many levels below its root a run's data folder is at most.
const OrphanDepth = 3

// AnyDepth has CleanOrphans look everywhere below its root, all of which is ours.
const AnyDepth = math.MaxInt

// Orphan is a claimed folder that was removed because its owner is gone.
type Orphan struct {
	Path  string
	Disks int // that were mounted in it, and served by a process that is gone
}

// String returns a sentence without its full stop.
func (o Orphan) String() string {
	words := fmt.Sprintf("removed %s, which a killed command left", o.Path)
	if o.Disks > 0 {
		words += fmt.Sprintf(", and unmounted %s in it", text.Plural(uint64(o.Disks), "disk"))
	}
	return words
}

// CleanOrphans removes the claimed folders at most so many levels below root
// whose owner is gone, ends what still works in them, unmounts the disks in them
// whose server is gone, and returns the folders. A folder whose owner lives is
// never touched. A missing root has none.
//
// Only what is ours counts: the claimed folder, its owner file and the folders
// between it and root belong to this user and nobody else can write them. In root
// itself others may write if they cannot take away what is ours there, as in /tmp.
func CleanOrphans(root string, levels int) (removed []Orphan, err error) {
	top, err := OpenFolder(root)
	if err != nil {
		return nil, nil // what cannot be read is not ours
	}
	defer top.Close()
	if !top.keeps() {
		return nil, nil
	}
	return cleanBelow(top, levels)
}

// keeps reports whether nobody but this user and root can take our folders out
// of this one, or put others in their place.
func (f *Folder) keeps() bool {
	owner := ownerOf(f.info)
	return (owner == os.Geteuid() || owner == 0) && (f.info.Mode()&othersWrite == 0 || f.info.Mode()&fs.ModeSticky != 0)
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
		if _, folder, err := f.Look(name); err != nil || !folder || !claimed && depth <= 1 {
			continue
		}
		sub, err := f.Sub(name)
		if err != nil {
			continue
		}
		if claimed && sub.Ours() == nil {
			disks, gone, err := f.removeOrphan(sub)
			errs = append(errs, err)
			if gone {
				removed = append(removed, Orphan{sub.Path(), disks})
			}
		} else if sub.Ours() == nil {
			more, err := cleanBelow(sub, depth-1)
			errs = append(errs, err)
			removed = append(removed, more...)
		}
		sub.Close()
	}
	return removed, errors.Join(errs...)
}

// removeOrphan removes a claimed folder in this one if its owner is gone, and unmounts what
// that had mounted there.
func (f *Folder) removeOrphan(dir *Folder) (disks int, gone bool, err error) {
	note, err := dir.openOurs(ownerFile, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil // being made
	}
	if err != nil {
		return 0, false, fmt.Errorf("the owner of %s cannot be read: %w", dir.Path(), Cause(err))
	}
	defer func() { _ = note.Close() }()
	locking := unix.Flock(int(note.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(locking, unix.EWOULDBLOCK) {
		return 0, false, nil // the owner lives
	}
	b, err := readNote(note)
	if err != nil {
		return 0, false, fmt.Errorf("the owner of %s cannot be read: %w", dir.Path(), Cause(err))
	}
	var o owner
	if json.Unmarshal(b, &o) != nil {
		return 0, false, nil // being written
	}
	switch o.Place.Reach() {
	case SamePlace:
		if o.Owner.Running() {
			return 0, false, nil
		}
		if err := endAll(o, dir.Path()); err != nil {
			return 0, false, fmt.Errorf("the data folder %s, whose owner is gone, cannot be removed: %w", dir.Path(), err)
		}
	case OtherSpace:
		if locking != nil {
			return 0, false, nil // only its lock could say that the owner is gone
		}
	case OtherHost:
		return 0, false, nil
	case Rebooted:
	}
	if real, err := filepath.EvalSymlinks(dir.Path()); err == nil {
		disks = disk.ForgetBelow(real)
	}
	if err := dir.clear(f); err != nil {
		return disks, false, fmt.Errorf("the data folder %s, whose owner is gone, cannot be removed: %w", dir.Path(), Cause(err))
	}
	return disks, true, nil
}

// endTime bounds the wait for processes that were killed.
const endTime = 10 * time.Second

// endAll kills what works in an orphan and waits until it has ended. Nothing is
// killed while one that the file names shows no proof.
func endAll(o owner, dir string) error {
	found := Marked(o.Mark, dir)
	defer func() {
		for _, h := range found {
			h.Release()
		}
	}()
	if stranger := Unproven(o.Processes, found); stranger != nil {
		return fmt.Errorf("process %d runs: %w", stranger.PID, errNotProven)
	}
	for _, h := range found {
		if err := h.Signal(Kill); err != nil {
			return err
		}
	}
	deadline := time.After(endTime)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for _, h := range found {
		for h.Running() {
			select {
			case <-ticker.C:
			case <-deadline:
				return fmt.Errorf("process %d does not end though it was killed", h.PID)
			}
		}
	}
	return nil
}

// Unproven returns the first of the noted processes that runs and is not among
// those that proved to be ours.
func Unproven(noted []Identity, found []*Held) *Identity {
	for i := range noted {
		proven := slices.ContainsFunc(found, func(h *Held) bool { return h.Identity == noted[i] })
		if !proven && noted[i].Running() {
			return &noted[i]
		}
	}
	return nil
}

// HasClaims reports whether a claimed folder is anywhere that CleanOrphans looks.
func HasClaims(root string) bool {
	for depth := range OrphanDepth {
		if found, _ := fs.Glob(os.DirFS(root), strings.Repeat("*/", depth)+claimPrefix+"*"); len(found) > 0 {
			return true
		}
	}
	return false
}
