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

// How long a member may be behind the preload, and the waits between two
// questions to one that is.
const (
	settleWithin = 30 * time.Second
	firstAskAt   = 2 * time.Millisecond
	lastAskAt    = 100 * time.Millisecond
)

// settleMark is in the numbers of the values that settle writes, beside a count.
const settleMark = preloadMark | warmupMark

// settle waits until every endpoint that the load reads from, at a level that may
// be behind, serves the preload's last write. It writes one more value for that,
// after all others: a member that serves it has applied them too.
func (p *plan) settle(ctx context.Context) error {
	levels := behind(&p.Load)
	if len(levels) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, settleWithin, errUnsettled)
	defer cancel()
	last, err := p.writeLast(ctx)
	if err != nil {
		return err
	}
	asked := slices.Clone(p.Endpoints)
	slices.Sort(asked)
	for _, endpoint := range slices.Compact(asked) {
		for _, level := range levels {
			if err := p.serves(ctx, endpoint, level, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// errUnsettled is the cause of a context that settle's bound ended.
var errUnsettled = fmt.Errorf("the members are not at one with the preload within %v", settleWithin)

// behind is the levels of the load's reads that may return what is old.
func behind(l *scenario.Load) (levels []kv.Consistency) {
	for _, o := range l.Mix {
		if (o.Consistency == kv.Local || o.Consistency == kv.Lease) && !slices.Contains(levels, o.Consistency) {
			levels = append(levels, o.Consistency)
		}
	}
	return levels
}

// lastWrite is what settle wrote.
type lastWrite struct {
	key, value []byte
	revision   int64 // not above 0 if it is not known
}

// writeLast writes the key space's first key once more, with a value that it
// does not have.
func (p *plan) writeLast(ctx context.Context) (lastWrite, error) {
	src, err := newSource(&p.Load)
	if err != nil {
		return lastWrite{}, err
	}
	w := lastWrite{key: src.space.Append(nil, 0)}
	read := store.Op{Kind: kv.Get, Consistency: p.store.Capabilities().Strongest(), Key: w.key}
	had, err := p.ask(ctx, p.preparing()[0], &read)
	if err != nil {
		return w, err
	}
	n := uint64(settleMark)
	if was, ok := src.values.Number(w.key, had.Value); ok && was&settleMark == settleMark {
		n = was
	}
	for range 1 << 10 { // short values may be alike; those of no byte are
		if n++; n&^settleMark >= warmupMark {
			n = settleMark
		}
		if w.value = src.values.Append(w.value[:0], w.key, 0, n); !bytes.Equal(w.value, had.Value) {
			break
		}
	}
	put := store.Op{Kind: kv.Put, Key: w.key, Value: w.value}
	ev, err := p.ask(ctx, p.preparing()[0], &put)
	if err != nil {
		return w, fmt.Errorf("the preload could not write its last key: %w", err)
	}
	w.revision = ev.Revision
	if p.versions != nil {
		if p.versions.Forget(0); ev.Revision > 0 {
			p.versions.Set(0, ev.Revision)
		}
	}
	return w, nil
}

// serves waits until a read of one endpoint returns the last write.
func (p *plan) serves(ctx context.Context, endpoint string, level kv.Consistency, w lastWrite) error {
	read := store.Op{Kind: kv.Get, Consistency: level, Key: w.key}
	for wait := firstAskAt; ; wait = min(2*wait, lastAskAt) {
		ev, err := p.ask(ctx, endpoint, &read)
		switch {
		case err != nil && !ev.Outcome.Failed():
			return err // a member that answers with an error may yet do better
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
				return fmt.Errorf("after the preload, for %v: %w", settleWithin, err)
			}
			return fmt.Errorf("%s does not serve the preload's last write to a %v read within %v", endpoint, level, settleWithin)
		}
	}
}

// ask does one operation at an endpoint. A failed one is an error, in one
// sentence.
func (p *plan) ask(ctx context.Context, endpoint string, op *store.Op) (store.Event, error) {
	ev, err := p.dialer().Ask(ctx, endpoint, p.store.Codecs(p.access), op)
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != errUnsettled:
		return ev, context.Cause(ctx)
	case err != nil:
		return ev, err
	case ev.Outcome.Failed():
		return ev, fmt.Errorf("%s does not answer a %v: %s", endpoint, op.Kind, cmp.Or(string(ev.Text), ev.Outcome.String()))
	}
	return ev, nil
}
