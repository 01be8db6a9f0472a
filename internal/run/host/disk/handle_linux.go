package disk

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"
)

// handle is an open file.
type handle struct {
	*fs.LoopbackFile
	disk         *disk
	key          fs.StableAttr
	contents     *contents // nil if the file is open for reading only
	syncsOnWrite bool      // set if every write is a sync (O_SYNC or O_DSYNC)
}

var (
	_ fs.FileWriter          = (*handle)(nil)
	_ fs.FileFsyncer         = (*handle)(nil)
	_ fs.FileAllocater       = (*handle)(nil)
	_ fs.FileReleaser        = (*handle)(nil)
	_ fs.FilePassthroughFder = (*handle)(nil)
)

// PassthroughFd implements fs.FilePassthroughFder. It returns false, so that the kernel does not
// bypass this file system.
func (h *handle) PassthroughFd() (int, bool) { return 0, false }

// Write implements fs.FileWriter.
func (h *handle) Write(ctx context.Context, data []byte, at int64) (written uint32, e syscall.Errno) {
	end := at + int64(len(data))
	if e := h.disk.writeError(h.contents.extendsFile(end)); e != 0 {
		return 0, e
	}
	h.disk.power.RLock()
	err := h.contents.change(at, end, func() error {
		written, e = h.LoopbackFile.Write(ctx, data, at)
		return nil
	})
	h.disk.power.RUnlock()
	if err != nil {
		return 0, fs.ToErrno(err)
	}
	if e == 0 && h.syncsOnWrite {
		e = h.Fsync(ctx, fdatasync)
	}
	return written, e
}

// fdatasync is FUSE_FSYNC_FDATASYNC from linux/fuse.h.
const fdatasync = 1

// Fsync implements fs.FileFsyncer.
func (h *handle) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	c := h.contents
	if c == nil {
		c = h.disk.find(h.key)
	}
	return h.disk.sync(ctx, c, func() syscall.Errno {
		fd, _ := h.LoopbackFile.PassthroughFd()
		if flags&fdatasync != 0 {
			return fs.ToErrno(unix.Fdatasync(fd))
		}
		return fs.ToErrno(unix.Fsync(fd))
	})
}

// Allocate implements fs.FileAllocater.
func (h *handle) Allocate(ctx context.Context, at, size uint64, mode uint32) (e syscall.Errno) {
	if mode&(unix.FALLOC_FL_COLLAPSE_RANGE|unix.FALLOC_FL_INSERT_RANGE|unix.FALLOC_FL_UNSHARE_RANGE) != 0 {
		return syscall.EOPNOTSUPP
	}
	from, to := int64(at), int64(at+size)
	if e := h.disk.writeError(mode&unix.FALLOC_FL_PUNCH_HOLE == 0 && h.contents.extendsFile(to)); e != 0 {
		return e
	}
	if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) == 0 {
		from = to // overwrites nothing
	}
	h.disk.power.RLock()
	defer h.disk.power.RUnlock()
	err := h.contents.change(from, to, func() error {
		e = h.LoopbackFile.Allocate(ctx, at, size, mode)
		return nil
	})
	if err != nil {
		return fs.ToErrno(err)
	}
	return e
}

// Release implements fs.FileReleaser.
func (h *handle) Release(ctx context.Context) syscall.Errno {
	if h.contents != nil {
		h.disk.trackClose(h.key, h.contents)
	}
	return h.LoopbackFile.Release(ctx)
}
