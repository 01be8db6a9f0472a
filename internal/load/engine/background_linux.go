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

// urgent is the priority of a loop that keeps a schedule: what else runs on the
// machine has the processor for longer, and it has it sooner.
const urgent = -20

// prefer gives the thread of an open loop's event loop a higher priority, where
// we may: what it waits for a processor is in the response times. A closed loop's
// stays as it is, because it answers many at once when it has waited, and waits
// for nobody but the store.
func prefer(thread int) { _ = unix.Setpriority(unix.PRIO_PROCESS, thread, urgent) }

// MayPrefer reports whether we may: then others need not give way to such a loop.
func MayPrefer() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	is, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, thread, urgent) != nil {
		return false
	}
	return unix.Setpriority(unix.PRIO_PROCESS, thread, 20-is) == nil // as the system call has it
}

// Yield lets other threads that wait for the caller's processor have it first.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
