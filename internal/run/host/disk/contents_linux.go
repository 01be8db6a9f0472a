package disk

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// blockSize is the unit in which replaced contents are kept, in bytes.
const blockSize = 4096

// image is what a file was at a moment, as far as it has changed since.
type image struct {
	size   int64
	blocks map[int64][]byte // by number; the last may be shorter than a block
}

// contents are those of one file, and what they replaced since its last sync.
type contents struct {
	mu sync.Mutex // held while its file is changed
	fd int        // for reading and writing
	// now is the file as of the last sync that began; syncing, that of the one before
	// while the sync is under way.
	now     image
	syncing *image
	changed bool // since the last sync began

	sync sync.Mutex // held by one sync at a time, before mu

	// These belong to disk.mu.
	handles int
	removed bool // from the folder for good
}

// newContents begins to keep what a file replaces, which is open for reading and
// writing. All of what is in it now survives.
func newContents(fd int) (*contents, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &contents{fd: own}
	if c.now.size, err = sizeOf(own); err != nil {
		_ = unix.Close(own)
		return nil, err
	}
	return c, nil
}

// close ends the use of the file.
func (c *contents) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = unix.Close(c.fd)
	c.fd = -1
}

func sizeOf(fd int) (int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Size, err
}

// keep keeps what is in the file from one offset to another before it is replaced;
// mu is held.
func (c *contents) keep(from, to int64) error {
	c.changed = true
	to = min(to, c.now.size)
	for b := from / blockSize; b*blockSize < to; b++ {
		if _, ok := c.now.blocks[b]; ok {
			continue
		}
		old := make([]byte, min(blockSize, c.now.size-b*blockSize))
		n, err := readFull(c.fd, old, b*blockSize)
		if err != nil {
			return err
		}
		if c.now.blocks == nil {
			c.now.blocks = map[int64][]byte{}
		}
		c.now.blocks[b] = old[:n] // what lies behind a shorter file's end was cut off before, and kept then
	}
	return nil
}

// change keeps what a change from one offset to another replaces, and makes it.
func (c *contents) change(from, to int64, make func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.keep(from, to); err != nil {
		return err
	}
	return make()
}

// grows reports whether writing up to an offset needs more room.
func (c *contents) grows(to int64) bool {
	size, err := sizeOf(c.fd)
	return err == nil && to > size
}

// synced carries out a sync: what was replaced before it began is forgotten when it
// has succeeded.
func (c *contents) synced(sync func() error) error {
	c.sync.Lock()
	defer c.sync.Unlock()
	c.mu.Lock()
	size, err := sizeOf(c.fd)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	before, changed := c.now, c.changed
	c.syncing, c.now, c.changed = &before, image{size: size}, false
	c.mu.Unlock()
	err = sync()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.syncing = nil
	if err != nil {
		for b, old := range c.now.blocks {
			if _, ok := before.blocks[b]; !ok && b*blockSize < before.size {
				if before.blocks == nil {
					before.blocks = map[int64][]byte{}
				}
				before.blocks[b] = old[:min(int64(len(old)), before.size-b*blockSize)]
			}
		}
		c.now, c.changed = before, c.changed || changed
	}
	return err
}

// writtenBack has the file as it is now survive; no sync is under way.
func (c *contents) writtenBack() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, err := sizeOf(c.fd)
	if err == nil {
		c.now, c.changed = image{size: size}, false
	}
	return err
}

// dirty reports whether the file has something that a power loss takes.
func (c *contents) dirty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed || c.syncing != nil
}

// lose makes the file what it was at its last sync.
func (c *contents) lose() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.now.restore(c.fd)
	if c.syncing != nil { // nobody will hear how it ended
		err = errors.Join(err, c.syncing.restore(c.fd))
	}
	c.changed = false
	return err
}

// restore makes a file what it was.
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

// readFull reads as much as is there.
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
