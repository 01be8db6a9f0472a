package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Claimed folders are recognized by their name's beginning and by the file in
// them that names the owner; nothing else is ever removed.
const (
	claimPrefix   = "quorumbench-data-"
	AdoptedPrefix = "ssh." // of those that were made for us
	ownerFile     = "owner.json"
)

// owner is the contents of an owner file.
type owner struct {
	Place     Place      `json:"place"`
	Owner     Identity   `json:"owner"`
	Mark      Mark       `json:"mark"`      // of the processes that work in the folder
	Processes []Identity `json:"processes"` // those that are known
}

// claim is a folder of ours. The lock on its owner file says to every process
// of every namespace that we live; the identity says so where locks do not work.
type claim struct {
	folder *Folder
	owner  owner
	lock   *os.File
}

// Claim implements Host.
func (l *Local) Claim(_ context.Context, parent string) (Claim, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, fmt.Errorf("the folder %s cannot be found: %w", parent, err)
	}
	if _, err := MakeFolders(parent); err != nil {
		return nil, err
	}
	self, err := Identify(os.Getpid())
	if err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, claimPrefix)
	if err != nil {
		return nil, fmt.Errorf("a data folder cannot be made below %s: %w", parent, Cause(err))
	}
	c, err := own(path, self)
	if err != nil {
		_ = os.Remove(filepath.Join(path, ownerFile))
		_ = unix.Rmdir(path)
		return nil, fmt.Errorf("a data folder cannot be made below %s: %w", parent, Cause(err))
	}
	return c, nil
}

// own claims a folder that is there.
func own(path string, self Identity) (*claim, error) {
	folder, err := OpenFolder(path)
	if err != nil {
		return nil, err
	}
	c := &claim{folder: folder, owner: owner{Place: Here(), Owner: self, Mark: NewMark()}}
	if err = folder.Ours(); err == nil {
		err = c.write()
	}
	if err != nil {
		folder.Close()
		return nil, err
	}
	return c, nil
}

// Adopt claims a folder that was made for us, whose name begins with AdoptedPrefix, until
// this process ends. Who made it removes it; CleanOrphans does where that one was killed.
func Adopt(path string) error {
	self, err := Identify(os.Getpid())
	if err == nil {
		_, err = own(path, self) // its lock ends with the process
	}
	return err
}

func (c *claim) Path() string { return c.folder.Path() }
func (c *claim) Env() string  { return c.owner.Mark.Env() }

func (c *claim) Note(_ context.Context, process Identity) error {
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
	name := filepath.Join(c.Path(), ownerFile)
	if c.lock == nil {
		f, err := c.folder.root.OpenFile(ownerFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("the file %s cannot be written: %w", name, Cause(err))
		}
		c.lock = f
		_ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if _, err := c.lock.WriteAt(b, 0); err != nil { // it only grows
		return fmt.Errorf("the file %s cannot be written: %w", name, Cause(err))
	}
	return nil
}

func (c *claim) Release(context.Context) error {
	defer c.folder.Close()
	defer func() { _ = c.lock.Close() }()
	if err := c.folder.clear(); err != nil {
		return fmt.Errorf("the data folder %s cannot be removed: %w", c.Path(), Cause(err))
	}
	return nil
}

// errNotProven is of a process that a note of ours names and that shows nothing
// of it.
var errNotProven = errors.New("it does not prove to be ours")
