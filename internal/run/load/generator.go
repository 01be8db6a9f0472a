package load

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Generator is a load that can be run once.
type Generator struct {
	plan  Plan
	base  time.Time
	loops []*engine.Loop
	seen  chan handed
	spare chan *measure.Histogram
	col   *measure.Collector

	watching *watching // nil without watchers
	behind   atomic.Int32
}

type handed struct {
	loop   int
	second *measure.Second // nil: the loop has ended
}

// Result is what a finished load tells.
type Result struct {
	Measured, Warmup *measure.Totals
	Loops            int // event loops
	// MemberOf says which member answered at an endpoint, by its number.
	MemberOf map[string]uint64
	// WarmupSeconds is how long a closed loop's warm-up took, and Steady whether
	// its throughput was steady at the end; nil without one.
	WarmupSeconds *float64
	Steady        *bool
	// Opened is when the window opened.
	Opened time.Time
	// Interrupted says that the window was closed before its time.
	Interrupted bool
}

// Progress is a running load as seen from outside.
type Progress struct {
	Done, Failed uint64 // operations ended, warm-up included
	Events       uint64 // that watchers got
	InFlight     int64
	Phase        string // connecting or draining, warmup, measured
}

// ErrNeverOpened says that a load was interrupted before its window opened.
var ErrNeverOpened = errors.New("interrupted before the measurement began")

// startIn is how long after the last connection the first phase begins, so
// that all loops begin at the same time.
const startIn = 2 * time.Millisecond

// New makes a generator; nothing is connected yet.
func New(plan Plan) (*Generator, error) {
	n := plan.threads()
	g := &Generator{
		plan: plan, base: time.Now(),
		seen:  make(chan handed, 64),
		spare: make(chan *measure.Histogram, 256),
		col:   measure.NewCollector(n),
	}
	g.col.Each = plan.Each
	g.col.Recycle = func(h *measure.Histogram) {
		select {
		case g.spare <- h:
		default:
		}
	}
	if err := plan.checkMix(); err != nil {
		return nil, err
	}
	var err error
	if g.watching, err = newWatching(&g.plan, n); err != nil {
		return nil, err
	}
	shared := engine.NewShared(n, plan.Load.Total, plan.Load.MaxInFlight)
	for i := range n {
		cfg, err := plan.config(i, n, shared, g.watching, g.caught)
		if err != nil {
			return nil, err
		}
		cfg.Hand = func(s *measure.Second) { g.seen <- handed{i, s} }
		cfg.Recycle = g.recycled
		if plan.Mark != nil {
			cfg.Mark = func(m engine.Mark) {
				plan.Mark(Mark{Loop: i, Loops: n, Thread: m.Thread, Phase: m.Phase, Ended: m.Ended, At: g.base.Add(time.Duration(m.At))})
			}
		}
		poller, err := plan.newPoller(len(cfg.Endpoints), g.base)
		if err != nil {
			return nil, err
		}
		g.loops = append(g.loops, engine.New(cfg, poller))
	}
	if g.watching != nil {
		g.behind.Store(int32(len(g.watching.sinks)))
	}
	// A loop keeps its processor in Go's scheduler, and others must run too.
	if runtime.GOMAXPROCS(0) <= n {
		runtime.GOMAXPROCS(n + 1)
	}
	return g, nil
}

// caught is told by each loop with watchers that they have what they were to
// get of earlier writes. With the last of them the load is over.
func (g *Generator) caught() {
	if g.behind.Add(-1) == 0 {
		g.stop()
	}
}

func (g *Generator) recycled() *measure.Histogram {
	select {
	case h := <-g.spare:
		return h
	default:
		return nil
	}
}

// Run connects, runs the load and returns its totals. When ctx ends, the
// window closes then, and what it had is returned.
func (g *Generator) Run(ctx context.Context) (*Result, error) {
	results := make([]*engine.Result, len(g.loops))
	connected := make(chan error, len(g.loops))
	by := g.now() + int64(dialTimeout(g.plan.Access))
	var running sync.WaitGroup
	for i, l := range g.loops {
		running.Go(func() {
			results[i] = l.Run(by, func(err error) { connected <- err })
			g.seen <- handed{i, nil}
		})
	}
	ended := make(chan struct{})
	go func() {
		g.collect()
		close(ended)
	}()
	err := g.start(connected)
	if err != nil {
		g.stop()
		if w := g.plan.World; w != nil {
			w.Begin() // for the end: nobody is woken before
		}
	}
	interrupted := false
	select {
	case <-ended:
	case <-ctx.Done():
		interrupted = true
		g.stop()
		<-ended
	}
	running.Wait()
	if err != nil {
		return nil, err
	}
	info := g.finish(results)
	info.Interrupted = interrupted
	if info.Measured == nil {
		return nil, ErrNeverOpened
	}
	return info, nil
}

