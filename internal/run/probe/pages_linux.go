package probe

import (
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// ReleasePages releases the pages of quorumbench's binary that were used so far, and resets the
// maximum of the process's memory (SelfUsage.MaxRSS). Most of these pages belong to libraries that
// only other commands need. Without ReleasePages, they would be counted as memory of a generator
// or of an embedded member. If a released page is needed again, the kernel reads it from the page
// cache.
func ReleasePages() {
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
		if m.Pathname == own && !m.Perms.Write { // writable pages may be modified; the file does not contain their modifications
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.StartAddr, m.EndAddr-m.StartAddr, unix.MADV_DONTNEED) // an error is harmless
		}
	}
	if f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("5") // proc_pid_clear_refs(5): sets the maximum to the current memory
		_ = f.Close()
	}
}
