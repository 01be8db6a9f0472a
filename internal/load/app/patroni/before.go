package patroni

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Before implements app.Script: every member takes a lease or session, unless that is its
// connection's.
func (s *Script) Before() (engine.Source, uint64) {
	g := &grants{before{source{Script: s}}}
	if !s.way.grant(&g.source, &store.Op{}) {
		return g, 0
	}
	return g, uint64(s.All())
}

// After implements app.Script: the keys that clusters have which run. The first member of
// each leads. Those that end with a connection's session are not there before it.
func (s *Script) After() (engine.Source, uint64) {
	w := &written{before: before{source{Script: s}}}
	held := s.way.grant(&w.source, &store.Op{})
	for k := range Key(s.PerCluster()) {
		if k != History && (held || !leased(k)) { // the history begins with the first failover
			w.keys = append(w.keys, k)
		}
	}
	return w, uint64(s.Clusters * len(w.keys))
}

// before is a source of operations that depend on nothing, and that nobody counts.
type before struct{ source }

func (s *before) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) { return kv.Put, kv.None }
func (s *before) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Put, Of: 1}}
}
func (s *before) Ready(uint64) bool                      { return true }
func (s *before) Failed(uint64)                          {}
func (s *before) Ended(uint64, kv.Outcome, int64, int64) {}

type grants struct{ before }

func (s *grants) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	*op = store.Op{Kind: kv.Put}
	s.way.grant(&s.source, op)
	return n
}

func (s *grants) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	if ev.Outcome == kv.OK {
		if wrong := s.way.took(int(n), ev); wrong != nil {
			ev.Text = wrong
			return kv.WrongAnswer
		}
	}
	return ev.Outcome
}

type written struct {
	before
	keys []Key
}

// Fill writes the keys of one cluster after the other.
func (s *written) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	each := uint64(len(s.keys))
	e, member := Entry{Cluster: uint32(n / each), Call: PutStatus}, 0
	k := s.keys[n%each]
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
	s.way.fill(&s.source, e, k, s.all(e, member), op)
	return n
}

func (s *written) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome { return ev.Outcome }
