package probe

import (
	"io/fs"
	"os"
	"syscall"
)

// FolderBytes returns the disk space in bytes that the files in a folder and its subfolders use.
// Preallocated space is included, and holes are not. FolderBytes returns -1 if the folder cannot be
// read. It ignores files that are removed during the call, such as old logs.
func FolderBytes(dir *os.Root) (bytes int64) {
	seen := false
	_ = fs.WalkDir(dir.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := dir.Lstat(path)
		if err != nil {
			return nil
		}
		seen = true
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes += 512 * stat.Blocks // POSIX uses this unit for every file system
		}
		return nil
	})
	if !seen {
		return -1
	}
	return bytes
}
