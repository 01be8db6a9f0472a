package replay

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// earlier is a key that the recording shows to have been there when it began.
type earlier struct {
	size  int // of its value, as far as it is known
	known bool
}

// earlierNow is what was written before: at which revision of the store, and its version.
type earlierNow struct{ at, version int64 }

// findBefore finds what was there before the recording began: keys that were read,
// removed, or compared at a revision that none of its calls made, before a call wrote
// them; and leases that none granted.
func (p *Plan) findBefore() {
	written, there := map[string]bool{}, map[string]*earlier{}
	var order []string
	var leases []int64
	known := map[int64]bool{0: true}
	note := func(key []byte) *earlier {
		e := there[string(key)]
		if e == nil {
			e = &earlier{}
			there[string(key)] = e
			order = append(order, string(key))
		}
		return e
	}
	for _, c := range p.calls {
		for i := range c.Parts {
			part := &c.Parts[i]
			if part.Action == call.Grant {
				known[c.Lease] = true
			} else if !known[part.Lease] && c.OK() {
				known[part.Lease] = true
				leases = append(leases, part.Lease)
			}
			if key := p.store.Requires(part); len(key) > 0 && !written[string(key)] && did(c, part) {
				note(key)
			}
			if part.Scope != call.One || written[string(part.Key)] {
				continue
			}
			switch part.Action {
			case call.Write:
				if e := there[string(part.Key)]; e != nil && !e.known {
					e.size, e.known = part.Value.Size, true
				}
			case call.Compare:
				if p.comparesEarlier(c, part) {
					note(part.Key)
				}
			case call.Found:
				note(part.Key)
			case call.Read:
				if c.OK() && part.Branch == call.Always && c.Keys > 0 {
					p.wasRead(note(part.Key), c, part)
				}
			case call.Remove:
				if c.OK() && part.Branch == call.Always && c.Keys > 0 {
					note(part.Key)
				}
			}
		}
		for i := range c.Parts {
			if part := &c.Parts[i]; part.Scope == call.One && wrote(c, part) {
				written[string(writtenKey(part))] = true
			}
		}
	}
	seconds := p.Length()/1e9 + leaseBeyond
	for _, lease := range leases {
		p.before = append(p.before, call.Call{Parts: []call.Part{{Action: call.Grant, Lease: lease, Number: seconds}}})
	}
	for _, key := range order {
		e := there[key]
		if !e.known {
			e.size = p.ValueBytes
		}
		p.before = append(p.before, call.Call{Parts: []call.Part{{
			Action: call.Write, Key: []byte(key), Value: call.Value{Size: e.size, Hash: p.salt ^ uint64(len(p.before))},
		}}})
	}
}

// wasRead learns from a read of one key how long its value is.
func (p *Plan) wasRead(e *earlier, c *call.Call, part *call.Part) {
	switch {
	case e.known || part.Flags&(call.KeysOnly|call.CountOnly) != 0:
	case p.told.any: // the answer says it
		e.size, e.known = part.Value.Size, true
	default:
		e.size, e.known = max(c.Got-len(part.Key)-answerBytes, 0), true
	}
}

// answerBytes is about how much an answer to a read of one key has beside key and value.
const answerBytes = 45

// leaseBeyond is how many seconds leases of before live beyond the load.
const leaseBeyond = 100

// comparesEarlier reports whether a guard shows that its key was there before.
func (p *Plan) comparesEarlier(c *call.Call, part *call.Part) bool {
	if part.Number <= 0 || part.Relation != call.Equal {
		return false
	}
	switch part.Target {
	case call.Modified, call.Created:
		_, ours := p.writers[part.Number]
		return !ours
	case call.Version:
		return c.OK() && c.Held
	}
	return false
}

// Before implements app.Script.
func (p *Plan) Before() (engine.Source, uint64) {
	return &beforeSource{Plan: p, translator: translator{plan: p}}, uint64(len(p.before))
}

// beforeSource writes what was there before the recording began.
type beforeSource struct {
	*Plan
	translator
}

func (s *beforeSource) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	*op = store.Op{Kind: kv.Put, Call: s.translate(0, &s.before[n])}
	return n
}

func (s *beforeSource) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return kv.Put, kv.None
}

func (s *beforeSource) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Put, Of: 1}}
}

// Check learns the revision that a key has.
func (s *beforeSource) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	if part := &s.before[n].Parts[0]; part.Action == call.Write {
		s.had[string(part.Key)] = earlierNow{ev.At, ev.Revision}
		s.base = max(s.base, ev.At)
	} else if ev.Outcome == kv.OK {
		s.names.granted(part.Lease, ev.Value)
	}
	return ev.Outcome
}
