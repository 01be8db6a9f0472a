package probe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits returns the limits of this machine, and those of the file system that contains a folder.
func Limits(dir *os.Root) (p measure.HostLimits, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return p, fsyncError(dir, err)
	}
	defer func() { _ = f.Close() }()
	p = measure.HostLimits{FreeBytes: -1, OpenFiles: -1}
	p.FileSystem, p.Durable = fileSystem(f)
	p.Networked = networked(p.FileSystem)
	var s unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &s) == nil {
		p.FreeBytes = freeBytes(int64(s.Bavail), int64(s.Bsize))
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		p.OpenFiles = int64(min(limit.Max, 1<<30)) // an infinite limit is larger than any number that the record permits
	}
	p.MemoryBytes, p.SwapBytes = memory()
	return p, nil
}

// CheckRoom returns an error if `need` bytes are more than half of the free space of the file system
// that contains a folder. The error names the folder `shown` and contains the remedy.
func CheckRoom(dir *os.Root, need int64, shown, remedy string) error {
	p, err := Limits(dir)
	if err != nil {
		return err
	}
	if p.FreeBytes >= 0 && need > p.FreeBytes/2 {
		return fmt.Errorf("the writes need %s, and the same amount must remain free, but only %s are free in %s; %s, or a folder with more free space",
			text.Bytes(uint64(need)), text.Bytes(uint64(p.FreeBytes)), shown, remedy)
	}
	return nil
}

// maxFreeBytes is the largest number of free bytes that a record permits (text.CheckNumbers).
const maxFreeBytes = 1 << 53

// freeBytes returns the size of a file system's free blocks, at most maxFreeBytes. Some network
// file systems report that they have no limit, as a number of free blocks that is too large.
func freeBytes(blocks, blockSize int64) int64 {
	if blocks > 0 && blockSize > maxFreeBytes/blocks {
		return maxFreeBytes
	}
	return max(blocks*blockSize, 0)
}

// networked reports whether a file system's data is on another machine.
func networked(fileSystem string) bool {
	switch fileSystem {
	case "nfs", "smb2", "cifs", "9p", "ceph":
		return true
	}
	return false
}
