package load

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// generator runs a load once, in this process. It is the Job of a Local.
type generator struct {
	plan         *plan
	base         time.Time
	loops        []*engine.Loop
	pollers      []poll.Poller
	delivered    chan deliveredSecond
	spare        chan *measure.Histogram
	merger       *Merger
	phaseChanges phaseChanges
	usage        *usage // nil if the load runs in a World

	watching     *loadWatchers // nil without watchers
	notCaughtUp  atomic.Int32  // number of loops whose watchers have not caught up yet
	maxOpenDelay atomic.Int64  // largest delay with which a loop opened its window, in nanoseconds

	recorders []*history.Recorder // of all loops; empty if operations are not recorded

	stage   stage
	running sync.WaitGroup
	results []*engine.Result
	ended   chan struct{} // closed when all seconds have been merged
}

// stage is how far a generator has progressed.
type stage uint8

const (
	prepared  stage = iota
	connected       // connecting or connected: the loops run and wait for their start
	finished        // the load has run, or the generator was closed
)

// deliveredSecond is a second that a loop has delivered, or the message that the loop has ended.
type deliveredSecond struct {
	loop   int
	second *measure.Second // nil: the loop has ended
}

// backgroundThreads is the number of background threads in an agent: one merges seconds, and one
// reports progress.
const backgroundThreads = 2

// startDelay is the time between the completion of the last connection and the first phase. It lets
// all loops start at the same time.
const startDelay = 2 * time.Millisecond

// newGenerator creates a generator and its loops. It does not connect.
func newGenerator(p *plan) (*generator, error) {
	n := p.Loops()
	g := &generator{
		plan: p, base: p.now(),
		delivered:    make(chan deliveredSecond, 64),
		spare:        make(chan *measure.Histogram, 256),
		phaseChanges: phaseChanges{parts: n, report: p.reports.OnPhaseChange},
		results:      make([]*engine.Result, n),
		ended:        make(chan struct{}),
	}
	g.merger = NewMerger(&p.Assignment, n, p.reports.Second, func(h *measure.Histogram) {
		select {
		case g.spare <- h:
		default:
		}
	})
	g.merger.SecondsOnly(p.reports.SecondsOnly)
	if p.world == nil {
		g.usage = newUsage()
	}
	if p.reports.NewRecorder != nil {
		p.recorder = g.record
	}
	if err := p.checkShard(); err != nil {
		return nil, err
	}
	if err := p.checkLeases(); err != nil {
		return nil, err
	}
	g.watching = newLoadWatchers(p, n)
	shared := engine.NewShared(n, p.Shard.share(p.Load.Total), int(p.Shard.share(uint64(p.Load.MaxInFlight))))
	for i := range n {
		if err := g.addLoop(i, n, shared); err != nil {
			g.Close()
			return nil, err
		}
	}
	if g.watching != nil {
		g.notCaughtUp.Store(int32(len(g.watching.sinks)))
	}
	// Each loop occupies a processor in Go's scheduler, and the other goroutines need one, too. In
	// an agent, the background threads may occupy further processors while they wait for a CPU, and
	// even then the agent must send heartbeats.
	least := n*(1+p.OtherWorkers) + 1
	if p.inAgent {
		least += backgroundThreads
	}
	if runtime.GOMAXPROCS(0) < least {
		runtime.GOMAXPROCS(least)
	}
	return g, nil
}

// addLoop creates loop i of n loops.
func (g *generator) addLoop(i, n int, shared *engine.Shared) error {
	cfg, err := g.plan.config(i, n, shared, g.watching, g.noteCaughtUp)
	if err != nil {
		return err
	}
	cfg.Deliver = func(s *measure.Second) { g.delivered <- deliveredSecond{i, s} }
	cfg.Recycle = g.takeHistogram
	cfg.OnPhaseChange = func(m engine.PhaseChange) func() { return g.handlePhaseChange(i, m) }
	poller, err := g.plan.newPoller(len(cfg.Endpoints), g.base)
	if err != nil {
		return err
	}
	g.pollers = append(g.pollers, poller)
	g.loops = append(g.loops, engine.New(cfg, poller))
	return nil
}

// record creates the recorder for a loop's operations.
func (g *generator) record() *history.Recorder {
	r := g.plan.reports.NewRecorder(g.base, 0)
	g.recorders = append(g.recorders, r)
	return r
}

// handlePhaseChange handles a phase change on a loop's thread. It returns a function that reads
// counters. The loop calls this function later, because reading counters takes longer than
// everything else that a loop does when its window opens. An immediate call would delay the other
// workers on the machine.
func (g *generator) handlePhaseChange(loop int, m engine.PhaseChange) (readCounters func()) {
	loadMark := PhaseChange{Phase: m.Phase, Ended: m.Ended, At: g.base.Add(time.Duration(m.At))}
	decides := g.phaseChanges.addPhaseChange(loadMark)
	if m.Phase == measure.Measured && !m.Ended {
		by := g.now() - m.At
		for most := g.maxOpenDelay.Load(); by > most && !g.maxOpenDelay.CompareAndSwap(most, by); most = g.maxOpenDelay.Load() {
		}
	}
	if decides {
		g.phaseChanges.reportPhaseChange(loadMark)
	}
	if g.usage == nil || m.Phase != measure.Measured {
		return nil // resources are measured only in the window
	}
	return func() {
		if g.plan.Shard.N > runtime.NumCPU() {
			engine.Yield()
		}
		g.usage.readCounters(loop, m, decides)
	}
}

