package engine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// backgroundNice is the niceness of background work. It gives way to the loops at once, and
// still gets a tenth of a CPU on a fully loaded machine.
const backgroundNice = 10

// LowerPriority lowers the priority of the calling goroutine below that of the loops, for the
// rest of its life. Merging and recording a second takes some milliseconds, for which a
// loop would otherwise wait on a machine with few CPUs.
func LowerPriority() {
	runtime.LockOSThread() // never unlocked: the thread exits with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), backgroundNice)
}

// urgent is the niceness of a loop that keeps a schedule. The scheduler gives it the CPU
// sooner and for longer than the other programs of the machine.
const urgent = -20

// raisePriority raises the priority of an open loop's thread, if the process has the right to:
// every wait for a CPU is part of the response times. A closed loop keeps its priority: it
// processes many replies at once after a wait, and depends only on the store.
func raisePriority(thread int) { _ = unix.Setpriority(unix.PRIO_PROCESS, thread, urgent) }

// CanRaisePriority reports whether the process may raise priorities. If it may, other threads need
// not give way to an open loop.
func CanRaisePriority() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	is, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, thread, urgent) != nil {
		return false
	}
	return unix.Setpriority(unix.PRIO_PROCESS, thread, 20-is) == nil // the system call returns 20 - niceness
}

// Yield lets other threads that wait for the caller's CPU run first.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
