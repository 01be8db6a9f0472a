package probe

import (
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// GiveBackPages gives back what was touched of our binary so far, and has the peak of
// our memory (SelfUsage.MaxRSS) begin anew: most of it are libraries for commands that
// are not this one's, which would stand in the memory of a generator, or of a member
// that is built in, all the time. What is needed again comes back from the page cache.
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
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.StartAddr, m.EndAddr-m.StartAddr, unix.MADV_DONTNEED) // it is a wish
		}
	}
	if f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("5") // proc_pid_clear_refs(5): the peak is what is resident now
		_ = f.Close()
	}
}
