package load

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// maxSettleTime is the maximum time that a member may need to catch up with the preload.
// minReadPause and maxReadPause are the shortest and longest pauses between two reads from a
// lagging member.
const (
	maxSettleTime = 30 * time.Second
	minReadPause  = 2 * time.Millisecond
	maxReadPause  = 100 * time.Millisecond
)

// settleMark marks the number of each value that the function settle writes. The other bits of such
// a number are a counter.
const settleMark = preloadMark | warmupMark

// settle waits until the load's endpoints have caught up with the preload. This is needed if the
// load has reads that may return old data. For this purpose, it writes one more value after all
// others. A member that serves this value has applied all earlier writes.
func (p *plan) settle(ctx context.Context) error {
	levels := staleLevels(&p.Load)
	if len(levels) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxSettleTime, errUnsettled)
	defer cancel()
	last, err := p.writeLast(ctx)
	if err != nil {
		return err
	}
	asked := slices.Clone(p.Endpoints)
	slices.Sort(asked)
	for _, endpoint := range slices.Compact(asked) {
		for _, level := range levels {
			if err := p.awaitLastWrite(ctx, endpoint, level, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// errUnsettled is the cause of a context that ended because maxSettleTime has passed.
var errUnsettled = fmt.Errorf("the members did not catch up with the preload within %v", maxSettleTime)

// staleLevels returns the consistency levels used by the load's reads that may return old data.
func staleLevels(l *scenario.Load) (levels []kv.Consistency) {
	for _, o := range l.Mix {
		if (o.Consistency == kv.Local || o.Consistency == kv.LeaderLease) && !slices.Contains(levels, o.Consistency) {
			levels = append(levels, o.Consistency)
		}
	}
	return levels
}

// lastWrite describes the value that settle wrote last.
type lastWrite struct {
	key, value []byte
	revision   int64 // 0 or negative if unknown
}

// writeLast writes the first key of the key space once more, with a new value.
func (p *plan) writeLast(ctx context.Context) (lastWrite, error) {
	src, err := newSource(&p.Load)
	if err != nil {
		return lastWrite{}, err
	}
	w := lastWrite{key: src.space.Append(nil, 0)}
	read := store.Op{Kind: kv.Get, Consistency: p.store.Capabilities().Strongest(), Key: w.key}
	previous, err := p.execute(ctx, p.preparationEndpoints()[0], &read)
	if err != nil {
		return w, err
	}
	n := uint64(settleMark)
	if previousNumber, ok := src.values.Number(w.key, previous.Value); ok && previousNumber&settleMark == settleMark {
		n = previousNumber
	}
	for range 1 << 10 { // short values may be equal by chance, and empty values are always equal
		if n++; n&^settleMark >= warmupMark {
			n = settleMark
		}
		if w.value = src.values.Append(w.value[:0], w.key, 0, n); !bytes.Equal(w.value, previous.Value) {
			break
		}
	}
	put := store.Op{Kind: kv.Put, Key: w.key, Value: w.value}
	ev, err := p.execute(ctx, p.preparationEndpoints()[0], &put)
	if err != nil {
		return w, fmt.Errorf("the preload could not write its last value: %w", err)
	}
	w.revision = ev.Revision
	if p.versions != nil {
		if p.versions.Forget(0); ev.Revision > 0 {
			p.versions.Set(0, ev.Revision)
		}
	}
	return w, nil
}

// awaitLastWrite waits until a read at the given endpoint returns the last write.
func (p *plan) awaitLastWrite(ctx context.Context, endpoint string, level kv.Consistency, w lastWrite) error {
	read := store.Op{Kind: kv.Get, Consistency: level, Key: w.key}
	for wait := minReadPause; ; wait = min(2*wait, maxReadPause) {
		ev, err := p.execute(ctx, endpoint, &read)
		switch {
		case err != nil && !ev.Outcome.Failed():
			return err // after an error reply, the loop continues, because the member may recover
		case ev.Outcome == kv.OK && bytes.Equal(ev.Value, w.value) && (w.revision <= 0 || ev.Revision <= 0 || ev.Revision >= w.revision):
			return nil
		}
		next := time.NewTimer(wait)
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			if cause := context.Cause(ctx); cause != errUnsettled {
				return cause
			}
			if err != nil {
				return fmt.Errorf("reads after the preload failed for %v: %w", maxSettleTime, err)
			}
			return fmt.Errorf("a %v read at %s did not return the preload's last write within %v", level, endpoint, maxSettleTime)
		}
	}
}

// execute executes one operation at an endpoint. If the store replies that the operation failed,
// execute returns an error, too.
func (p *plan) execute(ctx context.Context, endpoint string, op *store.Op) (store.Event, error) {
	ev, err := p.dialer().RunOperation(ctx, endpoint, p.store.Codecs(p.access), op)
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != errUnsettled:
		return ev, context.Cause(ctx)
	case err != nil:
		return ev, err
	case ev.Outcome.Failed():
		return ev, fmt.Errorf("a %v at %s failed: %s", op.Kind, endpoint, cmp.Or(string(ev.Text), ev.Outcome.String()))
	}
	return ev, nil
}
