package command

import (
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// GiveBackPages gives back what starting touched of our binary: most of it are
// libraries for commands that are not this one's, which would stand in the memory of
// a generator, or of a member that is built in, all the time. What is needed again
// comes back from the page cache.
func GiveBackPages() {
	own, err := os.Executable()
	if err != nil {
		return
	}
	self, err := procfs.Self()
	if err != nil {
		return
	}
	maps, err := self.ProcMaps()
	if err != nil {
		return
	}
	for _, m := range maps {
		if m.Pathname == own && !m.Perms.Write { // what was written to is in no file
			// These are wishes. Without the first, what comes back is 2 MiB at a time where the
			// page cache has the file in such pieces.
			for _, advice := range []uintptr{unix.MADV_NOHUGEPAGE, unix.MADV_DONTNEED} {
				_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.StartAddr, m.EndAddr-m.StartAddr, advice)
			}
		}
	}
}
