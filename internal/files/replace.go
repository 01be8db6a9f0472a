package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file completely or not at all: readers see either the earlier contents or the
// new contents. If the path is a link, Replace replaces the link and does not write to the target
// of the link.
func Replace(path string, mode fs.FileMode, contents []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(contents)
	if err := errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
