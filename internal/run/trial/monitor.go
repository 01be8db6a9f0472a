package trial

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/signals"
)

// monitor follows a running load: it records its seconds, follows
// elections, samples the machine and reports the progress.
type monitor struct {
	t   *Trial
	m   *members
	out *record.TrialWriter
	// phases is when they began and the load ended.
	phases phases
	// sampler samples the machine; its rows are sample's.
	sampler *sampler
	scrapes *scrapes
	clean   *cleaner
	began   time.Time          // when it was made
	err     error              // of recording; read after the load has ended
	stop    context.CancelFunc // ends the load
	full    atomic.Bool        // it was stopped because the store had no space left

	mu      sync.Mutex
	begun   [2]bool
	lastP99 float64            // of the last whole second
	whole   *measure.Histogram // a second's response times, used again
	lastAt  time.Time          // when that came

	opened chan struct{}  // closed when the window has
	faults []record.Fault // what became of them; read after the load
	window windowSeen

	uncompacted uncompacted // compact's, read after the load

	generator driven   // for handleChanges alone
	aimed     []string // where it was sent last; for handleChanges alone
	follower  *cluster.Follower
	done      func() uint64 // operations that the load has completed; set before the follower runs
	elections elections
	heard     *signals.Listener // listen's, and then measure's
	quit      context.CancelFunc
	running   sync.WaitGroup
	forsake   context.CancelFunc // ends what the cluster is still awaited for
}

// windowSeen is what the seconds of the window had.
type windowSeen struct {
	failed []uint64 // of each second of the window, the operations due in it
	waited []int64  // likewise, measure.Disturbance.RunWait of them
	pulse  measure.Pulse
	course measure.Course
}

// uncompacted are the compactions that failed: how many, and why the first did.
type uncompacted struct {
	times int
	why   string
}

// changed is called from the load's loops. A term that the members stated
// already, as the first answer's is, is no reason to ask them.
func (w *monitor) changed(term uint64, lost bool) {
	if lost || term > w.m.leads() {
		w.follower.Poke()
	}
}

// second records one merged second; it is called from one goroutine.
func (w *monitor) second(s *measure.Second) {
	w.mu.Lock()
	begun := w.begun[s.Phase]
	w.begun[s.Phase] = true
	w.mu.Unlock()
	if !begun {
		w.keep(w.out.Begin(s.Phase, w.phases.began(s.Phase)))
	}
	if at, ok := w.phases.ended(); ok {
		w.out.End(measure.Measured, at)
	}
	w.keep(w.out.Second(s))
	w.stopWithoutSpace(s)
	w.clean.took(s.Due)
	if s.Phase == measure.Measured {
		w.window.failed = append(w.window.failed, slices.Repeat([]uint64{0}, max(s.Index+1-len(w.window.failed), 0))...)
		w.window.failed[s.Index] += s.Failed()
		w.window.waited = append(w.window.waited, slices.Repeat([]int64{0}, max(s.Index+1-len(w.window.waited), 0))...)
		w.window.waited[s.Index] += s.Disturbed.RunWait
		w.window.pulse.Add(s)
	}
	if w.t.Second != nil {
		w.t.Second(s)
	}

	p99 := measure.Percentile(s.Response(w.whole), s.Failed(), 99)
	if s.Phase == measure.Measured && len(w.t.Spec.Load.Faults) > 0 {
		w.window.course.Add(s, p99)
	}
	w.mu.Lock()
	w.lastP99, w.lastAt = 0, measure.Now()
	if p99.Known {
		w.lastP99 = p99.NS
	}
	w.mu.Unlock()
}

// keep keeps the first error and stops the load: what cannot be recorded need
// not be measured.
func (w *monitor) keep(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.stop()
	}
}

// sample records a row a second for each process and the machine.
func (w *monitor) sample(ctx context.Context) {
	load.GiveWay(w.t.Worker)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer func() {
		w.sampler.note(context.WithoutCancel(ctx))
		w.look()
	}()
	for {
		if rows := w.sampler.rows(ctx); len(rows) > 0 {
			_ = w.out.Machines(rows) // an error stays in the writer
		}
		w.look()
		for ticked := false; !ticked; {
			select {
			case <-ctx.Done():
				return
			case <-w.sampler.edges:
				w.sampler.note(ctx)
				w.look()
			case <-ticker.C:
				ticked = true
			}
		}
	}
}

// look notes what is known of the hosts' clocks, and records when one was set.
func (w *monitor) look() {
	for _, e := range w.sampler.look() {
		_ = w.out.Event(e) // an error stays in the writer
	}
}

// mark is called when a phase begins, and when the load ends.
func (w *monitor) mark(m load.Mark) {
	w.phases.mark(m)
	if m.Phase == measure.Measured {
		if !m.Ended {
			close(w.opened)
		}
		w.sampler.edge()
		w.scrapes.edge()
	}
}

// driven is the part of a generator that follows the members.
type driven interface {
	// Retarget moves the load to other endpoints.
	Retarget(endpoints []string)
	// Epoch says in which term operations are from now on, where their answers
	// do not say it.
	Epoch(term uint64)
}

// clockSet is how our clock was set during the trial; nil if it was not.
func (w *monitor) clockSet() *record.ClockSet {
	set := w.sampler.own.ClockSet
	if set.Times == 0 {
		return nil
	}
	set.Members = slices.ContainsFunc(w.t.Cluster.Members(), func(m cluster.Member) bool {
		_, apart := m.Host.(host.Clocked)
		return !apart
	})
	return &set
}

// stopWithoutSpace ends the load on a running cluster when the first write was refused for
// want of space.
func (w *monitor) stopWithoutSpace(s *measure.Second) {
	if s.Outcomes[kv.NoSpace] > 0 && w.t.Cluster.attached() {
		w.full.Store(true)
		w.stop()
	}
}

// phases is when the load's phases began, and the window closed.
type phases struct {
	mu     sync.Mutex
	starts [2]time.Time
	closed time.Time
}

func (p *phases) mark(m load.Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !m.Ended:
		p.starts[m.Phase] = m.At
	case m.Phase == measure.Measured: // else it was stopped in the warm-up
		p.closed = m.At
	}
}

// began is when a phase began.
func (p *phases) began(phase measure.Phase) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts[phase]
}

// ended is when the window closed, if it has.
func (p *phases) ended() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed, !p.closed.IsZero()
}