// noteCaughtUp is called by each loop once its watchers have received all events for earlier
// writes. After the last loop's call the load ends.
func (g *generator) noteCaughtUp() {
	if g.notCaughtUp.Add(-1) == 0 {
		g.stop()
	}
}

// takeHistogram returns a histogram for reuse, or nil if none is available.
func (g *generator) takeHistogram() *measure.Histogram {
	select {
	case h := <-g.spare:
		return h
	default:
		return nil
	}
}

// Connect implements Job.
func (g *generator) Connect(ctx context.Context) error {
	g.stage = connected
	release := context.AfterFunc(ctx, g.stop)
	ready := make(chan error, len(g.loops))
	by := g.now() + int64(g.plan.access.Timeout())
	for i, l := range g.loops {
		g.running.Go(func() {
			g.results[i] = l.Run(by, func(err error) { ready <- err })
			g.delivered <- deliveredSecond{i, nil}
		})
	}
	go func() {
		g.collect()
		close(g.ended)
	}()
	var first error
	for range g.loops {
		if err := <-ready; err != nil && first == nil {
			first = err
		}
	}
	if !release() { // ctx was cancelled, so the loops stop
		first = context.Cause(ctx)
	}
	if first != nil {
		g.abandon()
	}
	return first
}

// abandon ends the loops while they are waiting for their start.
func (g *generator) abandon() {
	g.stage = finished
	g.stop()
	if w := g.plan.world; w != nil {
		w.Begin() // needed for stopping, too: the loops in a World wake up only after Begin
	}
	<-g.ended
	g.running.Wait()
}

// Run implements Job.
func (g *generator) Run(ctx context.Context, begin time.Time) (*Result, error) {
	g.stage = finished
	at := g.now() + int64(startDelay)
	if !begin.IsZero() {
		at = max(at, int64(begin.Sub(g.base)))
	}
	for _, l := range g.loops {
		l.Start(at)
	}
	if w := g.plan.world; w != nil {
		w.Begin()
	}
	interrupted := false
	select {
	case <-g.ended:
	case <-ctx.Done():
		interrupted = true
		g.stop()
		<-g.ended
	}
	g.running.Wait()
	for _, r := range g.recorders {
		r.Flush()
	}
	return g.result(interrupted)
}

// result combines the results of all loops.
func (g *generator) result(interrupted bool) (*Result, error) {
	settles := g.plan.phases()[0].MaxDuration > 0
	for i, r := range g.results {
		e := newEnding(r, g.base, settles)
		if i == 0 {
			e.Interrupted, e.OpenedLate = interrupted, max(g.maxOpenDelay.Load(), 0)
			if g.usage != nil {
				e.Used = []Usage{g.usage.total()}
			}
			e.Leases = g.plan.grants.Names()
			if s := g.plan.script; s != nil {
				e.Calls = s.CallCounts()
				for k := range e.Calls {
					if interrupted {
						e.Calls[k].DropUnstarted()
					}
				}
			}
			if g.watching != nil {
				e.Watching = g.watching.board.Summarize(g.watching.sinks)
			}
		}
		g.merger.Merge(e)
	}
	return g.merger.Result()
}

// Close implements Job.
func (g *generator) Close() {
	switch g.stage {
	case prepared:
		g.stage = finished
		for _, p := range g.pollers {
			p.Release()
		}
	case connected:
		g.abandon()
	case finished:
	}
}

// now returns the time on the loops' clock.
func (g *generator) now() int64 {
	if w := g.plan.world; w != nil {
		return w.Now()
	}
	return int64(time.Since(g.base))
}

// stop stops all loops.
func (g *generator) stop() {
	for _, l := range g.loops {
		l.Stop()
	}
}

// collect receives the seconds of the loops until all loops have ended.
func (g *generator) collect() {
	if g.plan.inAgent {
		LowerPriorityInAgent(&g.plan.Load)
	} else {
		LowerPriority()
	}
	for left := len(g.loops); left > 0; {
		h := <-g.delivered
		if h.second == nil {
			g.merger.End(h.loop)
			left--
			continue
		}
		g.merger.Add(h.loop, h.second)
	}
}

// Progress implements Job.
func (g *generator) Progress() Progress {
	p := Progress{Phase: "connecting"}
	for _, l := range g.loops {
		p.Done += l.Live.Done.Load()
		p.Failed += l.Live.Failed.Load()
		p.Events += l.Live.Events.Load()
		p.InFlight += l.Live.InFlight.Load()
		if phase := l.Live.Phase.Load(); phase >= 0 {
			p.Phase = measure.Phase(phase).String()
		}
	}
	if p.Phase == "connecting" && p.Done+p.Failed > 0 {
		p.Phase = "draining"
	}
	return p
}

// Epoch implements Job.
func (g *generator) Epoch(term uint64) {
	for _, l := range g.loops {
		l.Epoch(term)
	}
}

// Retarget implements Job.
func (g *generator) Retarget(endpoints []string) {
	for i, l := range g.loops {
		first, stride := g.plan.Shard.loop(i, len(g.loops))
		l.Retarget(loopEndpoints(endpoints, g.plan.Load.Connections, first, stride))
	}
}
