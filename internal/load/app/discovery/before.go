package discovery

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// FirstPreload implements app.Script. In a catalog, it registers the instances that exist at the
// start of the load. In membership, it removes the nodes that an earlier load left behind. If that
// load lost connections, the sessions of these nodes may still be alive. A remaining node would
// conflict with this load's registration of the same instance, or would be deleted during this
// load.
func (s *script) FirstPreload() (engine.Source, uint64) {
	if s.schedule.catalog {
		return &initialRegistrations{source: source{script: s}}, uint64(s.schedule.initial())
	}
	return &instanceRemovals{source: source{script: s}}, uint64(s.schedule.count())
}

// SecondPreload implements app.Script. In membership, it writes the instances that exist at the
// start of the load as plain keys. They cannot be ephemeral keys, because the sessions that write
// them end before the load starts.
func (s *script) SecondPreload() (engine.Source, uint64) {
	if s.schedule.catalog {
		return nil, 0
	}
	return &initialRegistrations{source: source{script: s}}, uint64(s.schedule.initial())
}

// instanceRemovals removes the keys of all instances.
type instanceRemovals struct {
	app.PreloadBase
	source source
}

// Fill implements engine.Source.
func (c *instanceRemovals) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	c.source.fillInstance(uint32(n), op)
	op.Kind = kv.Delete
	return n
}

// Kind implements engine.Source.
func (*instanceRemovals) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return kv.Delete, kv.NoConsistency
}

// Shares implements engine.Source.
func (*instanceRemovals) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Delete, Fraction: 1}}
}

// initialRegistrations writes the instances that exist at the start of the load.
type initialRegistrations struct {
	app.PreloadBase
	source source
}

// Fill implements engine.Source.
func (p *initialRegistrations) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	s := &p.source
	s.fillInstance(s.schedule.initialInstance(n), op)
	s.value = s.values.Append(s.value[:0], s.key, 0, app.PreloadMark|n)
	op.Kind, op.Value, s.service.Passing = kv.Put, s.value, true
	return n
}
