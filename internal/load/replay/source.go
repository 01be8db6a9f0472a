package replay

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// source has the calls, for the one loop that sends them.
type source struct {
	engine.ReactiveBase
	*Plan
	translator
	asked uint64 // the call that was asked for last whether it is ready, and one more
	heard heard
	keys  store.RangeOp // what asks for keys
	watch store.WatchOp // whose beginning or end is asked for
}

var _ engine.Reactive = (*source)(nil)

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	c := s.calls[n]
	kind := kindOf(c)
	*op = store.Op{Kind: kind.Kind, Consistency: kind.Level, Call: s.translate(n, c)}
	if len(s.told.lessons[int32(n)]) > 0 {
		op.Range = &s.keys
	}
	if watcher, ok := s.watchers.of[int32(n)]; ok {
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
	kind := kindOf(s.calls[n])
	return kind.Kind, kind.Level
}

// Shares implements engine.Source.
func (s *source) Shares(measure.Phase) (all []engine.Share) {
	for kind, n := range s.Kinds() {
		all = append(all, engine.Share{Kind: kind.Kind, Consistency: kind.Level, Of: float64(n) / float64(len(s.calls))})
	}
	return all
}

// Check learns what a call came to.
func (s *source) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	c := s.calls[n]
	s.watchers.till = 0 // the wait for more events begins when nothing is open
	if s.states[n] = held; ev.Outcome == kv.Conflict {
		s.states[n] = refused
	}
	if did := s.states[n] == held; !c.Guarded || did == c.Held {
		s.revised[n] = ev.At
	}
	if ev.Outcome == kv.OK {
		s.learn(n, c, ev)
	}
	if kindOf(c).Kind == kv.Get && ev.Count == 0 && ev.Outcome == kv.OK {
		return kv.Miss
	}
	return ev.Outcome
}

// Failed implements engine.Reactive.
func (s *source) Failed(n uint64) {
	s.watchers.till = 0
	if s.states[n] = failed; s.places != nil {
		s.places.sent[n] = true // nothing waits for it any more
	}
}

// Sent implements engine.Reactive.
func (s *source) Sent(n uint64, late int64, waited bool) {
	if s.lates[n] = max(late, 0); waited {
		s.lates[n] = -1
	}
}

// Ready implements engine.Reactive.
func (s *source) Ready(n uint64) bool {
	for _, call := range s.needs.of(n) {
		if s.states[call] == open {
			if n >= s.asked { // the first time
				s.asked = n + 1
				s.waited++
			}
			return false
		}
	}
	return s.places == nil || s.places.next(n)
}

// translator makes of a recorded call the one that is to be sent now, in memory of its
// own that the next one gets again.
type translator struct {
	plan  *Plan
	call  call.Call
	bytes []byte
}

func (t *translator) translate(n uint64, c *call.Call) *call.Call {
	parts := append(t.call.Parts[:0], c.Parts...)
	t.call, t.bytes = *c, t.bytes[:0]
	t.call.Parts = parts
	for i := range parts {
		if part := &parts[i]; part.Action == call.Grant && part.Lease == 0 {
			part.Lease = c.Lease // the store chose it
		}
		t.part(guardAt{int32(n), int32(i)}, &parts[i])
	}
	return &t.call
}

func (t *translator) part(at guardAt, part *call.Part) {
	part.Name = t.plan.names.ofLease(part.Lease)
	part.Lease = t.lease(part.Lease)
	switch part.Action {
	case call.Grant, call.Revoke, call.KeepAlive, call.Unwatch:
		return
	case call.Compaction:
		part.Number = t.plan.compactedAt(part.Number)
		return
	case call.Watch:
		part.Number = t.plan.watchedFrom(part.Number)
	case call.Compare:
		switch part.Target {
		case call.Modified, call.Created, call.Version:
			part.Number = t.plan.guarded(at, part)
		case call.ValueIs:
			part.Value.Text = t.value(&part.Value)
		}
	case call.Read:
		if part.Number > 0 {
			part.Number = t.plan.revisionAt(part.Number)
		}
	case call.Write:
		part.Value.Text = t.value(&part.Value)
	}
	t.keys(part)
}

// keys puts the prefix before a part's keys.
func (t *translator) keys(part *call.Part) {
	if name := t.plan.names.ofKey(part.Key); len(name) > 0 {
		part.Key = name
	}
	if part.Flags&call.Sequential != 0 {
		part.End = nil // the store chooses it
	}
	prefix := t.plan.prefix
	if prefix == "" {
		return
	}
	part.Key = t.prefixed(part.Key)
	switch part.Scope {
	case call.Rest, call.Interval:
		part.End = t.prefixed(part.End)
	case call.From: // to the end of what is ours
		part.Scope = call.Rest
		part.End = t.prefixed(nil)
	}
}

func (t *translator) prefixed(key []byte) []byte {
	at := len(t.bytes)
	t.bytes = append(append(t.bytes, t.plan.prefix...), key...)
	return t.bytes[at:len(t.bytes):len(t.bytes)]
}

// letters are those of base64url, in which values are written as other loads write them.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// value is the recorded one, or one of its size that is a function of its hash: equal
// ones stay equal.
func (t *translator) value(v *call.Value) []byte {
	if v.Text != nil {
		return v.Text
	}
	at := len(t.bytes)
	x := v.Hash
	for left := v.Size; left > 0; {
		x += 0x9e3779b97f4a7c15 // SplitMix64
		bits := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		bits = (bits ^ bits>>27) * 0x94d049bb133111eb
		for range min(left, 10) {
			t.bytes = append(t.bytes, letters[bits&63])
			bits >>= 6
			left--
		}
	}
	return t.bytes[at:len(t.bytes):len(t.bytes)]
}

// lease is the number that a recorded lease has now: above 0, and another in the next
// replay on the same store.
func (t *translator) lease(recorded int64) int64 {
	if recorded == 0 {
		return 0
	}
	x := (uint64(recorded) + t.plan.salt) * 0x9e3779b97f4a7c15
	return int64(max((x^x>>29)>>1, 1))
}

// revisionOf is the revision now of what made a recorded one of a key.
func (p *Plan) revisionOf(key []byte, recorded int64) int64 {
	if recorded <= 0 {
		return recorded
	}
	if by, ok := p.writers[recorded]; ok {
		if now := p.revised[by]; now > 0 {
			return now
		}
		return none
	}
	if now := p.had[string(key)].at; now > 0 {
		return now
	}
	return none
}

// revisionAt is the revision now of the store as it was at a recorded one: that of the
// newest write until then, if it was made again; else 0, the present one.
func (p *Plan) revisionAt(recorded int64) int64 {
	i := sort.Search(len(p.made), func(i int) bool { return p.made[i].at > recorded })
	if i == 0 {
		return 0
	}
	return p.revised[p.made[i-1].by]
}
