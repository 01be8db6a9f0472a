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

// watching is the state that the watchers of a generator's loops share.
type watching struct {
	plan  *plan
	board *watch.Board
	sinks []*watch.Sink

	scripted *watch.Plan // nil if the load's Watch defines the watchers
}

// newWatching returns the state that a load's watchers share, or nil if there are no watchers.
func newWatching(p *plan, loops int) *watching {
	if p.Load.Watch == nil {
		return nil
	}
	if p.script != nil {
		if w := p.script.Watching(); w != nil {
			return &watching{plan: p, board: w.Sink.Board, scripted: w}
		}
		return nil
	}
	w := &watching{plan: p, board: watch.NewBoard(p.Load.KeySpace, loops, p.Load.Total)}
	if of := p.Load.Watch; p.Shard.count() == 1 && len(of.Key) == 0 && (p.Load.KeySpace == 1 || of.WatchedKeys == 1 || of.Span >= p.Load.KeySpace) {
		w.board.WatchEveryKey(of.Watchers)
	}
	switch p.watchMode() {
	case kv.PersistentWatch:
		w.board.Answers = watch.NewAnswers(p.Load.Total)
	case kv.QueryWatch:
		w.board.ExpectStates()
	}
	return w
}

// watchMode returns the mode that the load's watches use.
func (p *plan) watchMode() kv.WatchMode {
	can := p.store.Capabilities().Watches
	return can.Mode(p.Load.Watch.Mode)
}

// add adds the watchers of loop i of n loops to the loop's configuration. The chronicle h records
// their events. It may be nil.
func (w *watching) add(c *engine.Config, src *source, h *chronicle, i, n int, caught func()) {
	src.board = w.board
	if w.scripted != nil {
		w.addScripted(c, caught)
		return
	}
	p, spec := w.plan, w.plan.Load.Watch
	conns, first := p.Load.Connections, 0
	if spec.Connections > 0 {
		conns, first = spec.Connections, len(c.Endpoints)
		own := endpointsOf(p.Endpoints, spec.Connections, i, n)
		c.Endpoints = append(c.Endpoints, own...)
		c.WatchOnly = len(own)
	}
	part := &engine.Watching{Board: w.board, Start: spec.Start, AtWindow: spec.AtWindow, CaughtUp: caught, Acknowledged: src.acknowledge, Unsure: src.unsure}
	mode := w.plan.watchMode()
	part.Present = !p.store.Capabilities().Watches.Earlier && mode != kv.QueryWatch
	c.Watching = part
	cfg := watch.Config{
		Board: w.board, Space: src.space, Expect: spec.Expect, Key: spec.Key, WarmupMark: warmupMark,
		Values:    keys.NewValues(p.Load.ValueSize, keys.DeriveSeed(p.Load.Seed, "values")),
		Coalesced: mode == kv.OnceWatch, States: mode == kv.QueryWatch, ByRevision: mode == kv.PersistentWatch, Patience: int64(p.Load.Timeout),
	}
	var streams, numbers []uint32
	for g := range spec.Watchers {
		s := g % spec.Streams
		k := s % conns
		if k%n != i {
			continue
		}
		part.Conns = append(part.Conns, first+k/n)
		streams, numbers = append(streams, uint32(s/conns)), append(numbers, uint32(g))
		cfg.Watchers = append(cfg.Watchers, watcherOf(spec, uint64(g), src.space.N()))
	}
	if len(part.Conns) == 0 {
		return
	}
	part.Sink, part.Fill = watch.NewSink(cfg), filler(spec, src.space, cfg.Watchers, streams)
	w.sinks = append(w.sinks, part.Sink)
	if h != nil && len(spec.Key) == 0 { // the history does not contain the writes to spec.Key
		h.watchers, h.numbers, h.newest, part.History = cfg.Watchers, numbers, cfg.Coalesced, h
	}
}

// addScripted adds a script's watchers to the configuration of its loop.
func (w *watching) addScripted(c *engine.Config, caught func()) {
	plan := w.scripted
	watching := &engine.Watching{Board: w.board, CaughtUp: caught, AskEvery: int64(plan.AskEvery), Sink: watch.NewSink(plan.Sink), Acknowledged: plan.Acknowledged, Silent: plan.Silent}
	watching.Present = !w.plan.store.Capabilities().Watches.Earlier && !plan.Sink.States
	conns, first := len(c.Endpoints), 0
	if plan.Connections > 0 {
		conns, first = plan.Connections, len(c.Endpoints)
		c.Endpoints = append(c.Endpoints, endpointsOf(w.plan.Endpoints, plan.Connections, 0, 1)...)
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

// watcherOf returns the range of keys that a watcher watches, in a key space with n keys.
func watcherOf(w *scenario.Watch, watcher, n uint64) watch.Watcher {
	if len(w.Key) > 0 {
		return watch.Watcher{Keys: 1}
	}
	first := watcher % n
	if w.WatchedKeys > 0 {
		first = watcher % w.WatchedKeys
	}
	return watch.Watcher{First: first, Keys: min(max(w.Span, 1), n-first)}
}

// writeVersions implements Worker.WriteVersions. It sends one write at a time, so that each write
// causes one event for every watcher that starts at the first revision.
func (p *plan) writeVersions(ctx context.Context) (first int64, err error) {
	key, n := p.Load.Watch.Key, p.Load.Watch.Expect
	values := keys.NewValues(max(p.Load.ValueSize, keys.HeadLen), keys.DeriveSeed(p.Load.Seed, "values"))
	for i := range n {
		op := store.Op{Kind: kv.Put, Key: key, Value: values.Append(nil, key, 0, preloadMark|uint64(i))}
		ev, err := p.dialer().Ask(ctx, p.preparing()[0], p.store.Codecs(p.access), &op)
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err != nil:
			return 0, err
		case ev.Outcome != kv.OK:
			return 0, fmt.Errorf("%s failed to write the earlier versions of the key that watchers must receive: %s", p.preparing()[0], cmp.Or(string(ev.Text), ev.Outcome.String()))
		case ev.Revision == 0:
			return 0, fmt.Errorf("%s does not return the revisions of writes, so watchers cannot start at an earlier revision", p.store.Name())
		}
		if i == 0 {
			first = ev.Revision
		}
	}
	return first, nil
}

// filler returns a function that sets the remaining fields of an operation that creates a watcher.
func filler(spec *scenario.Watch, space keys.Space, watchers []watch.Watcher, streams []uint32) func(uint32, *store.Op) {
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
