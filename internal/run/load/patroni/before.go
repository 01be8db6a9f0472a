package patroni

import (
	"github.com/quorumbench/quorumbench/internal/application/patroni"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Before implements load.Script: every member takes a lease.
func (s *Script) Before() (engine.Source, uint64) {
	return &grants{before{source{Script: s}}}, uint64(s.All())
}

// After implements load.Stager: the keys that clusters have which run. The first member of
// each leads.
func (s *Script) After() (engine.Source, uint64) {
	return &written{before{source{Script: s}}}, uint64(s.Clusters * (int(patroni.History) + s.Members))
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
	s.one(recording.Part{Action: recording.Grant, Number: int64(s.TTL.Seconds())})
	*op = store.Op{Kind: kv.Put, Call: &s.call}
	return n
}

func (s *grants) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	s.leases[n] = ev.Count
	return ev.Outcome
}

type written struct{ before }

// Fill writes the keys of one cluster after the other: all but the history, which begins
// with the first failover.
func (s *written) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	keys := uint64(patroni.History) + uint64(s.Members)
	e := patroni.Entry{Cluster: uint32(n / keys)}
	k, lease := patroni.Key(n%keys), int64(0)
	switch k {
	case patroni.Initialize:
		s.value = append(s.value[:0], patroni.InitializeValue...)
	case patroni.ConfigKey:
		s.value = append(s.value[:0], patroni.ConfigValue...)
	case patroni.Leader:
		s.value, lease = patroni.AppendName(s.value[:0], int(e.Cluster), 0), s.leases[s.all(e, 0)]
	case patroni.Status:
		s.value = patroni.AppendStatus(s.value[:0], int(e.Cluster), s.Members, 0)
	default:
		member := int(k - patroni.History)
		s.value, lease = patroni.AppendMember(s.value[:0], member, member == 0, 0), s.leases[s.all(e, member)]
		k = patroni.MemberKey(member)
	}
	s.put(e, k, lease)
	*op = store.Op{Kind: kv.Put, Call: &s.call}
	return n
}

func (s *written) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome { return ev.Outcome }
