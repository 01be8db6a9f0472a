package membership

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/tally"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// beforeMark is in the numbers of the values that are written before the load.
const beforeMark = 1 << 41

// Before implements load.Script: nothing is there of what an earlier load of the store
// left. Its sessions may live on for a while where its connections were lost, and what
// they made would be found by this load's registrations, or would go while it lasts.
func (s *Script) Before() (engine.Source, uint64) {
	return &clearing{source: source{Script: s}}, uint64(s.schedule.All())
}

// After implements load.Stager: the instances that are there when the load begins are
// plain keys, because the sessions that write them end with the preparation.
func (s *Script) After() (engine.Source, uint64) {
	return &before{source: source{Script: s}}, uint64(s.schedule.There())
}

// clearing removes each instance.
type clearing struct {
	tally.Beforehand
	source source
}

// Fill implements engine.Source.
func (c *clearing) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	s := &c.source
	s.key = s.schedule.AppendKey(s.key[:0], s.setup.Prefix, uint32(n))
	*op = store.Op{Kind: kv.Delete, Key: s.key}
	return n
}

// Kind implements engine.Source.
func (*clearing) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) { return kv.Delete, kv.None }

// Shares implements engine.Source.
func (*clearing) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Delete, Of: 1}}
}

// before writes the instances that are there when the load begins.
type before struct {
	tally.Beforehand
	source source
}

// Fill implements engine.Source.
func (b *before) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	s := &b.source
	s.key = s.schedule.AppendKey(s.key[:0], s.setup.Prefix, s.schedule.BeforeAt(n))
	s.value = s.values.Append(s.value[:0], s.key, 0, beforeMark|n)
	*op = store.Op{Kind: kv.Put, Key: s.key, Value: s.value}
	return n
}