// start waits for the loops' connections and lets them all begin at once.
func (g *Generator) start(connected chan error) error {
	var first error
	for range g.loops {
		if err := <-connected; err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		return first
	}
	at := g.now() + int64(startIn)
	for _, l := range g.loops {
		l.Start(at)
	}
	if w := g.plan.World; w != nil {
		w.Begin()
	}
	return nil
}

// now is the loops' clock.
func (g *Generator) now() int64 {
	if w := g.plan.World; w != nil {
		return w.Now()
	}
	return int64(time.Since(g.base))
}

func (g *Generator) stop() {
	for _, l := range g.loops {
		l.Stop()
	}
}

// collect takes what the loops hand over until all have ended.
func (g *Generator) collect() {
	engine.Background()
	for left := len(g.loops); left > 0; {
		h := <-g.seen
		if h.second == nil {
			g.col.End(h.loop)
			left--
			continue
		}
		g.col.Add(h.loop, h.second)
	}
}

// finish puts the loops' results together.
func (g *Generator) finish(results []*engine.Result) *Result {
	info := &Result{MemberOf: map[string]uint64{}, Loops: len(g.loops)}
	var opened, closed int64
	for _, r := range results {
		if r == nil || r.Opened == 0 {
			return info
		}
		opened, closed = r.Opened, max(closed, r.Closed)
	}
	if warmup := g.plan.phases()[0]; warmup.Most > 0 {
		seconds := float64(opened-results[0].Began) / 1e9
		steady := results[0].Steady // a copy: a pointer into the result would keep a whole loop
		info.WarmupSeconds, info.Steady = &seconds, &steady
	}
	info.Opened = g.base.Add(time.Duration(opened))
	info.Measured, info.Warmup = g.col.Close(float64(closed-opened) / 1e9)
	t := info.Measured
	t.ErrorTexts = map[kv.Outcome]string{}
	area, resting := 0.0, 0.0
	for _, r := range results {
		t.CarriedIn += r.CarriedIn
		t.CarriedInAge = max(t.CarriedInAge, r.CarriedInAge)
		t.MaxInFlight += r.MaxInFlight
		t.Capped += r.Capped
		t.NoRoom += r.NoRoom
		t.Reconnects += r.Reconnects
		t.Held += r.Held
		t.HeldLongest = max(t.HeldLongest, r.HeldLongest)
		t.Paused += r.Paused
		t.LongestPause = max(t.LongestPause, r.LongestPause)
		area += r.InFlightArea
		resting += r.RestingArea
		for o, text := range r.ErrorTexts {
			if t.ErrorTexts[o] == "" {
				t.ErrorTexts[o] = text
			}
		}
		for endpoint, member := range r.MemberOf {
			info.MemberOf[endpoint] = member
		}
	}
	t.Links = linksOf(results, opened, g.plan.Endpoints)
	if g.watching != nil {
		t.Watching = g.watching.board.Summarize(g.watching.sinks)
	}
	if g.plan.Load.Arrival != scenario.Closed {
		// The loops had their most at different times.
		t.MaxInFlight = min(t.MaxInFlight, g.plan.Load.MaxInFlight)
	}
	if t.Seconds > 0 {
		t.MeanInFlight = area / float64(closed-opened)
		t.MeanResting = resting / float64(closed-opened)
	}
	return info
}

// Progress tells how far the load is; it may be called at any time.
func (g *Generator) Progress() Progress {
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

// Epoch says that another leader began, for stores whose answers carry no term:
// operations that are sent from now on belong to the given term, which rises.
func (g *Generator) Epoch(term uint64) {
	for _, l := range g.loops {
		l.Epoch(term)
	}
}

// Retarget moves the load to other endpoints, as an election asks for: at once,
// and what is in flight ends where it is.
func (g *Generator) Retarget(endpoints []string) {
	for i, l := range g.loops {
		l.Retarget(part(endpoints, g.plan.Load.Connections, i, len(g.loops)))
	}
}
