package load

import (
	"cmp"
	"context"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// loadWatchers is the state that the watchers of a generator's loops share.
type loadWatchers struct {
	plan  *plan
	board *watch.Board
	sinks []*watch.Sink

	scripted *watch.Plan // nil if the load's Watch defines the watchers
}

// newLoadWatchers returns the state that a load's watchers share, or nil if there are no watchers.
func newLoadWatchers(p *plan, loops int) *loadWatchers {
	if p.Load.Watch == nil {
		return nil
	}
	if p.script != nil {
		if w := p.script.WatchPlan(); w != nil {
			return &loadWatchers{plan: p, board: w.Sink.Board, scripted: w}
		}
		return nil
	}
	w := &loadWatchers{plan: p, board: watch.NewBoard(p.Load.KeySpace, loops, p.Load.Total)}
	if spec := p.Load.Watch; p.Shard.count() == 1 && len(spec.Key) == 0 && (p.Load.KeySpace == 1 || spec.WatchedKeys == 1 || spec.Watchers == 1) {
		w.board.WatchEveryKey(spec.Watchers)
	}
	switch p.watchMode() {
	case kv.PersistentWatch:
		w.board.RevisionWriters = watch.NewRevisionWriters(p.Load.Total)
	case kv.QueryWatch:
		w.board.ExpectStates()
	}
	return w
}

// watchMode returns the mode that the load's watches use.
func (p *plan) watchMode() kv.WatchMode {
	can := p.store.Capabilities().Watches
	return can.ResolveMode(p.Load.Watch.Mode)
}

// add adds the watchers of loop i of n loops to the loop's configuration. The chronicle `h`, which
// may be nil, records the watchers' events.
func (w *loadWatchers) add(c *engine.Config, src *source, h *chronicle, i, n int, caughtUp func()) {
	src.board = w.board
	if w.scripted != nil {
		w.addScripted(c, caughtUp)
		return
	}
	p, spec := w.plan, w.plan.Load.Watch
	conns, first := p.Load.Connections, 0
	if spec.Connections > 0 {
		conns, first = spec.Connections, len(c.Endpoints)
		own := loopEndpoints(p.Endpoints, spec.Connections, i, n)
		c.Endpoints = append(c.Endpoints, own...)
		c.WatchOnly = len(own)
	}
	setup := &engine.WatchSetup{Board: w.board, Start: spec.StartRevision, CreateInWindow: spec.CreatedInWindow, OnCaughtUp: caughtUp, OnAcknowledged: src.acknowledge, OnUncertain: src.noteUncertain}
	mode := w.plan.watchMode()
	setup.LiveOnly = !p.store.Capabilities().Watches.PastRevisions && mode != kv.QueryWatch
	c.Watching = setup
	cfg := watch.Config{
		Board: w.board, Space: src.space, Expect: spec.EarlierEvents, Key: spec.Key, WarmupMark: warmupMark,
		Values:    keys.NewValues(p.Load.ValueSize, keys.DeriveSeed(p.Load.Seed, "values")),
		Coalesced: mode == kv.OnceWatch, States: mode == kv.QueryWatch, ByRevision: mode == kv.PersistentWatch, MaxWait: int64(p.Load.Timeout),
	}
	var streams, numbers []uint32
	for g := range spec.Watchers {
		s := g % spec.Streams
		k := s % conns
		if k%n != i {
			continue
		}
		setup.Conns = append(setup.Conns, first+k/n)
		streams, numbers = append(streams, uint32(s/conns)), append(numbers, uint32(g))
		cfg.Watchers = append(cfg.Watchers, newWatcher(spec, uint64(g), src.space.N()))
	}
	if len(setup.Conns) == 0 {
		return
	}
	setup.Sink, setup.Fill = watch.NewSink(cfg), newWatchFill(spec, src.space, cfg.Watchers, streams)
	w.sinks = append(w.sinks, setup.Sink)
	if h != nil && len(spec.Key) == 0 { // the history does not contain the writes to spec.Key
		h.watchers, h.numbers, h.latestOnly, setup.History = cfg.Watchers, numbers, cfg.Coalesced, h
	}
}

// addScripted adds a script's watchers to the configuration of its loop.
func (w *loadWatchers) addScripted(c *engine.Config, caughtUp func()) {
	plan := w.scripted
	watching := &engine.WatchSetup{Board: w.board, OnCaughtUp: caughtUp, ProgressInterval: int64(plan.ProgressInterval), Sink: watch.NewSink(plan.Sink), OnAcknowledged: plan.OnAcknowledged, SkipsProgress: plan.SkipsProgress}
	watching.LiveOnly = !w.plan.store.Capabilities().Watches.PastRevisions && !plan.Sink.States
	conns, first := len(c.Endpoints), 0
	if plan.Connections > 0 {
		conns, first = plan.Connections, len(c.Endpoints)
		c.Endpoints = append(c.Endpoints, loopEndpoints(w.plan.Endpoints, plan.Connections, 0, 1)...)
		c.WatchOnly = plan.Connections
	}
	n := len(plan.Sink.Watchers)
	streams := make([]uint32, n)
	for i := range n {
		s := i % plan.Streams
		watching.Conns = append(watching.Conns, first+s%conns)
		streams[i] = uint32(s / conns) // number of the watcher's stream on its connection
	}
	watching.Fill = func(n uint32, op *store.Op) {
		plan.Fill(n, op)
		op.Watch.Stream = streams[n]
	}
	watching.History = c.History
	c.Watching, w.sinks = watching, append(w.sinks, watching.Sink)
}

// newWatcher returns the range of keys that a watcher watches, in a key space with n keys.
func newWatcher(w *scenario.Watch, watcher, n uint64) watch.Watcher {
	if len(w.Key) > 0 {
		return watch.Watcher{Keys: 1}
	}
	first := watcher % n
	if w.WatchedKeys > 0 {
		first = watcher % w.WatchedKeys
	}
	return watch.Watcher{First: first, Keys: min(max(w.KeysPerWatcher, 1), n-first)}
}

// writeVersions implements Worker.WriteVersions. It sends one write at a time, so that each write
// causes one event for every watcher that starts at the first revision.
func (p *plan) writeVersions(ctx context.Context) (first int64, err error) {
	key, n := p.Load.Watch.Key, p.Load.Watch.EarlierEvents
	values := keys.NewValues(max(p.Load.ValueSize, keys.HeadLen), keys.DeriveSeed(p.Load.Seed, "values"))
	for i := range n {
		op := store.Op{Kind: kv.Put, Key: key, Value: values.Append(nil, key, 0, preloadMark|uint64(i))}
		ev, err := p.dialer().RunOperation(ctx, p.preparationEndpoints()[0], p.store.Codecs(p.access), &op)
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err != nil:
			return 0, err
		case ev.Outcome != kv.OK:
			return 0, fmt.Errorf("%s failed to write the earlier versions of the watched key: %s", p.preparationEndpoints()[0], cmp.Or(string(ev.Text), ev.Outcome.String()))
		case ev.Revision == 0:
			return 0, fmt.Errorf("%s does not return the revisions of writes, so watchers cannot start at an earlier revision", p.store.Name())
		}
		if i == 0 {
			first = ev.Revision
		}
	}
	return first, nil
}

// newWatchFill returns a function that sets the remaining fields of an operation that creates a
// watcher.
func newWatchFill(spec *scenario.Watch, space keys.Space, watchers []watch.Watcher, streams []uint32) func(uint32, *store.Op) {
	var key, end []byte
	return func(i uint32, op *store.Op) {
		op.Watch.Stream, op.Watch.PrevKV, op.Watch.Mode = streams[i], spec.PrevKV, spec.Mode
		if op.Key = spec.Key; len(spec.Key) > 0 {
			return
		}
		w := &watchers[i]
		key = space.Append(key[:0], w.First)
		op.Key = key
		if w.Keys > 1 {
			end = append(space.Append(end[:0], w.First+w.Keys-1), 0)
			op.Watch.End = end
		}
	}
}
