package replay

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// source creates the calls. A single event loop sends them.
type source struct {
	engine.ReactiveBase
	*Plan
	translator
	countedUpTo uint64 // 1 + the number of the latest call that had to wait
	lists       responseKeys
	keys        store.RangeOp // used by calls whose responses contain several keys
	watch       store.WatchOp // used by calls that start or end a watcher
}

var _ engine.Reactive = (*source)(nil)

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	c := s.calls[n]
	kind := callKind(c)
	*op = store.Op{Kind: kind.Kind, Consistency: kind.Level, Call: s.translate(n, c)}
	if len(s.versions.learned[int32(n)]) > 0 {
		op.Range = &s.keys
	}
	if watcher, ok := s.watchers.byCall[int32(n)]; ok {
		s.watch.Watcher = watcher
		op.Watch = &s.watch
	}
	if s.places != nil {
		s.places.sent[n] = true
	}
	return n
}

// Kind implements engine.Source.
func (s *source) Kind(_ measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	kind := callKind(s.calls[n])
	return kind.Kind, kind.Level
}

// Shares implements engine.Source.
func (s *source) Shares(measure.Phase) (all []engine.Share) {
	for kind, n := range s.CountByKind() {
		all = append(all, engine.Share{Kind: kind.Kind, Consistency: kind.Level, Fraction: float64(n) / float64(len(s.calls))})
	}
	return all
}

// Check implements engine.Source. It stores the outcome of a call, and the names and versions that
// the response contains.
func (s *source) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	c := s.calls[n]
	s.watchers.waitEnd = 0 // the wait for more events starts after the last response
	if s.states[n] = succeeded; ev.Outcome == kv.Conflict {
		s.states[n] = refused
	}
	if guardsHeld := s.states[n] == succeeded; !c.Guarded || guardsHeld == c.GuardsHeld {
		s.newRevisions[n] = ev.StoreRevision
	}
	if ev.Outcome == kv.OK {
		s.storeVersions(n, c, ev)
	}
	if callKind(c).Kind == kv.Get && ev.Count == 0 && ev.Outcome == kv.OK {
		return kv.Miss
	}
	return ev.Outcome
}

// OperationFailed implements engine.Reactive.
func (s *source) OperationFailed(n uint64) {
	s.watchers.waitEnd = 0
	if s.states[n] = failed; s.places != nil {
		s.places.sent[n] = true // later calls on the connection no longer wait for it
	}
}

// OperationSent implements engine.Reactive.
func (s *source) OperationSent(n uint64, late int64, waited bool) {
	if s.lateness[n] = max(late, 0); waited {
		s.lateness[n] = -1
	}
}

// Ready implements engine.Reactive.
func (s *source) Ready(n uint64) bool {
	for _, call := range s.needs.callsFor(n) {
		if s.states[call] == unfinished {
			if n >= s.countedUpTo { // counted only the first time
				s.countedUpTo = n + 1
				s.waitedCount++
			}
			return false
		}
	}
	return s.places == nil || s.places.isNext(n)
}

// storeNames stores the names that a response contains.
func (s *source) storeNames(c *call.Call, ev *store.Event) {
	if len(s.names.texts) == 0 {
		return
	}
	for i := range c.Parts {
		part := &c.Parts[i]
		switch {
		case part.Action == call.Grant && part.Lease == 0:
			s.names.storeLease(c.Lease, ev.Value)
		case part.Action == call.Grant:
			s.names.storeLease(part.Lease, ev.Value)
		case part.Flags&call.Sequential != 0 && len(part.End) > 0 && len(ev.Key) > 0:
			at := s.names.keys[string(part.End)]
			prefix := s.prefix
			if len(prefix) > 0 && prefix[0] == '/' {
				prefix = prefix[1:]
			}
			name := bytes.TrimPrefix(ev.Key, slash)
			if len(name) > len(prefix) && string(name[:len(prefix)]) == prefix {
				s.names.texts[at] = append(s.names.texts[at][:0], name[len(prefix):]...)
			}
		}
	}
}

// ConnectionIndex implements engine.Reactive. All calls of a session use the same connection, and
// so do all calls for a watcher.
func (s *source) ConnectionIndex(n uint64) int {
	if s.places != nil {
		return int(s.places.byCall[n])
	}
	watcher, ok := s.watchers.byCall[int32(n)]
	if !ok || watcher == unknownWatcher {
		return -1
	}
	return int(s.calls[s.watchers.startCalls[watcher]].Conn) % s.connCount
}

// Source implements app.Script.
func (p *Plan) Source() engine.Source {
	s := &source{Plan: p, translator: translator{plan: p}}
	s.keys.Keys = &s.lists
	return s
}

// storeVersions stores the names and versions that a response contains.
func (s *source) storeVersions(n uint64, c *call.Call, ev *store.Event) {
	s.storeNames(c, ev)
	learned := s.versions.learned[int32(n)]
	if len(learned) == 0 {
		return
	}
	several := s.lists.contains(ev.Tag)
	for i := range learned {
		l := &learned[i]
		version := ev.Revision
		if several {
			version = s.lists.version(ev.Tag, s.prefix, l.key)
		}
		if version > 0 {
			s.versions.replayed[l.slot] = version
		}
	}
	s.lists.drop(ev.Tag)
}

// maxEventGap is the time without events, in nanoseconds, after which the replay stops waiting for
// events.
const maxEventGap = int64(500_000_000)

// HandleWatchEvent implements engine.Reactive.
func (s *source) HandleWatchEvent(ev *store.Event) {
	w := &s.watchers
	if int(ev.Watcher) >= len(w.replayedEvents) {
		return
	}
	if ev.Type == store.WatchChange {
		w.replayedEvents[ev.Watcher]++
		w.received++
	}
}

// ExpectsMore implements engine.Reactive.
func (s *source) ExpectsMore(now int64) bool {
	w := &s.watchers
	if w.received >= w.total {
		return false
	}
	if received := int64(w.received); w.waitEnd == 0 || received != w.lastReceived { // #nosec G115 -- counted one by one
		w.lastReceived, w.waitEnd = received, now+maxEventGap
	}
	return now < w.waitEnd
}
