package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Claimed folders are recognized by their name's beginning and by the file in
// them that names the owner; nothing else is ever removed.
const (
	claimPrefix = "quorumbench-data-"
	ownerFile   = "owner.json"
)

// owner is the contents of an owner file.
type owner struct {
	Owner     Identity   `json:"owner"`
	Processes []Identity `json:"processes"` // that work in the folder
}

// claim is a folder of ours. The lock on its owner file says to every process
// of every namespace that we live; the identity says so where locks do not work.
type claim struct {
	path  string
	owner owner
	lock  *os.File
}

// Claim implements Host.
func (l *Local) Claim(parent string) (Claim, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, fmt.Errorf("the folder %s cannot be found: %w", parent, err)
	}
	if err := l.MakeDir(parent); err != nil {
		return nil, err
	}
	self, err := Identify(os.Getpid())
	if err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, claimPrefix)
	if err != nil {
		return nil, fmt.Errorf("a data folder cannot be made below %s: %w", parent, cause(err))
	}
	c := &claim{path: path, owner: owner{Owner: self}}
	if err := c.write(); err != nil {
		_ = os.RemoveAll(path)
		return nil, err
	}
	return c, nil
}

func (c *claim) Path() string { return c.path }

func (c *claim) Note(process Identity) error {
	c.owner.Processes = append(c.owner.Processes, process)
	return c.write()
}

// write writes the file in place, since a rename would leave the lock behind.
// A reader that meets a half sees the lock.
func (c *claim) write() error {
	b, err := json.Marshal(c.owner)
	if err != nil {
		return err
	}
	name := filepath.Join(c.path, ownerFile)
	if c.lock == nil {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("the file %s cannot be written: %w", name, cause(err))
		}
		c.lock = f
		_ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if _, err := c.lock.WriteAt(b, 0); err != nil { // it only grows
		return fmt.Errorf("the file %s cannot be written: %w", name, cause(err))
	}
	return nil
}

func (c *claim) Release(keep bool) error {
	defer func() { _ = c.lock.Close() }()
	path := c.path
	if keep {
		path = filepath.Join(c.path, ownerFile)
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("the data folder %s cannot be removed: %w", c.path, cause(err))
	}
	return nil
}

// orphanDepth is how far below its root CleanOrphans looks.
const orphanDepth = 3

// CleanOrphans removes the claimed folders at most three levels below root
// whose owner is gone, ends what still works in them, and returns their paths.
// A folder whose owner lives is never touched. A missing root has none.
func CleanOrphans(root string) (removed []string, err error) {
	var errs []error
	for _, dir := range claimed(root, orphanDepth) {
		gone, err := removeOrphan(dir)
		if err != nil {
			errs = append(errs, err)
		}
		if gone {
			removed = append(removed, dir)
		}
	}
	return removed, errors.Join(errs...)
}

// claimed lists the claimed folders at most depth levels below root.
func claimed(root string, depth int) []string {
	entries, _ := os.ReadDir(root) // what cannot be read is not ours
	var out []string
	for _, e := range entries {
		if !e.IsDir() { // symbolic links are not followed
			continue
		}
		path := filepath.Join(root, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), claimPrefix):
			out = append(out, path)
		case depth > 1:
			out = append(out, claimed(path, depth-1)...)
		}
	}
	return out
}

// removeOrphan removes the folder if its owner is gone.
func removeOrphan(dir string) (gone bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // kept on purpose, or being made
	}
	if err != nil {
		return false, fmt.Errorf("the owner of %s cannot be read: %w", dir, cause(err))
	}
	defer func() { _ = f.Close() }()
	if errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return false, nil // the owner lives
	}
	var o owner
	if err := json.NewDecoder(f).Decode(&o); err != nil {
		return false, nil // being written
	}
	if o.Owner.Running() {
		return false, nil
	}
	for _, p := range o.Processes {
		if err := p.Signal(Kill); err != nil {
			return false, err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return false, fmt.Errorf("the data folder %s, whose owner is gone, cannot be removed: %w", dir, cause(err))
	}
	return true, nil
}
