package load

import (
	"os"
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Usage holds the resources that a worker used from the time at which its first loop opened the
// window to the time at which its last loop closed it. So it excludes the preload and the drain.
type Usage struct {
	// Machine and Process identify where the worker runs. Two workers can share a process.
	Machine string
	Process int

	CPUSeconds  float64 // CPU time of the process
	MaxRSSBytes int64
	// ThrottledNS is how long the process was throttled by CPU limits. It is nil if this is
	// unknown.
	ThrottledNS *int64
	// System is the CPU time of the whole machine. It is nil if this is unknown.
	System *probe.SystemCPU
	// LoopCPU is the CPU time of the loops' threads, and RunDelay is how long these threads waited
	// for a CPU. Both are in nanoseconds. Slices is how many times the threads got a CPU.
	LoopCPU, RunDelay, Slices int64
}

// process identifies the process in which a worker runs.
type process struct {
	machine string
	id      int
}

func (u *Usage) process() process { return process{u.Machine, u.Process} }

// usage reads counters on the threads of the loops, when a loop opens the window and when it closes
// the window.
type usage struct {
	limits probe.CPUGroups

	mu    sync.Mutex
	first counters
	last  counters
	rss   int64               // peak memory in bytes, until the last loop closed the window
	sched map[int]probe.Sched // for each loop: the counters when the loop opened the window
	sum   probe.Sched
}

// counters holds the values of counters that were read at the same time.
type counters struct {
	cpu          float64 // CPU time of this process, in seconds
	system       probe.SystemCPU
	hasSystem    bool
	throttled    int64 // how long this process was throttled, in nanoseconds
	hasThrottled bool
}

// read reads all counters of the process and the machine.
func (u *usage) read() (c counters) {
	c.cpu = probe.SelfCPU()
	c.system, c.hasSystem = probe.ReadSystemCPU()
	c.throttled, c.hasThrottled = u.limits.Throttled()
	return c
}

func newUsage() *usage { return &usage{limits: probe.OwnCPUGroups(), sched: map[int]probe.Sched{}} }

// readCounters is called on each loop's thread after the loop has opened or closed its window. It
// always reads the thread's counters. It reads the counters of the process and of the machine only
// if `decides` is set, which is the case when the first loop opens the window and when the last
// loop closes it.
func (u *usage) readCounters(loop int, m engine.PhaseChange, decides bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if decides && !m.Ended {
		u.first = u.read()
	}
	now, ok := probe.ThreadSched(m.Thread)
	switch {
	case !m.Ended:
		u.sched[loop] = now
	case ok:
		d := now.Sub(u.sched[loop])
		u.sum.CPU += d.CPU
		u.sum.RunDelay += d.RunDelay
		u.sum.Slices += d.Slices
	}
	if decides && m.Ended {
		u.last, u.rss = u.read(), probe.Self().MaxRSS
	}
}

// total returns the difference between the last and the first counters.
func (u *usage) total() Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := Usage{
		Process: os.Getpid(), CPUSeconds: u.last.cpu - u.first.cpu, MaxRSSBytes: u.rss,
		LoopCPU: u.sum.CPU, RunDelay: u.sum.RunDelay, Slices: u.sum.Slices,
	}
	out.Machine, _ = os.Hostname()
	if u.first.hasThrottled && u.last.hasThrottled {
		held := u.last.throttled - u.first.throttled
		out.ThrottledNS = &held
	}
	if u.first.hasSystem && u.last.hasSystem {
		spent := u.last.system.Sub(u.first.system)
		out.System = &spent
	}
	return out
}

// LowerPriority lowers the priority of the calling goroutine below that of the generator's loops,
// for the rest of the goroutine's life.
func LowerPriority() { engine.LowerPriority() }

// LowerPriorityInAgent calls LowerPriority for a background goroutine of a load in an agent, unless
// the loops have raised their own priority. In that case, it does nothing, because on a busy
// machine, a thread with low priority occupies one of Go's processors while it waits for a CPU.
// Every garbage collection would have to wait for that thread, and so would the heartbeats.
func LowerPriorityInAgent(l *scenario.Load) {
	if l.Arrival == scenario.Closed || !engine.CanRaisePriority() {
		LowerPriority()
	}
}

// YieldTo calls LowerPriority if the worker has loops in this process. Otherwise it does nothing,
// because a thread with low priority occupies one of Go's processors while it waits for a CPU, and
// heartbeats would have to wait for that thread.
func YieldTo(w Worker) {
	if hasLocalLoops(w) {
		LowerPriority()
	}
}

// hasLocalLoops reports whether a worker has loops in this process.
func hasLocalLoops(w Worker) bool {
	switch w := w.(type) {
	case *Local:
		return true
	case NamedWorker:
		return hasLocalLoops(w.Worker)
	case Workers:
		return slices.ContainsFunc(w, hasLocalLoops)
	}
	return false
}
