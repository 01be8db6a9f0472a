package replay

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// preexistingKey is a key that must have existed before the recording.
type preexistingKey struct {
	size  int // size of the key's value, if known is set
	known bool
}

// findPreexisting finds the keys and leases that must have existed before the recording. A key must
// have existed if, before any recorded call wrote it, a call read it, removed it, or compared it
// with a revision that no recorded call created. A lease must have existed if no recorded call
// granted it.
func (p *Plan) findPreexisting() {
	s := search{plan: p, writtenKeys: map[string]bool{}, preexisting: map[string]*preexistingKey{}, knownLeases: map[int64]bool{0: true}}
	for _, c := range p.calls {
		for i := range c.Parts {
			s.searchPart(c, &c.Parts[i])
		}
		for i := range c.Parts {
			if part := &c.Parts[i]; part.Scope == call.SingleKey && wroteKey(c, part) {
				s.writtenKeys[string(writtenKey(part))] = true
			}
		}
	}
	seconds := p.Length()/1e9 + leaseMargin
	for _, lease := range s.leases {
		p.preloadCalls = append(p.preloadCalls, call.Call{Parts: []call.Part{{Action: call.Grant, Lease: lease, Number: seconds}}})
	}
	for _, key := range s.order {
		e := s.preexisting[key]
		if !e.known {
			e.size = p.ValueBytes
		}
		p.preloadCalls = append(p.preloadCalls, call.Call{Parts: []call.Part{{
			Action: call.Write, Key: []byte(key), Value: call.Value{Size: e.size, Hash: p.salt ^ uint64(len(p.preloadCalls))},
		}}})
	}
}

// search looks for the keys and leases that must have existed before the calls.
type search struct {
	plan        *Plan
	writtenKeys map[string]bool // keys that the calls up to now have written
	preexisting map[string]*preexistingKey
	order       []string // the keys in `preexisting`, in the order in which they were found
	knownLeases map[int64]bool
	leases      []int64 // leases that were not granted in the recording
}

// noteKey records that a key existed before the recording.
func (s *search) noteKey(key []byte) *preexistingKey {
	e := s.preexisting[string(key)]
	if e == nil {
		e = &preexistingKey{}
		s.preexisting[string(key)] = e
		s.order = append(s.order, string(key))
	}
	return e
}

// searchPart records the keys and leases whose earlier existence follows from a part of a call.
func (s *search) searchPart(c *call.Call, part *call.Part) {
	if part.Action == call.Grant {
		s.knownLeases[c.Lease] = true
	} else if !s.knownLeases[part.Lease] && c.OK() {
		s.knownLeases[part.Lease] = true
		s.leases = append(s.leases, part.Lease)
	}
	if key := s.plan.store.RequiredKey(part); len(key) > 0 && !s.writtenKeys[string(key)] && executed(c, part) {
		s.noteKey(key)
	}
	if part.Scope != call.SingleKey || s.writtenKeys[string(part.Key)] {
		return
	}
	switch part.Action {
	case call.Write:
		if e := s.preexisting[string(part.Key)]; e != nil && !e.known {
			e.size, e.known = part.Value.Size, true
		}
	case call.Compare:
		if s.plan.comparesPreexisting(c, part) {
			s.noteKey(part.Key)
		}
	case call.ListedKey:
		s.noteKey(part.Key)
	case call.Read:
		if c.OK() && part.Branch == call.Always && c.KeyCount > 0 {
			s.plan.learnSize(s.noteKey(part.Key), c, part)
		}
	case call.Remove:
		if c.OK() && part.Branch == call.Always && c.KeyCount > 0 {
			s.noteKey(part.Key)
		}
	}
}

// learnSize derives the size of a key's value from a read of the key.
func (p *Plan) learnSize(e *preexistingKey, c *call.Call, part *call.Part) {
	switch {
	case e.known || part.Flags&(call.KeysOnly|call.CountOnly) != 0:
	case p.versions.hasVersions: // the response contains the size
		e.size, e.known = part.Value.Size, true
	default:
		e.size, e.known = max(c.ReplySize-len(part.Key)-responseBytes, 0), true
	}
}

// responseBytes is the approximate size of a response to a read of a single key, without the key
// and the value.
const responseBytes = 45

// leaseMargin is the time, in seconds, for which preloaded leases must remain valid after the load.
const leaseMargin = 100

// comparesPreexisting reports whether a guard shows that its key existed before the recording.
func (p *Plan) comparesPreexisting(c *call.Call, part *call.Part) bool {
	if part.Number <= 0 || part.Relation != call.Equal {
		return false
	}
	switch part.Target {
	case call.Modified, call.Created:
		_, recorded := p.writers[part.Number]
		return !recorded
	case call.Version:
		return c.OK() && c.GuardsHeld
	}
	return false
}

// FirstPreload implements app.Script.
func (p *Plan) FirstPreload() (engine.Source, uint64) {
	return &preloadSource{Plan: p, translator: translator{plan: p}}, uint64(len(p.preloadCalls))
}

// preloadSource creates the calls that prepare the store. They request the leases that existed
// before the recording, and write the keys that existed then.
type preloadSource struct {
	*Plan
	translator
}

func (s *preloadSource) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	*op = store.Op{Kind: kv.Put, Call: s.translate(0, &s.preloadCalls[n])}
	return n
}

func (s *preloadSource) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return kv.Put, kv.NoConsistency
}

func (s *preloadSource) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Put, Fraction: 1}}
}

// Check implements engine.Source. It stores the revision of a key in this replay, or the name of a
// lease.
func (s *preloadSource) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	if part := &s.preloadCalls[n].Parts[0]; part.Action == call.Write {
		s.preloaded[string(part.Key)] = preloaded{ev.StoreRevision, ev.Revision}
		s.baseRevision = max(s.baseRevision, ev.StoreRevision)
	} else if ev.Outcome == kv.OK {
		s.names.storeLease(part.Lease, ev.Value)
	}
	return ev.Outcome
}
