package trial

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// How often the trial's progress is reported, and how soon members are asked
// again for what they do not agree on yet.
const (
	progressEvery = 250 * time.Millisecond
	askEvery      = 100 * time.Millisecond
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
	failed []uint64       // of each second of the window, the operations due in it
	waited []int64        // likewise, measure.Disturbance.RunWait of them
	pulse  measure.Pulse  // of the window
	course measure.Course // likewise

	uncompacted    int // compactions that failed; compact's, read after the load
	uncompactedWhy string

	generator driven   // for handleChanges alone
	aimed     []string // where it was sent last; for handleChanges alone
	follower  *cluster.Follower
	done      func() uint64 // operations that the load has completed; set before the follower runs
	elections elections
	heard     *probe.Listener // listen's, and then measure's
	quit      context.CancelFunc
	running   sync.WaitGroup
	forsake   context.CancelFunc // ends what the cluster is still awaited for
}

func newMonitor(ctx context.Context, t *Trial, m *members, out *record.TrialWriter) (*monitor, error) {
	sampler, err := newSampler(ctx, t.Host, t.Cluster.Members(), t.Sources...)
	if err != nil {
		return nil, err
	}
	sampler.addBeside(t.Cluster.besides())
	if len(t.Spec.Load.Faults) > 0 {
		sampler.members = t.Cluster.Members
	}
	w := &monitor{t: t, m: m, out: out, sampler: sampler, began: measure.Now(), whole: measure.NewHistogram(), opened: make(chan struct{})}
	w.follower = cluster.NewFollower(w.followed())
	w.scrapes = newScrapes(t, m, out)
	w.heard = t.logs.listener(w.began)
	return w, nil
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
		w.failed = append(w.failed, slices.Repeat([]uint64{0}, max(s.Index+1-len(w.failed), 0))...)
		w.failed[s.Index] += s.Failed()
		w.waited = append(w.waited, slices.Repeat([]int64{0}, max(s.Index+1-len(w.waited), 0))...)
		w.waited[s.Index] += s.Disturbed.RunWait
		w.pulse.Add(s)
	}
	if w.t.Second != nil {
		w.t.Second(s)
	}

	p99 := measure.Percentile(s.Response(w.whole), s.Failed(), 99)
	if s.Phase == measure.Measured && len(w.t.Spec.Load.Faults) > 0 {
		w.course.Add(s, p99)
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

// begin starts to follow a load that is about to run to the endpoints.
// run ends when the whole run does.
func (w *monitor) begin(run context.Context, g load.Job, endpoints []string) {
	w.aim(g, endpoints)
	w.done = func() uint64 { return g.Progress().Done }
	ctx, quit := context.WithCancel(context.Background())
	w.quit = quit
	run, w.forsake = w.whilePresent(run)
	w.sampler.note(ctx) // before any window opens: a first whole sample takes long
	w.scrapes.begin()
	w.running.Go(func() { w.follower.Run(ctx, func() { load.GiveWay(w.t.Worker) }) })
	w.running.Go(func() { w.sample(ctx) })
	w.running.Go(func() { w.listen(ctx) })
	w.running.Go(func() { w.compact(ctx) })
	w.running.Go(func() { w.breakMembers(run, ctx) })
	w.running.Go(func() { w.progress(ctx, g) })
}

// end ends that when the load has, and returns why a host with members was lost before.
func (w *monitor) end() (lost error) {
	lost = w.sampler.noteLost()
	w.quit()
	w.running.Wait()
	w.forsake()
	w.scrapes.stop()
	w.generator = nil // it has ended, and cannot be moved
	return lost
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

// p99Lives is how long a second's p99 is shown: a second comes when nothing due
// in it is open, so none comes while the store stalls.
const p99Lives = 2 * time.Second

// progress reports how the load goes: how many operations were done in the last
// second is counted here, and so falls to 0 in a stall.
func (w *monitor) progress(ctx context.Context, g load.Job) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	var recent meter
	var window opening
	failed, asked := uint64(0), measure.Now()
	for {
		p, now := g.Progress(), measure.Now()
		// A member that stands still keeps its connections: only timeouts show it.
		if p.Failed > failed && now.Sub(asked) >= time.Second {
			failed, asked = p.Failed, now
			w.follower.Poke()
		}
		current := Progress{Stage: p.Phase, PerSecond: recent.rate(now, p.Done), Errors: p.Failed, InFlight: p.InFlight}
		window.fill(p, now, &current)
		w.mu.Lock()
		if now.Sub(w.lastAt) < p99Lives {
			current.P99 = w.lastP99
		}
		w.mu.Unlock()
		w.t.report(current)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// opening counts the operations that ended since the window was seen open: for
// showing how far it is, not for figures.
type opening struct {
	at           time.Time
	done, failed uint64 // before
	length       time.Duration
}

func (o *opening) fill(p load.Progress, now time.Time, to *Progress) {
	open := p.Phase == measure.Measured.String()
	if o.at.IsZero() && open {
		o.at, o.done, o.failed = now, p.Done, p.Failed
	}
	if o.at.IsZero() {
		return
	}
	if open {
		o.length = now.Sub(o.at)
	}
	to.Done, to.InWindow = p.Done-o.done, o.length
	to.Ended = to.Done + p.Failed - o.failed
}

// meter returns how fast a count rose in the last second.
type meter struct{ readings []reading }

type reading struct {
	at    time.Time
	count uint64
}

// rate takes the count as it is now; 0 until there are two of them.
func (m *meter) rate(now time.Time, count uint64) float64 {
	m.readings = append(m.readings, reading{now, count})
	for len(m.readings) > 2 && now.Sub(m.readings[1].at) >= time.Second {
		m.readings = m.readings[1:]
	}
	first := m.readings[0]
	if now.Equal(first.at) {
		return 0
	}
	return float64(count-first.count) / now.Sub(first.at).Seconds()
}

// pause waits, and reports false when ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
