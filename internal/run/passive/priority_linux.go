package passive

import (
	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// priority controls the scheduling of the process's threads.
type priority struct {
	original *unix.SchedAttr // the original attributes; nil while the threads use them
	disabled bool            // set if the threads must never use SCHED_IDLE
}

// CanRestorePriority reports whether threads with low priority (SCHED_IDLE) can return to normal
// scheduling, see sched(7). If they cannot, threads never get low priority.
func CanRestorePriority() bool {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &limit) == nil && limit.Cur >= 20 {
		return true // RLIMIT_NICE 20 permits nice 0
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&head, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
}

// setIdle changes the scheduling of all threads of the process. If enable is true, the threads run
// only on processors that are otherwise idle (SCHED_IDLE). If enable is false, setIdle restores the
// original attributes of the threads. It does nothing if the process does not use the normal
// scheduling policy or could not return to it.
func (p *priority) setIdle(enable bool) {
	switch {
	case p.disabled || enable == (p.original != nil):
	case enable:
		original, err := unix.SchedGetAttr(0, 0)
		if p.disabled = err != nil || original.Policy != unix.SCHED_NORMAL || !CanRestorePriority(); p.disabled {
			return
		}
		p.original = original
		setAll(&unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE})
	default:
		setAll(p.original)
		p.original = nil
	}
}

// setAll sets the attributes of all threads. A new thread inherits its creator's attributes.
func setAll(attr *unix.SchedAttr) {
	_ = probe.EachThread(0, func(tid int) error {
		_ = unix.SchedSetAttr(tid, attr, 0) // the thread may have exited
		return nil
	})
}
