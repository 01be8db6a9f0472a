package disk

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// blockSize is the size in bytes of the blocks in which overwritten data is saved.
const blockSize = 4096

// image contains the information for restoring an earlier state of a file: the file's size at that
// time, and the old contents of all blocks that have changed since then.
type image struct {
	size   int64
	blocks map[int64][]byte // the key is the block number; the file's last block may be shorter than blockSize
}

// contents tracks one file, and saves the data that was overwritten since the file's last sync.
type contents struct {
	mu sync.Mutex // held while the file is changed
	fd int        // open for reading and writing
	// The field `lastSyncImage` is the image of the file at the start of the last sync. While a
	// sync is running, `lastSyncImage` belongs to the running sync, and `syncing` is the image at
	// the start of the previous sync. Otherwise, `syncing` is nil.
	lastSyncImage image
	syncing       *image
	changed       bool // whether the file has changed since the start of the last sync

	sync sync.Mutex // held during a sync; must be locked before mu

	// These fields are guarded by disk.mu.
	handles int
	removed bool // whether the file's last name was removed, and a power loss can no longer restore the name
}

// newContents starts to track a file that is open for reading and writing. The data that the file
// contains at this time survives a power loss.
func newContents(fd int) (*contents, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &contents{fd: own}
	if c.lastSyncImage.size, err = sizeOf(own); err != nil {
		_ = unix.Close(own)
		return nil, err
	}
	return c, nil
}

// close closes the file and stops tracking it.
func (c *contents) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = unix.Close(c.fd)
	c.fd = -1
}

// hasOtherNames reports whether the file has names in addition to the one that is being removed.
func (c *contents) hasOtherNames() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var st unix.Stat_t
	return unix.Fstat(c.fd, &st) == nil && st.Nlink > 1
}

func sizeOf(fd int) (int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Size, err
}

// saveBlocks saves the bytes in [start, end) before they are overwritten. The caller must hold mu.
func (c *contents) saveBlocks(start, end int64) error {
	c.changed = true
	end = min(end, c.lastSyncImage.size)
	for b := start / blockSize; b*blockSize < end; b++ {
		if _, ok := c.lastSyncImage.blocks[b]; ok {
			continue
		}
		old := make([]byte, min(blockSize, c.lastSyncImage.size-b*blockSize))
		n, err := readFull(c.fd, old, b*blockSize)
		if err != nil {
			return err
		}
		if c.lastSyncImage.blocks == nil {
			c.lastSyncImage.blocks = map[int64][]byte{}
		}
		c.lastSyncImage.blocks[b] = old[:n] // if the file is shorter now, the missing bytes were saved when it was truncated
	}
	return nil
}

// change saves the bytes in [start, end) and then calls the function `overwrite`, which changes
// them in the file.
func (c *contents) change(start, end int64, overwrite func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.saveBlocks(start, end); err != nil {
		return err
	}
	return overwrite()
}

// extendsFile reports whether a write that ends at offset end makes the file longer.
func (c *contents) extendsFile(end int64) bool {
	size, err := sizeOf(c.fd)
	return err == nil && end > size
}

// syncFile calls the function `sync`, which syncs the file. If the sync succeeds, syncFile discards
// the data that was saved before the sync began.
func (c *contents) syncFile(sync func() error) error {
	c.sync.Lock()
	defer c.sync.Unlock()
	c.mu.Lock()
	size, err := sizeOf(c.fd)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	before, changed := c.lastSyncImage, c.changed
	c.syncing, c.lastSyncImage, c.changed = &before, image{size: size}, false
	c.mu.Unlock()
	err = sync()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.syncing = nil
	if err != nil {
		for b, old := range c.lastSyncImage.blocks {
			if _, ok := before.blocks[b]; !ok && b*blockSize < before.size {
				if before.blocks == nil {
					before.blocks = map[int64][]byte{}
				}
				before.blocks[b] = old[:min(int64(len(old)), before.size-b*blockSize)]
			}
		}
		c.lastSyncImage, c.changed = before, c.changed || changed
	}
	return err
}

// markDurable records that the file's current state survives a power loss. No sync may be running.
func (c *contents) markDurable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, err := sizeOf(c.fd)
	if err == nil {
		c.lastSyncImage, c.changed = image{size: size}, false
	}
	return err
}

// hasUnsynced reports whether a power loss would change the file.
func (c *contents) hasUnsynced() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed || c.syncing != nil
}

// revertUnsynced restores the file to its state at the start of its last successful sync.
func (c *contents) revertUnsynced() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.lastSyncImage.restore(c.fd)
	if c.syncing != nil { // the power loss interrupts a sync, whose result the requesting process never receives
		err = errors.Join(err, c.syncing.restore(c.fd))
	}
	c.changed = false
	return err
}

// restore changes the file back to the state in the image.
func (m *image) restore(fd int) error {
	if err := unix.Ftruncate(fd, m.size); err != nil {
		return err
	}
	for b, old := range m.blocks {
		if err := writeFull(fd, old, b*blockSize); err != nil {
			return err
		}
	}
	return nil
}

// readFull reads len(p) bytes, or fewer if the file ends earlier.
func readFull(fd int, p []byte, at int64) (n int, err error) {
	for n < len(p) {
		m, err := unix.Pread(fd, p[n:], at+int64(n))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return n, err
		}
		if err == nil && m == 0 {
			break
		}
		n += max(m, 0)
	}
	return n, nil
}

func writeFull(fd int, p []byte, at int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(fd, p, at)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		p, at = p[max(n, 0):], at+int64(max(n, 0))
	}
	return nil
}
