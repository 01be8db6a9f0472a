package load

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/run/load/keys"
	"github.com/quorumbench/quorumbench/internal/store"
)

// chronicle records one loop's operations for who checks the answers: what the
// engine does not know of them follows from their numbers and their answers.
type chronicle struct {
	src      *source
	to       *history.Recorder
	promises store.Promises
	final    bool // it is of reads after the load
}

var _ engine.History = (*chronicle)(nil)

// newChronicle returns what records a loop's operations; nil where nobody wants
// them.
func (p *plan) newChronicle(src *source) *chronicle {
	if p.recorder == nil {
		return nil
	}
	c := &chronicle{src: src, to: p.recorder(), final: p.final}
	if s, ok := p.store.(store.Promising); ok {
		c.promises = s.Promises()
	}
	return c
}

// Ended implements engine.History.
func (c *chronicle) Ended(phase measure.Phase, n, ref uint64, expected int64, ev *store.Event, o *history.Op) {
	if phase == measure.Warmup {
		n |= warmupMark
	}
	o.Key, _ = keyAndLevel(ref)
	o.At, o.Final = ev.At, c.final
	switch o.Kind {
	case kv.KeepAlive:
		return // of no key
	case kv.Put:
		o.Written = keys.Identity(n)
		c.count(ev, o)
	case kv.CAS:
		o.Written, o.Expected = keys.Identity(n), expected
		switch {
		case o.Outcome == kv.Conflict && c.promises.Unsure:
			o.Outcome, o.At = kv.StoreError, 0
		case o.Outcome == kv.Conflict:
			c.conflict(ev, o)
		case expected == history.AnyMod: // the store's codec asked for it itself
			c.count(ev, o)
		}
	case kv.Txn:
		c.txn(n, o)
		return
	case kv.Get:
		c.get(ev, o)
	case kv.Delete:
		if o.Outcome == kv.Miss && c.promises.Unsure {
			o.Outcome, o.At = kv.StoreError, 0
		}
	case kv.Exists:
		if o.Outcome == kv.OK {
			o.Read, o.Mod = history.Unseen, ev.Mod
		}
	}
	c.to.Add(o)
}

// get is what a read of one key says of it.
func (c *chronicle) get(ev *store.Event, o *history.Op) {
	switch o.Outcome {
	case kv.OK:
		o.Read, o.Mod = keys.Read(ev.Value), modOf(ev)
	case kv.Stale, kv.Unverifiable: // a value of another run
		o.Read, o.Mod = history.Unseen, modOf(ev)
	}
}

// modOf is the revision that made the version that was read.
func modOf(ev *store.Event) int64 {
	if ev.Mod > 0 {
		return ev.Mod
	}
	return max(ev.Revision, 0)
}

// count notes what a put's version says of the one before it, where versions are
// counted and compared.
func (c *chronicle) count(ev *store.Event, o *history.Op) {
	switch {
	case !c.promises.Counted:
	case o.Acknowledged() && ev.Revision > 0 && c.src.versions != nil:
		o.Expected = ev.Revision - 1
	default:
		o.Expected = history.AnyMod
	}
}

// conflict is what stood against a compare-and-set.
func (c *chronicle) conflict(ev *store.Event, o *history.Op) {
	o.Read = history.Unseen
	if !c.promises.Conflicts {
		return
	}
	if o.Mod = max(ev.Revision, 0); ev.Revision == 0 {
		o.Read = history.Absent
	}
}

// txn has a part for each key that it writes.
func (c *chronicle) txn(n uint64, o *history.Op) {
	first, space := o.Key, c.src.space.N()
	if c.promises.Counted {
		o.Expected = history.AnyMod
	}
	for i := range c.src.pairs {
		o.Key, o.Written, o.Joined = (first+uint64(i))%space, keys.Identity(n), i > 0
		c.to.Add(o)
	}
}
