package engine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// backgroundNice is what work beside the loops is nicer by: enough to give way
// at once, and a tenth of a processor is left to it on a machine that is full.
const backgroundNice = 10

// Background makes the calling goroutine give way to the loops, for the rest of
// its life: merging and recording a second takes some milliseconds, and where
// processors are few a loop would wait for them.
func Background() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), backgroundNice)
}
