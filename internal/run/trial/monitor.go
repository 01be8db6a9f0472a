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

// monitor follows a running load: it records its seconds, follows elections, samples the
// machine and reports progress.
type monitor struct {
	t   *Trial
	m   *members
	out *record.TrialWriter
	// phases holds when the phases began and the load ended.
	phases phases
	// sampler samples the machine. Only sample uses its rows.
	sampler *sampler
	scrapes *scrapes
	clean   *cleaner
	began   time.Time          // when the monitor was made
	err     error              // of writing the record; read after the load has ended
	stop    context.CancelFunc // ends the load
	full    atomic.Bool        // the load was stopped because the store had no space left

	mu      sync.Mutex
	begun   [2]bool
	lastP99 float64            // of the last complete second
	whole   *measure.Histogram // reused for a second's response times
	lastAt  time.Time          // when that second arrived

	opened chan struct{}  // closed when the window has opened
	faults []record.Fault // the results of injected faults; read after the load
	window windowSeen

	uncompacted uncompacted // written by compact, read after the load

	generator driven   // used only by handleChanges
	aimed     []string // its present endpoints; used only by handleChanges
	follower  *cluster.Follower
	done      func() uint64 // operations that the load has completed; set before the follower runs
	elections elections
	heard     *signals.Listener // used by listen, and after that by measure
	quit      context.CancelFunc
	running   sync.WaitGroup
	forsake   context.CancelFunc // stops the wait for the cluster
}

// windowSeen accumulates the seconds of the measurement window.
type windowSeen struct {
	failed []uint64 // by second: operations due in it that failed
	waited []int64  // by second: measure.Disturbance.RunWait
	pulse  measure.Pulse
	course measure.Course
}

// uncompacted counts the compactions that failed, and holds why the first did.
type uncompacted struct {
	times int
	why   string
}

// changed is called by the load's loops. It asks the members, unless they have already
// reported the term, as for the first response.
func (w *monitor) changed(term uint64, lost bool) {
	if lost || term > w.m.leaderTerm() {
		w.follower.Poke()
	}
}

// second records one merged second. It is called from one goroutine.
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

// keep keeps the first error and stops the load: measuring is useless if it cannot be
// recorded.
func (w *monitor) keep(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.stop()
	}
}

// sample records one row per second for each process and the machine.
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
			_ = w.out.Machines(rows) // the writer keeps an error
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

// look records the state of the hosts' clocks, and an event for each clock that was set.
func (w *monitor) look() {
	for _, e := range w.sampler.look() {
		_ = w.out.Event(e) // the writer keeps an error
	}
}

// mark is called when a phase begins and when the load ends.
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

// driven is the part of a generator that depends on the members.
type driven interface {
	// Retarget moves the load to other endpoints.
	Retarget(endpoints []string)
	// Epoch sets the term of subsequent operations whose responses contain no term.
	Epoch(term uint64)
}

// clockSet returns how our clock was set during the trial, or nil if it was not.
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
// lack of space.
func (w *monitor) stopWithoutSpace(s *measure.Second) {
	if s.Outcomes[kv.NoSpace] > 0 && w.t.Cluster.attached() {
		w.full.Store(true)
		w.stop()
	}
}

// phases holds when the load's phases began and when the window closed.
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
	case m.Phase == measure.Measured: // otherwise it was stopped in the warm-up
		p.closed = m.At
	}
}

// began returns when a phase began.
func (p *phases) began(phase measure.Phase) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts[phase]
}

// ended returns when the window closed; ok is false if it has not.
func (p *phases) ended() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed, !p.closed.IsZero()
}
