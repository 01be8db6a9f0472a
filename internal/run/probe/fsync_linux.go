package probe

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// fileSystems maps magic numbers from statfs(2) to names. volatile is set for file systems that are
// in memory.
var fileSystems = map[int64]struct {
	name     string
	volatile bool
}{
	unix.EXT4_SUPER_MAGIC:      {"ext4", false}, // also ext2 and ext3
	unix.XFS_SUPER_MAGIC:       {"xfs", false},
	unix.BTRFS_SUPER_MAGIC:     {"btrfs", false},
	unix.F2FS_SUPER_MAGIC:      {"f2fs", false},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", false},
	unix.NFS_SUPER_MAGIC:       {"nfs", false},
	unix.SMB2_SUPER_MAGIC:      {"smb2", false},
	unix.CIFS_SUPER_MAGIC:      {"cifs", false},
	unix.FUSE_SUPER_MAGIC:      {"fuse", false},
	unix.V9FS_MAGIC:            {"9p", false},
	unix.REISERFS_SUPER_MAGIC:  {"reiserfs", false},
	unix.ECRYPTFS_SUPER_MAGIC:  {"ecryptfs", false},
	unix.CEPH_SUPER_MAGIC:      {"ceph", false},
	0x2fc12fc1:                 {"zfs", false},
	0xca451a4e:                 {"bcachefs", false},
	unix.TMPFS_MAGIC:           {"tmpfs", true},
	unix.RAMFS_MAGIC:           {"ramfs", true},
	unix.HUGETLBFS_MAGIC:       {"hugetlbfs", true},
}

// fileSystem returns the name of the file system that contains f, and whether it is durable. A file
// system that is not listed is assumed to be durable.
func fileSystem(f *os.File) (name string, durable bool) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return "unknown", true
	}
	magic := int64(uint32(s.Type)) // some architectures sign-extend the number
	if known, ok := fileSystems[magic]; ok {
		return known.name, !known.volatile
	}
	return fmt.Sprintf("unknown (%#x)", magic), true
}

// preallocate allocates the file's space if the file system supports this, so that the measured
// writes do not extend the file.
func preallocate(f *os.File, size int64) {
	_ = unix.Fallocate(int(f.Fd()), 0, 0, size)
}

func fdatasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
