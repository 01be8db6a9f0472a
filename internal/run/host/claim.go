package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Claimed folders are recognized by their name's beginning and by the file in
// them that names the owner; nothing else is ever removed.
const (
	claimPrefix   = "quorumbench-data-"
	AdoptedPrefix = "ssh." // of folders that a script made for an agent
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
	above  *Folder // in which it is
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
	above, err := l.makeFolder(parent)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	c, err := above.claim()
	if err != nil {
		return nil, err // and not a Claim that is nil
	}
	return c, nil
}

// claim makes a claimed folder in this one.
func (f *Folder) claim() (c *claim, err error) {
	c = &claim{}
	name := fmt.Sprintf("%s%d", claimPrefix, rand.Uint64())
	if c.above, err = f.Sub("."); err == nil {
		_, err = c.above.Make(name)
	}
	if err == nil {
		if c.folder, err = c.above.Sub(name); err == nil {
			err = c.own()
		}
		if err != nil {
			_ = c.above.RemoveAll(name)
		}
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("a data folder cannot be made below %s: %w", f.path, Cause(err))
	}
	return c, nil
}

// own claims the folder, which is there.
func (c *claim) own() error {
	self, err := Identify(os.Getpid())
	if err == nil {
		err = c.folder.Ours()
	}
	if err != nil {
		return err
	}
	c.owner = owner{Place: Here(), Owner: self, Mark: NewMark()}
	return c.write()
}

// Adopt claims a folder whose name begins with AdoptedPrefix until this process ends. The
// script that made the folder removes it; if the script was killed, CleanOrphans does.
func Adopt(path string) error {
	folder, err := OpenFolder(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	c := &claim{folder: folder}
	if err := c.own(); err != nil {
		return err
	}
	// A duplicate of the descriptor stays open, so that the lock is held until the process ends.
	_, err = unix.FcntlInt(c.lock.Fd(), unix.F_DUPFD_CLOEXEC, 0)
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

// close gives back what the claim has open, which may be a part.
func (c *claim) close() {
	for _, f := range [...]*Folder{c.folder, c.above} {
		if f != nil {
			f.Close()
		}
	}
	_ = c.lock.Close() // of a nil one this is an error alone
}

func (c *claim) Release(context.Context) error {
	defer c.close()
	if err := c.folder.clear(c.above); err != nil {
		return fmt.Errorf("the data folder %s cannot be removed: %w", c.Path(), Cause(err))
	}
	return nil
}

// errNotProven is of a process that a note of ours names and that shows nothing
// of it.
var errNotProven = errors.New("it does not prove to be ours")
