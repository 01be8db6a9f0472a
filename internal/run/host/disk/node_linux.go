package disk

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// node is a file or folder on the disk.
type node struct {
	*fs.LoopbackNode
	disk *disk
}

var (
	_ fs.NodeWrapChilder    = (*node)(nil)
	_ fs.NodeOpener         = (*node)(nil)
	_ fs.NodeCreater        = (*node)(nil)
	_ fs.NodeTmpfiler       = (*node)(nil)
	_ fs.NodeMknoder        = (*node)(nil)
	_ fs.NodeMkdirer        = (*node)(nil)
	_ fs.NodeSymlinker      = (*node)(nil)
	_ fs.NodeLinker         = (*node)(nil)
	_ fs.NodeUnlinker       = (*node)(nil)
	_ fs.NodeRmdirer        = (*node)(nil)
	_ fs.NodeRenamer        = (*node)(nil)
	_ fs.NodeSetattrer      = (*node)(nil)
	_ fs.NodeOpendirHandler = (*node)(nil)
	_ fs.NodeStatfser       = (*node)(nil)
	_ fs.NodeCopyFileRanger = (*node)(nil)
)

// WrapChild implements fs.NodeWrapChilder.
func (n *node) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{child.(*fs.LoopbackNode), n.disk}
}

// path returns the node's path in the backing folder.
func (n *node) path() string {
	in := n.EmbeddedInode()
	return filepath.Join(n.disk.backingDir, in.Path(in.Root()))
}

// backing returns the flags with which the backing file is opened. The file is always opened for
// reading, even for a write, because the type contents must read the data that will be overwritten.
// O_DIRECT is never used, because it requires aligned buffers.
func backing(flags uint32) uint32 {
	flags &^= unix.O_DIRECT | unix.O_APPEND | unix.O_TRUNC | unix.O_NOFOLLOW
	if flags&unix.O_ACCMODE == unix.O_WRONLY {
		flags = flags&^unix.O_ACCMODE | unix.O_RDWR
	}
	return flags
}

// Open implements fs.NodeOpener.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY
	if writes && flags&unix.O_TRUNC != 0 {
		if e := n.truncate(0); e != 0 {
			return nil, 0, e
		}
	}
	fh, fuseFlags, e := n.LoopbackNode.Open(ctx, backing(flags))
	if e != 0 {
		return nil, 0, e
	}
	h, e := n.handle(n.StableAttr(), fh, writes, flags)
	if e != 0 {
		return nil, 0, e
	}
	return h, fuseFlags, 0
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (in *fs.Inode, fh fs.FileHandle, fuseFlags uint32, e syscall.Errno) {
	e = n.createEntry(name, func() (e syscall.Errno) {
		in, fh, fuseFlags, e = n.LoopbackNode.Create(ctx, name, backing(flags)|unix.O_EXCL, mode, out)
		return e
	})
	if e != 0 {
		return nil, nil, 0, e
	}
	h, e := n.handle(in.StableAttr(), fh, flags&unix.O_ACCMODE != unix.O_RDONLY, flags)
	if e != 0 {
		return nil, nil, 0, e
	}
	return in, h, fuseFlags, 0
}

// Tmpfile implements fs.NodeTmpfiler. It returns EOPNOTSUPP, so that the caller instead creates a
// file that has a name.
func (n *node) Tmpfile(context.Context, uint32, uint32, *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EOPNOTSUPP
}

// handle wraps an open file.
func (n *node) handle(key fs.StableAttr, fh fs.FileHandle, writes bool, flags uint32) (fs.FileHandle, syscall.Errno) {
	h := &handle{LoopbackFile: fh.(*fs.LoopbackFile), disk: n.disk, key: key, syncsOnWrite: flags&unix.O_DSYNC != 0}
	if writes {
		fd, _ := h.LoopbackFile.PassthroughFd()
		var err error
		if h.contents, err = n.disk.trackOpen(key, fd); err != nil {
			_ = h.LoopbackFile.Release(context.Background())
			return nil, fs.ToErrno(err)
		}
	}
	return h, 0
}

// createEntry calls the function `create`, which creates an entry of this folder. Then it records
// the creation of the entry's name.
func (n *node) createEntry(name string, create func() syscall.Errno) syscall.Errno {
	if e := n.disk.writeError(true); e != 0 {
		return e
	}
	return n.disk.changeNames(func() syscall.Errno {
		e := create()
		if e == 0 {
			n.disk.names.recordCreation(filepath.Join(n.path(), name))
		}
		return e
	})
}

// Mknod implements fs.NodeMknoder.
func (n *node) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (in *fs.Inode, e syscall.Errno) {
	e = n.createEntry(name, func() (e syscall.Errno) { in, e = n.LoopbackNode.Mknod(ctx, name, mode, dev, out); return e })
	return in, e
}

// Mkdir implements fs.NodeMkdirer.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (in *fs.Inode, e syscall.Errno) {
	e = n.createEntry(name, func() (e syscall.Errno) { in, e = n.LoopbackNode.Mkdir(ctx, name, mode, out); return e })
	return in, e
}

// Symlink implements fs.NodeSymlinker.
func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (in *fs.Inode, e syscall.Errno) {
	e = n.createEntry(name, func() (e syscall.Errno) { in, e = n.LoopbackNode.Symlink(ctx, target, name, out); return e })
	return in, e
}

// Link implements fs.NodeLinker.
func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (in *fs.Inode, e syscall.Errno) {
	e = n.createEntry(name, func() (e syscall.Errno) { in, e = n.LoopbackNode.Link(ctx, target, name, out); return e })
	return in, e
}

