package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// disk is a folder on which our file system is mounted.
type disk struct {
	mountPoint, backingDir string // the mount point, and the backing folder
	faults                 atomic.Pointer[Faults]
	server                 *fuse.Server

	// The mutex `power` is read-locked while files are changed, and write-locked during a power
	// loss.
	power sync.RWMutex
	// mu guards the fields `names` and `contents` of the disk. In each element of `contents`, it
	// also guards the fields `handles` and `removed`.
	mu       sync.Mutex
	names    names
	contents map[fs.StableAttr]*contents // all files that are open for writing or contain data that was not synced
}

// mount mounts a disk on the folder `mountPoint` and stores the disk's files in subfolders of the
// folder `backing`.
func mount(mountPoint, backing string) (*disk, error) {
	d := &disk{mountPoint: mountPoint, backingDir: filepath.Join(backing, "files"), contents: map[fs.StableAttr]*contents{}}
	d.names.trash = filepath.Join(backing, "removed")
	d.faults.Store(&Faults{})
	for _, dir := range [...]string{d.backingDir, d.names.trash} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return d, d.start()
}

// start mounts the disk.
func (d *disk) start() error {
	root, err := fs.NewLoopbackRoot(d.backingDir)
	if err != nil {
		return err
	}
	noCaching := time.Duration(0) // the kernel caches nothing, so that a power loss is visible immediately
	d.server, err = fs.Mount(d.mountPoint, &node{root.(*fs.LoopbackNode), d}, &fs.Options{
		MountOptions: fuse.MountOptions{
			FsName: "quorumbench", Name: "quorumbench", DirectMount: true, MaxWrite: 1 << 20,
			Logger: log.New(io.Discard, "", 0),
		},
		AttrTimeout: &noCaching, EntryTimeout: &noCaching, NullPermissions: true,
	})
	if err != nil {
		return fmt.Errorf("cannot mount a file system for disk faults at %s, which requires /dev/fuse and either root or the program fusermount3: %w", d.mountPoint, err)
	}
	return nil
}

// unmount unmounts the disk, even while processes have files open on it. Operations on these files
// then fail. If the disk is not mounted because the last attempt to mount it failed, unmount does
// nothing.
func (d *disk) unmount() error {
	if d.server == nil {
		return nil
	}
	err := d.server.Unmount()
	if err == nil {
		return nil
	}
	if lazily := unix.Unmount(d.mountPoint, unix.MNT_DETACH|unix.MNT_FORCE); lazily != nil {
		return fmt.Errorf("cannot unmount the disk at %s: %w", d.mountPoint, errors.Join(err, lazily))
	}
	return nil
}

// powerLoss drops all data that was not synced. It returns the number of files that lost data. No
// process may use the disk.
func (d *disk) powerLoss() (damagedFiles int, err error) {
	if err := d.unmount(); err != nil { // unmounting also drops the kernel's cache
		return 0, err
	}
	d.power.Lock()
	defer d.power.Unlock()
	var errs []error
	for key, c := range d.contents {
		if c.hasUnsynced() {
			damagedFiles++
			errs = append(errs, c.revertUnsynced())
		}
		c.close() // a process that still has the file open gets EBADF
		delete(d.contents, key)
	}
	errs = append(errs, d.names.undoUnsynced(), d.start())
	if err := errors.Join(errs...); err != nil {
		return damagedFiles, fmt.Errorf("the simulated power loss of the disk at %s failed, so its contents are undefined: %w", d.mountPoint, err)
	}
	return damagedFiles, nil
}

// writeBack ensures that all data written so far survives a power loss, including data that was not
// synced. It has the same effect as if the kernel had written the data back, in the order of the
// writes.
func (d *disk) writeBack() error {
	d.power.Lock() // wait for running writes and syncs
	defer d.power.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for key, c := range d.contents {
		errs = append(errs, c.markDurable())
		d.untrack(key, c)
	}
	return errors.Join(append(errs, d.names.sync(d.names.count()))...)
}

// trackOpen tracks a file that was opened for writing, and returns its element of the map
// `contents`. The caller must call trackClose when the file is closed.
func (d *disk) trackOpen(key fs.StableAttr, fd int) (*contents, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.contents[key]
	if c == nil {
		var err error
		if c, err = newContents(fd); err != nil {
			return nil, err
		}
		d.contents[key] = c
	}
	c.handles++
	return c, nil
}

func (d *disk) trackClose(key fs.StableAttr, c *contents) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.handles--
	d.untrack(key, c)
}

// untrack stops tracking a file if it is not open for writing and all of its data is synced. The
// caller must hold mu.
func (d *disk) untrack(key fs.StableAttr, c *contents) {
	if c.handles == 0 && (c.removed || !c.hasUnsynced()) && d.contents[key] == c {
		c.close()
		delete(d.contents, key)
	}
}

// onRemoved returns a function that must be called when the removal of one of a file's names can no
// longer be undone, and before the file is deleted from the trash. If the file has no other name,
// the function stops tracking it. The caller of that function must hold mu.
func (d *disk) onRemoved(key fs.StableAttr) func() {
	return func() {
		if c := d.contents[key]; c != nil && !c.hasOtherNames() {
			c.removed = true
			d.untrack(key, c)
		}
	}
}

// changeNames calls the function `change`, which changes the names of files. During the call,
// changeNames prevents a power loss and other changes of names.
func (d *disk) changeNames(change func() syscall.Errno) syscall.Errno {
	d.power.RLock()
	defer d.power.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	return change()
}

// sync performs a sync of a file or folder. c is nil for a folder or an untracked file.
func (d *disk) sync(ctx context.Context, c *contents, sync func() syscall.Errno) syscall.Errno {
	f := d.faults.Load()
	if f.SyncDelay > 0 {
		t := time.NewTimer(f.SyncDelay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return syscall.EINTR
		}
	}
	switch {
	case f.Failing:
		return syscall.EIO
	case f.Lying:
		return 0
	}
	d.power.RLock()
	defer d.power.RUnlock()
	d.mu.Lock()
	changeCount := d.names.count()
	d.mu.Unlock()
	syncNow := func() error {
		if e := sync(); e != 0 {
			return e
		}
		return nil
	}
	var err error
	if c != nil {
		err = c.syncFile(syncNow)
	} else {
		err = syncNow()
	}
	if err != nil {
		return fs.ToErrno(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return fs.ToErrno(d.names.sync(changeCount))
}

// writeError returns the error with which a write must fail because of the disk's faults, or 0.
func (d *disk) writeError(needsRoom bool) syscall.Errno {
	switch f := d.faults.Load(); {
	case f.Failing:
		return syscall.EIO
	case f.Full && needsRoom:
		return syscall.ENOSPC
	}
	return 0
}

// find returns the element of the map `contents` that tracks a file. It returns nil if the file is
// not tracked (see untrack).
func (d *disk) find(key fs.StableAttr) *contents {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.contents[key]
}
