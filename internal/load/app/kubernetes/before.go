package kubernetes

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// FirstPreload implements app.Script. It returns operations that read the compaction key and write
// all objects that exist when the load begins. The writes have the same form as the API server's
// writes, because some stores accept only calls that the API server makes.
func (s *Script) FirstPreload() (engine.Source, uint64) {
	n := uint64(1)
	for _, count := range s.keys.Before {
		n += uint64(count)
	}
	return &preloadSource{source: source{Script: s}}, n
}

type preloadSource struct {
	app.PreloadBase
	source source
}

// object returns the number of the object that operation n writes. Operation 0 does not write an
// object, so n must be greater than 0.
func (b *preloadSource) object(n uint64) uint32 {
	n--
	for r, count := range b.source.keys.Before {
		if n < uint64(count) {
			return b.source.keys.First[r] + uint32(n)
		}
		n -= uint64(count)
	}
	return 0 // n is out of range
}

// Fill implements engine.Source.
func (b *preloadSource) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	s := &b.source
	*op = store.Op{Kind: kv.Put, Call: &s.call}
	if n == 0 {
		s.key = append(s.key[:0], s.compaction...)
		s.setPart(call.Part{Action: call.Read, Key: s.key})
		return n
	}
	object := b.object(n)
	r, _ := s.keys.Resource(object)
	s.key = s.keys.Append(s.key[:0], object)
	s.value = s.values[r].Append(s.value[:0], s.key, 0, app.PreloadMark|n)
	s.setGuarded(call.Modified, 0, call.Part{Action: call.Write}, true)
	return n
}

// Check stores the revision of the object. If an earlier load has written the object, it stores the
// existing revision.
func (b *preloadSource) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	s := &b.source
	s.startRevision = max(s.startRevision, ev.StoreRevision)
	switch {
	case n == 0:
		s.version = ev.Version
		return kv.OK
	case ev.Outcome == kv.Conflict:
		s.versions[b.object(n)] = ev.ModRevision
	default:
		s.versions[b.object(n)] = ev.Revision
	}
	return kv.OK
}