// Unlink implements fs.NodeUnlinker.
func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return n.disk.changeNames(func() syscall.Errno {
		path, kept := filepath.Join(n.path(), name), n.disk.names.nextTrashPath()
		if err := os.Rename(path, kept); err != nil {
			return fs.ToErrno(err)
		}
		n.disk.names.recordRemoval(path, kept, n.onRemoved(name))
		return 0
	})
}

// onRemoved returns a function that must be called when the removal of the child with the given
// name can no longer be undone. The function acts on the present child, even if another file has
// the name when the function is called.
func (n *node) onRemoved(name string) func() {
	child := n.GetChild(name)
	if child == nil {
		return func() {}
	}
	return n.disk.onRemoved(child.StableAttr())
}

// Rmdir implements fs.NodeRmdirer.
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.disk.changeNames(func() syscall.Errno {
		path := filepath.Join(n.path(), name)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return fs.ToErrno(err)
		}
		if err := unix.Rmdir(path); err != nil {
			return fs.ToErrno(err)
		}
		n.disk.names.add(func() error { return remake(path, &st) }, nil)
		return 0
	})
}

// remake creates a removed folder again.
func remake(path string, st *unix.Stat_t) error {
	if err := unix.Mkdir(path, st.Mode&0o7777); err != nil {
		return err
	}
	return os.Lchown(path, int(st.Uid), int(st.Gid))
}

// Rename implements fs.NodeRenamer.
func (n *node) Rename(_ context.Context, name string, newParent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	target, ok := newParent.(*node)
	if !ok || flags&^unix.RENAME_NOREPLACE != 0 {
		return syscall.EINVAL
	}
	return n.disk.changeNames(func() syscall.Errno {
		oldPath, newPath := filepath.Join(n.path(), name), filepath.Join(target.path(), newName)
		names := &n.disk.names
		undo := func() error { return os.Rename(newPath, oldPath) }
		var replaced unix.Stat_t
		err := unix.Lstat(newPath, &replaced)
		switch {
		case err == unix.ENOENT:
		case err != nil:
			return fs.ToErrno(err)
		case flags&unix.RENAME_NOREPLACE != 0:
			return syscall.EEXIST
		case replaced.Mode&unix.S_IFMT == unix.S_IFDIR:
			if err := unix.Rename(oldPath, newPath); err != nil {
				return fs.ToErrno(err)
			}
			names.add(func() error { return remake(newPath, &replaced) }, nil)
			names.add(undo, nil)
			return 0
		default:
			var moved unix.Stat_t
			if err := unix.Lstat(oldPath, &moved); err != nil {
				return fs.ToErrno(err)
			}
			if moved.Ino == replaced.Ino {
				return 0 // rename(2) does nothing if both names are links to the same file
			}
			trashPath := names.nextTrashPath()
			if err := os.Link(newPath, trashPath); err != nil {
				return fs.ToErrno(err)
			}
			if err := unix.Rename(oldPath, newPath); err != nil {
				_ = os.Remove(trashPath)
				return fs.ToErrno(err)
			}
			names.recordRemoval(newPath, trashPath, target.onRemoved(newName))
			names.add(undo, nil)
			return 0
		}
		if err := unix.Rename(oldPath, newPath); err != nil {
			return fs.ToErrno(err)
		}
		names.add(undo, nil)
		return 0
	})
}

// Setattr implements fs.NodeSetattrer.
func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if e := n.truncate(int64(size)); e != 0 {
			return e
		}
		in.Valid &^= fuse.FATTR_SIZE
	}
	if h, ok := f.(*handle); ok {
		f = h.LoopbackFile
	}
	return n.LoopbackNode.Setattr(ctx, f, in, out)
}

// truncate changes the file's size.
func (n *node) truncate(size int64) syscall.Errno {
	fd, err := unix.Open(n.path(), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fs.ToErrno(err)
	}
	defer func() { _ = unix.Close(fd) }()
	n.disk.power.RLock()
	defer n.disk.power.RUnlock()
	c, err := n.disk.trackOpen(n.StableAttr(), fd)
	if err != nil {
		return fs.ToErrno(err)
	}
	defer n.disk.trackClose(n.StableAttr(), c)
	if e := n.disk.writeError(c.extendsFile(size)); e != 0 {
		return e
	}
	return fs.ToErrno(c.change(size, maxOffset, func() error { return unix.Ftruncate(fd, size) }))
}

const maxOffset = 1<<63 - 1

// OpendirHandle implements fs.NodeOpendirHandler.
func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fh, fuseFlags, e := n.LoopbackNode.OpendirHandle(ctx, flags)
	if e != 0 {
		return nil, 0, e
	}
	return &folder{fh.(stream), n.disk}, fuseFlags, 0
}

// stream is the interface of the open folders that fs.LoopbackNode returns.
type stream interface {
	fs.FileReaddirenter
	fs.FileSeekdirer
	fs.FileReleasedirer
	fs.FileFsyncdirer
}

// folder is an open folder.
type folder struct {
	stream
	disk *disk
}

// Fsyncdir implements fs.FileFsyncdirer.
func (f *folder) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	return f.disk.sync(ctx, nil, func() syscall.Errno { return f.stream.Fsyncdir(ctx, flags) })
}

// Statfs implements fs.NodeStatfser.
func (n *node) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	e := n.LoopbackNode.Statfs(ctx, out)
	if n.disk.faults.Load().Full {
		out.Bfree, out.Bavail = 0, 0
	}
	return e
}

// CopyFileRange implements fs.NodeCopyFileRanger. It returns EOPNOTSUPP, so that the kernel copies
// the data with reads and writes.
func (n *node) CopyFileRange(context.Context, fs.FileHandle, uint64, *fs.Inode, fs.FileHandle, uint64, uint64, uint64) (uint32, syscall.Errno) {
	return 0, syscall.EOPNOTSUPP
}
