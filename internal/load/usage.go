package load

import (
	"os"
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Usage is what a worker used between the window's opening in its first loop and
// the close in its last, so that neither the preload nor the drain is in it.
type Usage struct {
	// Machine and Process are where the worker runs: two workers can be in one.
	Machine string
	Process int

	CPUSeconds  float64 // of the process
	MaxRSSBytes int64
	// ThrottledNS is how long CPU limits held it back; nil where nothing says.
	ThrottledNS *int64
	// System is what the whole machine spent; nil where nothing says.
	System *probe.SystemCPU
	// LoopCPU is the loops' threads' CPU time, and RunDelay how long they waited
	// for a processor, in nanoseconds, over Slices turns on one.
	LoopCPU, RunDelay, Slices int64
}

// process is where a worker runs.
type process struct {
	machine string
	id      int
}

func (u *Usage) process() process { return process{u.Machine, u.Process} }

// usage reads counters in the loops' own threads when they come to the window
// and to its end.
type usage struct {
	limits probe.CPUGroups

	mu    sync.Mutex
	first counters
	last  counters
	rss   int64               // bytes, the most until the last
	sched map[int]probe.Sched // by loop, at its opening
	sum   probe.Sched
}

// counters are read together.
type counters struct {
	cpu       float64 // seconds, of this process
	system    probe.SystemCPU
	hasSystem bool
	held      int64 // nanoseconds
	hasHeld   bool
}

func (u *usage) read() (c counters) {
	c.cpu = probe.SelfCPU()
	c.system, c.hasSystem = probe.System()
	c.held, c.hasHeld = u.limits.Throttled()
	return c
}

func newUsage() *usage { return &usage{limits: probe.OurCPUGroups(), sched: map[int]probe.Sched{}} }

// mark is called from each loop's thread when the window has opened in it, or
// ended. The counters of all are read in the
// one that decides: the first to begin the window, and the last to end it.
func (u *usage) mark(loop int, m engine.Mark, decides bool) {
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

// used is what it came to.
func (u *usage) used() Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := Usage{
		Process: os.Getpid(), CPUSeconds: u.last.cpu - u.first.cpu, MaxRSSBytes: u.rss,
		LoopCPU: u.sum.CPU, RunDelay: u.sum.RunDelay, Slices: u.sum.Slices,
	}
	out.Machine, _ = os.Hostname()
	if u.first.hasHeld && u.last.hasHeld {
		held := u.last.held - u.first.held
		out.ThrottledNS = &held
	}
	if u.first.hasSystem && u.last.hasSystem {
		spent := u.last.system.Sub(u.first.system)
		out.System = &spent
	}
	return out
}

// Background makes the calling goroutine give way to the generator's loops for
// the rest of its life.
func Background() { engine.Background() }

// Attend is Background in an agent, for one of the goroutines that its load needs
// beside its loops. Loops that have a higher priority need nobody to give way: a thread
// that waits for its turn on a full machine has one of Go's processors meanwhile, and
// each collection of garbage, and the heartbeats with it, would wait for that.
func Attend(l *scenario.Load) {
	if l.Arrival == scenario.Closed || !engine.MayPrefer() {
		Background()
	}
}

// GiveWay is Background beside a worker that has loops in this process. Beside any
// other it does nothing: a thread that gives way to other programs keeps one of Go's
// processors while it waits for its turn, and heartbeats would wait for it, too.
func GiveWay(beside Worker) {
	if here(beside) {
		Background()
	}
}

// here reports whether a worker has loops in this process.
func here(w Worker) bool {
	switch w := w.(type) {
	case *Local:
		return true
	case Named:
		return here(w.Worker)
	case Workers:
		return slices.ContainsFunc(w, here)
	}
	return false
}
