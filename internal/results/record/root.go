package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// trusted says in a sentence what is wrong with a folder that run directories are
// to be made in. Where everybody can write, as in /tmp, another user can have
// made it, or a link of that name, before us; he could then put something else in
// the place of a run directory while it is written. One that is not there is fine.
func trusted(root string) error {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} { // a link, and where it leads
		info, err := look(root)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return writeError(root, err)
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok || s.Uid == 0 || int(s.Uid) == os.Geteuid() {
			continue
		}
		what := "the folder"
		if info.Mode()&fs.ModeSymlink != 0 {
			what = "the link"
		}
		return fmt.Errorf("cannot record into %s: %s belongs to another user (uid %d); name a folder of your own (--runs-dir), or the run directory itself (--out)", root, what, s.Uid)
	}
	return nil
}
