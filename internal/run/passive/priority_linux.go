package passive

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// priority is that of the process's threads.
type priority struct {
	before *unix.SchedAttr // what it was; nil: they do not give way
	never  bool            // they may not
}

// MayGiveWay reports whether threads that give way may become as they were again
// (sched(7)); where they may not, they do not give way.
func MayGiveWay() bool {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &limit) == nil && limit.Cur >= 20 {
		return true // nice 0 is 20 here
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&head, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
}

// giveWay has all threads of the process run only where a processor has nothing else to do
// (SCHED_IDLE), or as before. Threads of another class than the normal one stay as they are.
func (p *priority) giveWay(way bool) {
	switch {
	case p.never || way == (p.before != nil):
	case way:
		before, err := unix.SchedGetAttr(0, 0)
		if p.never = err != nil || before.Policy != unix.SCHED_NORMAL || !MayGiveWay(); p.never {
			return
		}
		p.before = before
		setAll(&unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE})
	default:
		setAll(p.before)
		p.before = nil
	}
}

// setAll sets the attributes of all threads. One that is started meanwhile has those of who
// starts it, and so all are looked at again until none has come.
func setAll(attr *unix.SchedAttr) {
	done := map[int]bool{}
	for more := true; more; {
		more = false
		threads, _ := os.ReadDir("/proc/self/task")
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil || done[id] {
				continue
			}
			_ = unix.SchedSetAttr(id, attr, 0) // it may have ended
			done[id], more = true, true
		}
	}
}
