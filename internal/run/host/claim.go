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

// Names that mark claimed folders. CleanOrphans removes a folder only if its name starts with
// claimPrefix or AdoptedPrefix, and if the folder contains an owner file. The owner file identifies
// the owning process.
const (
	claimPrefix   = "quorumbench-data-"
	AdoptedPrefix = "ssh." // for folders that the ssh script creates for an agent
	ownerFile     = "owner.json"
)

// owner is the content of an owner file.
type owner struct {
	Place     Place      `json:"place"`
	Owner     Identity   `json:"owner"`
	Mark      Mark       `json:"mark"`      // set in the environment of every process that works in the folder
	Processes []Identity `json:"processes"` // processes passed to Note
}

// claim is a claimed folder. The owner holds a lock on the owner file. The lock shows processes in
// all PID namespaces that the owner is running. On a file system without locks, these processes can
// use only the owner's identity in the file.
type claim struct {
	parentFolder *Folder // the parent folder
	folder       *Folder
	owner        owner
	lock         *os.File
}

// Claim implements Host.
func (l *Local) Claim(_ context.Context, parent string) (Claim, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve the folder %s: %w", parent, err)
	}
	above, err := l.makeFolder(parent)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	c, err := above.claim()
	if err != nil {
		return nil, err // nil, rather than a Claim interface that contains a nil pointer
	}
	return c, nil
}

// claim creates a claimed folder inside f.
func (f *Folder) claim() (c *claim, err error) {
	c = &claim{}
	name := fmt.Sprintf("%s%d", claimPrefix, rand.Uint64())
	if c.parentFolder, err = f.Sub("."); err == nil {
		_, err = c.parentFolder.CreateFolder(name)
	}
	if err == nil {
		if c.folder, err = c.parentFolder.Sub(name); err == nil {
			err = c.writeOwner()
		}
		if err != nil {
			_ = c.parentFolder.RemoveAll(name)
		}
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("cannot create a data folder in %s: %w", f.path, Cause(err))
	}
	return c, nil
}

// writeOwner makes this process the owner of the folder c.folder, which must exist.
func (c *claim) writeOwner() error {
	self, err := Identify(os.Getpid())
	if err == nil {
		err = c.folder.CheckOwner()
	}
	if err != nil {
		return err
	}
	c.owner = owner{Place: CurrentPlace(), Owner: self, Mark: NewMark()}
	return c.write()
}

// Adopt claims an existing folder whose name begins with AdoptedPrefix. The claim lasts until this
// process exits. The script that created the folder removes it. If the script was killed,
// CleanOrphans removes the folder.
func Adopt(path string) error {
	folder, err := OpenFolder(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	c := &claim{folder: folder}
	if err := c.writeOwner(); err != nil {
		return err
	}
	// A duplicate of the file descriptor stays open, so that this process holds the lock until it
	// exits.
	_, err = unix.FcntlInt(c.lock.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return err
}

func (c *claim) Path() string { return c.folder.Path() }
func (c *claim) Env() string  { return c.owner.Mark.Env() }

func (c *claim) Note(_ context.Context, process Identity) error {
	c.owner.Processes = append(c.owner.Processes, process)
	return c.write()
}

// write overwrites the owner file in place. If it renamed a new file over the owner file, the lock
// would stay on the old file. A concurrent reader may read an incomplete owner file, but only while
// this process holds the lock.
func (c *claim) write() error {
	b, err := json.Marshal(c.owner)
	if err != nil {
		return err
	}
	name := filepath.Join(c.Path(), ownerFile)
	if c.lock == nil {
		f, err := c.folder.root.OpenFile(ownerFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("cannot write the file %s: %w", name, Cause(err))
		}
		c.lock = f
		_ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if _, err := c.lock.WriteAt(b, 0); err != nil { // the contents only grow
		return fmt.Errorf("cannot write the file %s: %w", name, Cause(err))
	}
	return nil
}

// close closes the files that the claim has opened so far.
func (c *claim) close() {
	for _, f := range [...]*Folder{c.folder, c.parentFolder} {
		if f != nil {
			f.Close()
		}
	}
	_ = c.lock.Close() // closing a nil file only returns an error
}

func (c *claim) Release(context.Context) error {
	defer c.close()
	if err := c.folder.clear(c.parentFolder); err != nil {
		return fmt.Errorf("cannot remove the data folder %s: %w", c.Path(), Cause(err))
	}
	return nil
}

// errNotProven reports that a process in an owner file is running but does not carry the folder's
// mark. The process may therefore be unrelated to quorumbench.
var errNotProven = errors.New("nothing proves that quorumbench started this process")
