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
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// monitor observes a running load. It records the load once per second, follows elections, samples
// the machines and reports progress.
type monitor struct {
	t   *Trial
	m   *members
	out *record.TrialWriter
	// phases contains the times at which the phases began and the window closed.
	phases phases
	// sampler samples the machine. Only the method `sample` uses the sampler's rows.
	sampler *sampler
	scrapes *metricsRecorder
	clean   *cleaner
	began   time.Time          // time at which the monitor was created
	err     error              // the first error from writing the record; read only after the load has ended
	stop    context.CancelFunc // stops the load
	full    atomic.Bool        // whether the load was stopped because the store was out of space

	mu           sync.Mutex
	phaseBegun   [2]bool
	lastP99      float64            // p99 of the last complete second
	secondBuffer *measure.Histogram // buffer for the response times of one second
	lastAt       time.Time          // time at which the last complete second was received

	opened chan struct{}  // closed when the window has opened
	faults []record.Fault // the results of injected faults; read only after the load has ended
	window windowStats

	compactionFailures failedCompactions // written by compact; read only after the load has ended

	generator       retargetable // used only by handleChanges
	targetEndpoints []string     // the generator's current endpoints; used only by handleChanges
	follower        *cluster.Follower
	done            func() uint64 // returns the number of operations that the load has completed; set before the follower starts
	elections       elections
	listener        *signals.Listener // used by listen, and by measure after listen has returned
	quit            context.CancelFunc
	running         sync.WaitGroup
	abandonRecovery context.CancelFunc // ends the wait for the cluster's recovery
}

// windowStats accumulates data about the seconds of the measurement window.
type windowStats struct {
	failed   []uint64 // number of failed operations, by the second in which the operations were due
	runWaits []int64  // by second: measure.Disturbance.RunWait
}

// failedCompactions contains the number of failed compactions and the first error.
type failedCompactions struct {
	count      int
	firstError string
}

// onChange is called by the load's loops when a response contains a new term or when a connection
// is lost. It makes the follower ask the members for their status, unless the members have already
// reported the term.
func (w *monitor) onChange(term uint64, lost bool) {
	if lost || term > w.m.leaderTerm() {
		w.follower.Refresh()
	}
}

// second records a one-second interval of the load. Do not call it concurrently.
func (w *monitor) second(s *measure.Second) {
	w.mu.Lock()
	phaseBegun := w.phaseBegun[s.Phase]
	w.phaseBegun[s.Phase] = true
	w.mu.Unlock()
	if !phaseBegun {
		w.failRecording(w.out.Begin(s.Phase, w.phases.began(s.Phase)))
	}
	if at, ok := w.phases.ended(); ok {
		w.out.End(measure.Measured, at)
	}
	w.failRecording(w.out.Second(s))
	w.stopWithoutSpace(s)
	w.clean.addOperations(s.Due)
	if s.Phase == measure.Measured {
		w.window.failed = append(w.window.failed, slices.Repeat([]uint64{0}, max(s.Index+1-len(w.window.failed), 0))...)
		w.window.failed[s.Index] += s.Failed()
		w.window.runWaits = append(w.window.runWaits, slices.Repeat([]int64{0}, max(s.Index+1-len(w.window.runWaits), 0))...)
		w.window.runWaits[s.Index] += s.Disturbance.RunWait
	}
	if w.t.OnSecond != nil {
		w.t.OnSecond(s)
	}

	p99 := measure.Percentile(s.Response(w.secondBuffer), s.Failed(), 99)
	w.mu.Lock()
	w.lastP99, w.lastAt = 0, measure.Now()
	if p99.Known {
		w.lastP99 = p99.NS
	}
	w.mu.Unlock()
}

// failRecording remembers the first error and stops the load, because a measurement without a
// record is useless.
func (w *monitor) failRecording(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.stop()
	}
}

// sample records one row per second for each process and one for each machine.
func (w *monitor) sample(ctx context.Context) {
	load.YieldTo(w.t.Worker)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer func() {
		w.sampler.sampleMembers(context.WithoutCancel(ctx))
		w.recordClocks()
	}()
	for {
		if rows := w.sampler.rows(ctx); len(rows) > 0 {
			_ = w.out.Machines(rows) // the writer remembers an error
		}
		w.recordClocks()
		for ticked := false; !ticked; {
			select {
			case <-ctx.Done():
				return
			case <-w.sampler.edges:
				w.sampler.sampleMembers(ctx)
				w.recordClocks()
			case <-ticker.C:
				ticked = true
			}
		}
	}
}

// recordClocks records the state of the hosts' clocks, and records an event for each clock that was
// set.
func (w *monitor) recordClocks() {
	for _, e := range w.sampler.recordClocks() {
		_ = w.out.Event(e) // the writer remembers an error
	}
}

// mark is called when a phase begins and when the load ends.
func (w *monitor) mark(m load.PhaseChange) {
	w.phases.mark(m)
	if m.Phase == measure.Measured {
		if !m.Ended {
			close(w.opened)
		}
		w.sampler.edge()
		w.scrapes.edge()
	}
}

// retargetable is the part of a generator that reacts to changes of the members.
type retargetable interface {
	// Retarget moves the load to the given endpoints.
	Retarget(endpoints []string)
	// Epoch sets the term of later operations whose responses contain no term.
	Epoch(term uint64)
}

// clockSet returns how often and by how much this machine's clock was set during the trial. It
// returns nil if the clock was not set.
func (w *monitor) clockSet() *verdict.ClockChanges {
	set := w.sampler.ownClock.ClockChanges
	if set.Count == 0 {
		return nil
	}
	set.HasMembers = slices.ContainsFunc(w.t.Cluster.Members(), func(m cluster.Member) bool {
		_, apart := m.Host.(host.Remote)
		return !apart
	})
	return &set
}

// stopWithoutSpace stops a load on a running cluster if the store has rejected a write because it
// is out of space.
func (w *monitor) stopWithoutSpace(s *measure.Second) {
	if s.Outcomes[kv.NoSpace] > 0 && w.t.Cluster.attached() {
		w.full.Store(true)
		w.stop()
	}
}

// phases contains the times at which the load's phases began and the window closed.
type phases struct {
	mu     sync.Mutex
	starts [2]time.Time
	closed time.Time
}

func (p *phases) mark(m load.PhaseChange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !m.Ended:
		p.starts[m.Phase] = m.At
	case m.Phase == measure.Measured: // if another phase ended, the load was stopped in the warm-up
		p.closed = m.At
	}
}

// began returns the time at which a phase began.
func (p *phases) began(phase measure.Phase) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts[phase]
}

// ended returns the time at which the window closed; ok is false if the window has not closed.
func (p *phases) ended() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed, !p.closed.IsZero()
}
