package election

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// New returns the script of an application's load.
func New(a Application, setup app.Setup) *Script {
	c := NewConfig(setup.Settings, setup.Seed)
	s := &Script{Config: c, way: a.Way(setup.Way), prefix: setup.Prefix, newLeader: none, replacedLeader: none, run: rand.Uint32()} // #nosec G404 -- not a secret
	before := setup.PreloadResults
	if last := len(before) - 1; last >= 0 {
		s.run, before = uint32(before[last]), before[:last] // #nosec G115 -- encoded by PreloadResults
	}
	s.schedule = NewSchedule(c, s.way, setup.Length)
	s.recipe = newRecipe(s)
	lives, every := s.way.KeepAlive(&c)
	if s.sessionTTL = int64(lives); every > 0 {
		s.renewalSent, s.aliveUntil = make([]int64, c.CandidateCount()), make([]int64, c.CandidateCount())
		s.renewals = newRenewalSchedule(c.FirstKeepAlives(every), every)
	}
	if !s.way.SessionPerConnection {
		// If sessions have names, the slice holds the first halves of all names, followed by the
		// second halves.
		s.leases = make([]int64, c.Connections(s.way))
		copy(s.leases, before)
	}
	kinds := s.schedule.CountByKind()
	s.calls = app.NewTally(s.way.Shapes[:], kinds[:])
	s.handover, s.vacant = measure.NewCalls(measure.Handover, kv.Delete, kv.NoConsistency), measure.NewCalls("no leader", kv.Delete, kv.NoConsistency)
	s.handover.IsSpan, s.vacant.IsSpan = true, true
	s.handover.Due = kinds[Resign]
	s.candidates, s.offices = make([]candidate, c.CandidateCount()), make([]office, c.Offices)
	for i := range s.offices {
		s.offices[i].leader, s.offices[i].tokenHolder = none, none
	}
	s.resigningCandidate = make([]int32, len(s.schedule.Entries))
	for i := range s.resigningCandidate {
		s.resigningCandidate[i] = none
	}
	s.todo = newTodo(c.CandidateCount())
	s.deaths = newLeaderDeaths(&c, c.LeaderDeath(s.way, setup.Length))
	return s
}

// Pacer implements app.Script.
func (s *Script) Pacer() pace.Pacer { return pace.Listed(s.schedule.Due) }

// Source implements app.Script.
func (s *Script) Source() engine.Source { return &source{Script: s} }

// FirstPreload implements app.Script. It returns the operations that create the offices, or those
// that remove old keys and request leases.
func (s *Script) FirstPreload() (engine.Source, uint64) {
	n := s.Offices
	if s.leases != nil {
		n += s.CandidateCount()
	}
	return &preloadSource{source: source{Script: s}}, uint64(n) // #nosec G115 -- a count
}

// SessionTimeout implements app.Script. If leaders die or a TTL is set, the script itself keeps the
// sessions of the connections alive.
func (s *Script) SessionTimeout() time.Duration {
	if s.way.SessionPerConnection {
		return time.Duration(s.sessionTTL)
	}
	return 0
}

// PreloadResults implements app.Script. It returns each candidate's lease, followed by the run's
// number. When keys are read after the load, this number identifies the values that this run wrote.
func (s *Script) PreloadResults() []int64 { return append(slices.Clone(s.leases), int64(s.run)) }

// CallCounts implements app.Script. It returns the calls, followed by the measured time spans.
func (s *Script) CallCounts() []measure.Calls {
	all := s.calls.Calls()
	if s.handover.Due > 0 {
		all = append(all, s.handover)
	}
	if s.vacant.Due > 0 {
		all = append(all, s.vacant)
	}
	return s.deaths.appendTo(all)
}

// newRecipe returns the implementation of the recipe that the way uses.
func newRecipe(s *Script) recipe {
	switch s.way.Recipe {
	case EphemeralQueue:
		return &ephemeralQueue{names: &nodeList{}}
	case LeaseRace:
		return leaseRace{}
	case LeaseQueue:
		return leaseQueue{}
	case SessionRace:
		return sessionRace{}
	default:
		return ephemeralRace{}
	}
}

// preloadSource is the source of the operations before the load. The operations create the offices,
// which are the parents of the candidates' nodes. In ways with leases, they remove old keys and
// request leases instead.
type preloadSource struct {
	app.PreloadBase
	source source
}

// Fill implements engine.Source.
func (b *preloadSource) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	s := &b.source
	if s.leases != nil {
		s.fillPreload(n)
		*op = store.Op{Kind: kv.Put, Call: &s.call}
		return n
	}
	s.key = AppendOffice(s.key[:0], s.prefix, int(n)) // #nosec G115 -- below Offices
	*op = store.Op{Kind: kv.Put, Key: s.key, Value: s.key}
	return n
}

// Check implements engine.Source.
func (b *preloadSource) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	if s := &b.source; s.leases != nil && n >= uint64(s.Offices) { // #nosec G115 -- a count
		s.storeLease(int(n)-s.Offices, ev) // #nosec G115 -- a count
	}
	return ev.Outcome
}
