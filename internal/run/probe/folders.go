package probe

import (
	"io/fs"
	"os"
	"syscall"
)

// FolderBytes is what the files below a folder take on their disk, with what is
// set aside for them and without what they leave out; -1 if it cannot be read. A file
// that is removed meanwhile, as logs are, counts as gone.
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
			bytes += 512 * stat.Blocks // POSIX counts in these, whatever the file system's are
		}
		return nil
	})
	if !seen {
		return -1
	}
	return bytes
}
