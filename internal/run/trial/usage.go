package trial

import (
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// usage is what the generator used between the window's opening in its first
// loop and the close in its last: read in the loops' own threads at that time,
// so that neither the preload nor the drain is in it.
type usage struct {
	mu     sync.Mutex
	starts [2]time.Time
	closed time.Time
	opened bool
	left   int // loops that have not closed
	first  counters
	last   counters
	sched  map[int]probe.Sched // by loop, at its opening
	sum    probe.Sched
}

// counters are read together.
type counters struct {
	self      probe.SelfUsage
	system    probe.SystemCPU
	hasSystem bool
	held      probe.Throttling
	hasHeld   bool
}

func read() (c counters) {
	c.self, _ = probe.Self()
	c.system, c.hasSystem = probe.System()
	c.held, c.hasHeld = probe.Throttled()
	return c
}

func newUsage() *usage { return &usage{sched: map[int]probe.Sched{}} }

// mark is called from each loop's thread.
func (u *usage) mark(m load.Mark) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !m.Ended {
		if u.starts[m.Phase].IsZero() {
			u.starts[m.Phase] = m.At
		}
		if m.Phase != measure.Measured {
			return
		}
		if !u.opened {
			u.opened, u.left, u.first = true, m.Loops, read()
		}
		u.sched[m.Loop], _ = probe.ThreadSched(m.Thread)
		return
	}
	if m.Phase != measure.Measured {
		return // stopped in the warm-up
	}
	u.left--
	if s, ok := probe.ThreadSched(m.Thread); ok {
		d := s.Sub(u.sched[m.Loop])
		u.sum.CPU += d.CPU
		u.sum.RunDelay += d.RunDelay
		u.sum.Slices += d.Slices
	}
	if u.left == 0 {
		u.closed, u.last = m.At, read()
	}
}

// began is when a phase began.
func (u *usage) began(p measure.Phase) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.starts[p]
}

// ended is when the window closed, if it has.
func (u *usage) ended() (time.Time, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.closed, !u.closed.IsZero()
}

// observed is the part of a trial's observations that comes from here. store is
// what all members used in the window, nil if that is not known.
func (u *usage) observed(store *record.StoreUsage) record.Observed {
	u.mu.Lock()
	defer u.mu.Unlock()
	self := u.last.self.Sub(u.first.self)
	o := record.Observed{CPUSeconds: self.CPUSeconds(), MaxRSSBytes: self.MaxRSS, Store: store}
	if u.first.hasHeld && u.last.hasHeld {
		held := u.last.held.Sub(u.first.held).ThrottledNS
		o.ThrottledNS = &held
	}
	if u.first.hasSystem && u.last.hasSystem {
		u.machine(&o, u.last.system.Sub(u.first.system))
	}
	return o
}

// machine divides the machine's processor time. Its clock ticks a hundred times
// a second, so that what is left for other programs can come out below 0.
func (u *usage) machine(o *record.Observed, spent probe.SystemCPU) {
	total := spent.Total()
	if total <= 0 {
		return
	}
	stolen, busy := spent.Steal/total, spent.Busy()/total
	o.StolenShare, o.BusyShare = &stolen, &busy
	if o.Store == nil {
		return
	}
	foreign := max(spent.Programs()-o.CPUSeconds-o.Store.CPUSeconds, 0) / total
	o.ForeignShare = &foreign
}

// fill adds what the scheduler says of the loops' threads.
func (u *usage) fill(t *measure.Totals) {
	u.mu.Lock()
	defer u.mu.Unlock()
	t.LoopCPU, t.RunDelay, t.Slices = u.sum.CPU, u.sum.RunDelay, u.sum.Slices
}
