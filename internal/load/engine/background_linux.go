package engine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// backgroundNice is the niceness of background work. Such work gives way to the loops immediately,
// and still gets a tenth of a CPU on a fully loaded machine.
const backgroundNice = 10

// LowerPriority lowers the priority of the calling goroutine below that of the loops, for the rest
// of the goroutine's life. Merging and recording a second takes some milliseconds. On a machine
// with few CPUs, a loop would otherwise have to wait for that long.
func LowerPriority() {
	runtime.LockOSThread() // never unlocked: the thread exits with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), backgroundNice)
}

// urgent is the niceness of an open loop's thread. The scheduler gives such a thread the CPU sooner
// and for longer than it gives it to the machine's other programs.
const urgent = -20

// raisePriority raises the priority of an open loop's thread if the process has the right to do so,
// because every wait for a CPU is part of an open loop's response times. A closed loop keeps its
// priority: after a wait it processes many replies at once, so its throughput depends only on the
// store.
func raisePriority(thread int) { _ = unix.Setpriority(unix.PRIO_PROCESS, thread, urgent) }

// CanRaisePriority reports whether the process has the right to raise priorities. If it does, other
// threads need not give way to an open loop.
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
