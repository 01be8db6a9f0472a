package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// readBack lists the offices after the load, whose nodes the store numbers: of this run there
// should be none any more but those whose sessions were not closed.
type readBack struct {
	source
	lists map[uint32]*namesHeard // by the operations' tags: many answers come at once
	now   *namesHeard            // that is being heard
}

// Begin implements store.Keys.
func (b *readBack) Begin(tag uint32) bool {
	if b.now = b.lists[tag]; b.now == nil {
		b.now = &namesHeard{}
		b.lists[tag] = b.now
	}
	return b.now.Begin(tag)
}

// Add implements store.Keys.
func (b *readBack) Add(tag uint32, name, value []byte, revision int64) {
	b.now.Add(tag, name, value, revision)
}

// MakeRead implements app.Model.
func (s *Script) MakeRead(number uint64, op *store.Op) {
	if s.way.Recipe != EphemeralQueue {
		return
	}
	if s.back == nil {
		s.back = &readBack{source: source{Script: s}, lists: map[uint32]*namesHeard{}}
	}
	b := s.back
	b.office(int(number) * s.Candidates) // #nosec G115 -- below Offices
	b.key = append(b.key, '/')
	b.one(call.Part{Action: call.Read, Scope: call.Prefix, Key: b.key, Flags: call.Local | call.KeysOnly})
	b.names = store.RangeOp{Keys: b, KeysOnly: true}
	*op = store.Op{Kind: kv.Range, Consistency: kv.Local, Call: &b.call, Range: &b.names}
}

// Exists implements app.Model.
func (s *Script) Exists(ev *store.Event) bool {
	if s.back == nil {
		return true
	}
	for _, run := range s.back.heard(ev).runs {
		if run == s.run {
			return true
		}
	}
	return false
}

// heard is what an answer, which is that of no failure, has.
func (b *readBack) heard(ev *store.Event) *namesHeard {
	if h := b.lists[ev.Tag]; h != nil {
		return h
	}
	return &namesHeard{}
}

// listed records the nodes of this run that an office has, each as a read of its own.
func (b *readBack) listed(c *chronicle, office uint64, ev *store.Event, o *history.Op) {
	if o.Kind = kv.Get; ev.Outcome != kv.OK {
		return
	}
	o.Outcome = kv.OK
	h := b.heard(ev)
	for i, who := range h.of {
		if h.runs[i] != b.run || int(who) >= len(c.of) {
			continue
		}
		o.Key, o.Read = office<<nodeShift|uint64(h.order[i]), c.writes(int(who)) // #nosec G115 -- ten digits
		c.to.Add(o)
		o.Joined = true
	}
}
