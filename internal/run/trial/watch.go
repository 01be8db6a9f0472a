package trial

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/store"
)

// How often the trial's progress is told, and how soon a cluster is asked
// again after a change that it does not tell yet.
const (
	tellEvery = 250 * time.Millisecond
	askEvery  = 100 * time.Millisecond
)

// watcher stands beside a running load: it records its seconds, follows
// elections, samples the machine and tells the progress.
type watcher struct {
	t     *Trial
	m     *members
	out   *record.TrialWriter
	usage *usage
	began time.Time          // when it was made
	err   error              // of recording; read after the load has ended
	stop  context.CancelFunc // ends the load

	mu      sync.Mutex
	begun   [2]bool
	lastP99 float64            // of the last whole second
	whole   *measure.Histogram // a second's response times, used again
	lastAt  time.Time          // when that came

	uncompacted    int // compactions that failed; compact's, read after the load
	uncompactedWhy string

	generator *load.Generator
	seen      store.Status  // the members when they were compared last; follow's, and then measure's
	changes   chan struct{} // an election or a loss may have happened
	quit      context.CancelFunc
	running   sync.WaitGroup
}

func newWatcher(t *Trial, m *members, out *record.TrialWriter) *watcher {
	return &watcher{t: t, m: m, out: out, seen: m.status(), usage: newUsage(), began: time.Now(), changes: make(chan struct{}, 1), whole: measure.NewHistogram()}
}

// changed is called from the load's loops.
func (w *watcher) changed(uint64, bool) {
	select {
	case w.changes <- struct{}{}:
	default: // it is known already that something changed
	}
}

// second records one merged second; it is called from one goroutine.
func (w *watcher) second(s *measure.Second) {
	w.mu.Lock()
	begun := w.begun[s.Phase]
	w.begun[s.Phase] = true
	w.mu.Unlock()
	if !begun {
		w.keep(w.out.Begin(s.Phase, w.usage.began(s.Phase)))
	}
	if at, ok := w.usage.ended(); ok {
		w.out.End(measure.Measured, at)
	}
	w.keep(w.out.Second(s))
	if w.t.Seconds != nil {
		w.t.Seconds(s)
	}

	p99 := measure.Percentile(s.Response(w.whole), s.Failed(), 99)
	w.mu.Lock()
	w.lastP99, w.lastAt = 0, time.Now()
	if p99.Known {
		w.lastP99 = p99.NS
	}
	w.mu.Unlock()
}

// keep keeps the first error and stops the load: what cannot be recorded need
// not be measured.
func (w *watcher) keep(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.stop()
	}
}

// begin starts to watch a generator that is about to run.
func (w *watcher) begin(g *load.Generator) {
	w.generator = g
	ctx, quit := context.WithCancel(context.Background())
	w.quit = quit
	w.running.Go(func() { w.follow(ctx) })
	w.running.Go(func() { w.sample(ctx) })
	w.running.Go(func() { w.listen(ctx) })
	w.running.Go(func() { w.compact(ctx) })
	w.running.Go(func() { w.progress(ctx) })
}

func (w *watcher) end() {
	w.quit()
	w.running.Wait()
}

// follow asks the cluster who leads whenever something changed, until that is
// known, and moves the load when its target has moved.
func (w *watcher) follow(ctx context.Context) {
	before := w.seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changes:
		}
		for {
			asked, cancel := context.WithTimeout(ctx, statusTimeout)
			_ = w.m.ask(asked) // who does not answer is in the status
			cancel()
			now := w.m.status()
			w.compare(&now)
			if leader := now.Leader(); leader != nil && leader.Term == now.Term {
				w.moved(before.Term, now.Term, leader.Name)
				before = now
				break
			}
			if before.Leader() == nil {
				break // those that are asked do not tell who leads
			}
			if !pause(ctx, askEvery) {
				return
			}
		}
		if !pause(ctx, askEvery) { // one question for a burst of changes
			return
		}
	}
}

// compare records which members were lost or came back since they were seen
// last.
func (w *watcher) compare(now *store.Status) {
	answered := map[string]bool{}
	for i := range w.seen.Members {
		answered[w.seen.Members[i].Endpoint] = w.seen.Members[i].Err == nil
	}
	for i := range now.Members {
		e := &now.Members[i]
		before, known := answered[e.Endpoint]
		switch {
		case known && before && e.Err != nil:
			_ = w.out.Event(record.Event{Time: time.Now(), Kind: "member_lost", Member: e.Name, Text: fmt.Sprintf("%s was lost: %v", e.Name, e.Err)})
		case known && !before && e.Err == nil:
			_ = w.out.Event(record.Event{Time: time.Now(), Kind: "member_back", Member: e.Name, Text: e.Name + " answers again"})
		}
	}
	w.seen = *now
}

// moved records an election and follows it.
func (w *watcher) moved(from, to uint64, leader string) {
	if to > from && from > 0 {
		_ = w.out.Event(record.Event{Time: time.Now(), Kind: "election", Member: leader,
			Text: fmt.Sprintf("%s leads at term %d, after term %d", leader, to, from)})
	}
	target := w.t.Spec.Load.Target
	if target.Mode != kv.LeaderOnly && target.Mode != kv.Followers {
		return
	}
	if endpoints, err := w.m.targets(target); err == nil {
		w.generator.Retarget(endpoints)
	}
}

// sample records a row a second for each process and the machine.
func (w *watcher) sample(ctx context.Context) {
	load.Background()
	s := newSampler(w.t.Cluster.Processes)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		header, rows := s.rows(time.Now())
		if len(rows) > 0 {
			_ = w.out.Machines(header, rows) // an error stays in the writer
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// p99Lives is how long a second's p99 is told: a second comes when nothing due
// in it is open, so none comes while the store stalls.
const p99Lives = 2 * time.Second

// progress tells how the load goes: how many operations were done in the last
// second is counted here, and so falls to 0 in a stall.
func (w *watcher) progress(ctx context.Context) {
	ticker := time.NewTicker(tellEvery)
	defer ticker.Stop()
	var recent meter
	var window opening
	failed, asked := uint64(0), time.Now()
	for {
		p, now := w.generator.Progress(), time.Now()
		// A member that stands still keeps its connections: only timeouts tell.
		if p.Failed > failed && now.Sub(asked) >= time.Second {
			failed, asked = p.Failed, now
			w.changed(0, false)
		}
		told := Progress{Stage: p.Phase, PerSecond: recent.rate(now, p.Done), Errors: p.Failed, InFlight: p.InFlight}
		told.Ended = window.ended(p)
		w.mu.Lock()
		if now.Sub(w.lastAt) < p99Lives {
			told.P99 = w.lastP99
		}
		w.mu.Unlock()
		w.t.tell(told)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// opening counts the operations that ended since the window was seen open: for
// telling how far a total is, not for figures.
type opening struct {
	open bool
	from uint64
}

func (o *opening) ended(p load.Progress) uint64 {
	all := p.Done + p.Failed
	if !o.open && p.Phase == measure.Measured.String() {
		o.open, o.from = true, all
	}
	if !o.open {
		return 0
	}
	return all - o.from
}

// meter tells how fast a count rose in the last second.
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
