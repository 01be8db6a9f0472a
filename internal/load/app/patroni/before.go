package patroni

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// FirstPreload implements app.Script. It returns operations that request a lease or session for
// each member. If sessions belong to connections, it returns no operations.
func (s *Script) FirstPreload() (engine.Source, uint64) {
	g := &leaseRequests{source: source{Script: s}}
	if !s.way.grant(&g.source, &store.Op{}) {
		return g, 0
	}
	return g, uint64(s.MemberCount())
}

// SecondPreload implements app.Script. It returns operations that write the keys of running
// clusters, in which the first member is leader. They do not write keys that are bound to a
// connection's session, because the connection does not exist yet.
func (s *Script) SecondPreload() (engine.Source, uint64) {
	w := &initialWrites{source: source{Script: s}}
	held := s.way.grant(&w.source, &store.Op{})
	for k := range Key(s.KeysPerCluster()) {
		// The first failover writes the history key for the first time.
		if k != History && (held || !isLeased(k)) {
			w.keys = append(w.keys, k)
		}
	}
	return w, uint64(s.Clusters * len(w.keys))
}

// leaseRequests is the source of the operations that request a lease or session for each member.
type leaseRequests struct {
	app.PreloadBase
	source source
}

// Fill implements engine.Source.
func (g *leaseRequests) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	*op = store.Op{Kind: kv.Put}
	g.source.way.grant(&g.source, op)
	return n
}

// Check implements engine.Source.
func (g *leaseRequests) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	if ev.Outcome == kv.OK {
		if wrong := g.source.way.handleRenewal(int(n), ev); wrong != nil {
			ev.Text = wrong
			return kv.WrongResponse
		}
	}
	return ev.Outcome
}

// initialWrites is the source of the operations that write the keys of running clusters.
type initialWrites struct {
	app.PreloadBase
	source source
	keys   []Key
}

// Fill implements engine.Source. All keys of a cluster are written before the keys of the next
// cluster.
func (w *initialWrites) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	s, each := &w.source, uint64(len(w.keys))
	e, member := Entry{Cluster: uint32(n / each), Call: PutStatus}, 0
	k := w.keys[n%each]
	switch k {
	case Initialize:
		s.value = append(s.value[:0], InitializeValue...)
	case ConfigKey:
		s.value = append(s.value[:0], ConfigValue...)
	case Leader:
		s.value = AppendName(s.value[:0], int(e.Cluster), 0)
	case Status:
		s.value = AppendStatus(s.value[:0], int(e.Cluster), s.Members, 0)
	default:
		member = int(k - FirstMember)
		s.value = AppendMember(s.value[:0], member, member == 0, 0)
	}
	*op = store.Op{Kind: kv.Put}
	s.way.fill(s, e, k, s.memberIndex(e, member), op)
	return n
}
