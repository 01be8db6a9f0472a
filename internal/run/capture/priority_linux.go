package capture

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// priority is that of the process's threads.
type priority struct{ idle bool }

// mayReturn reports whether a thread that gives way may become as others are again
// (sched(7)).
func mayReturn() bool {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &limit) == nil && limit.Cur >= 20 {
		return true // nice 0 is 20 here
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&head, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
}

// giveWay has all threads of the process run only where a processor has nothing else to do
// (SCHED_IDLE), or as any other's. New threads are as those that start them. Where the
// system does not allow it, or would not allow them to return, they stay as they are.
func (p *priority) giveWay(way bool) {
	if p.idle == way || way && !mayReturn() {
		return
	}
	p.idle = way
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if way {
		attr.Policy = unix.SCHED_IDLE
	}
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetAttr(id, &attr, 0) // it may have ended
		}
	}
}
