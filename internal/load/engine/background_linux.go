package engine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// backgroundNice is the niceness of background threads. The scheduler prefers the loops' threads,
// but still gives background threads a tenth of a CPU on a fully loaded machine.
const backgroundNice = 10

// LowerPriority lowers the priority of the calling goroutine below that of the loops, for the rest
// of the goroutine's life. Otherwise, on a machine with few CPUs, a loop would have to wait for a
// CPU for some milliseconds whenever the results of a one-second interval are merged and recorded.
func LowerPriority() {
	runtime.LockOSThread() // never unlocked: the thread exits with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), backgroundNice)
}

// urgentNice is the niceness of an open loop's thread. The scheduler runs a thread with this
// niceness sooner and for longer than the threads of other programs.
const urgentNice = -20

// raisePriority raises the priority of an open loop's thread if the process has the right to do so.
// In an open loop, every wait for a CPU is part of the response times. A closed loop keeps its
// priority: after a wait it processes many replies at once, so its throughput depends only on the
// store.
func raisePriority(thread int) { _ = unix.Setpriority(unix.PRIO_PROCESS, thread, urgentNice) }

// CanRaisePriority reports whether the process has the right to raise priorities. With this right,
// other threads need not yield the CPU to an open loop.
func CanRaisePriority() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	current, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, thread, urgentNice) != nil {
		return false
	}
	return unix.Setpriority(unix.PRIO_PROCESS, thread, 20-current) == nil // the system call returns 20 - niceness
}

// Yield lets other threads that wait for the caller's CPU run first.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
