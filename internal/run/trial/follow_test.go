package trial

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// moved is a generator that records its calls to Retarget and Epoch.
type moved struct {
	to    [][]string
	terms []uint64
}

func (m *moved) Retarget(endpoints []string) { m.to = append(m.to, endpoints) }
func (m *moved) Epoch(term uint64)           { m.terms = append(m.terms, term) }

func leading(i int, term uint64) []store.Member {
	all := []store.Member{{Endpoint: "a:1", ID: 1}, {Endpoint: "b:1", ID: 2}, {Endpoint: "c:1", ID: 3}}
	for k := range all {
		all[k].Term, all[k].Role = term, kv.Follower
	}
	all[i].Role = kv.Leader
	return all
}

// following returns a monitor of a cluster whose first member is leader in term 4.
func following(t *testing.T, mode kv.TargetMode) (*monitor, *moved) {
	t.Helper()
	m := &members{admin: answers{status: store.Status{Members: leading(0, 4)}}, givenNames: map[string]string{"a:1": "m1", "b:1": "m2", "c:1": "m3"}}
	if _, err := m.queryStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr := &Trial{logs: logs{followed: []hostLogs{{}}}} // logs without lines
	tr.Spec.Load.Target.Mode = mode
	g := &moved{}
	w := &monitor{t: tr, m: m}
	at, err := m.targets(kv.Target{Mode: kv.AllMembers}, true)
	if mode == kv.LeaderOnly || mode == kv.Followers {
		at, err = m.targets(tr.Spec.Load.Target, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.setTarget(g, at)
	return w, g
}

func (w *monitor) answer(i int, e store.Member) {
	w.handleChanges(w.m.update(i, 3, time.Now(), time.Now(), e))
}

// After an election, the load moves once to the new endpoints of its target, and later operations
// have the new term.
func TestTheLoadMovesWithItsTarget(t *testing.T) {
	for mode, want := range map[kv.TargetMode][][]string{
		kv.LeaderOnly: {{"c:1"}},
		kv.Followers:  {{"b:1"}, {"a:1", "b:1"}}, // the first member does not respond during the election, but responds again later
		kv.AllMembers: nil,
	} {
		w, g := following(t, mode)
		w.answer(0, store.Member{Endpoint: "a:1", Err: errors.New("no response within the time limit")})
		for range 3 {
			w.answer(2, leading(2, 5)[2])
			w.answer(1, leading(2, 5)[1])
		}
		w.answer(0, leading(0, 4)[0]) // the first member still considers itself the leader
		w.answer(0, leading(2, 5)[0])
		if !slices.EqualFunc(g.to, want, slices.Equal) {
			t.Errorf("target %v: the load moved to %v, not %v", mode, g.to, want)
		}
		if !slices.Equal(g.terms, []uint64{4, 5}) {
			t.Errorf("target %v: the terms are %v", mode, g.terms)
		}
		if lost := w.m.lost(nil); len(lost) > 0 {
			t.Errorf("target %v: the members %v are reported as lost", mode, lost)
		}
		roles := w.m.roles()
		for _, r := range []struct {
			member, term uint64
			role         kv.Role
		}{{1, 4, kv.Leader}, {2, 4, kv.Follower}, {3, 5, kv.Leader}, {1, 5, kv.Follower}} {
			if got := roles.Resolve(r.member, r.term); got != r.role {
				t.Errorf("member %d is %v in term %d, want %v: %+v", r.member, got, r.term, r.role, roles)
			}
		}
	}
}

// If a new leader is elected after the load was prepared, the load starts on the new leader.
func TestTheLoadBeginsWhereTheLeaderIs(t *testing.T) {
	w, _ := following(t, kv.LeaderOnly)
	before, err := w.m.targets(w.t.Spec.Load.Target, true)
	if err != nil {
		t.Fatal(err)
	}
	w.m.update(1, 3, time.Now(), time.Now(), leading(1, 6)[1])
	g := &moved{}
	w.setTarget(g, before)
	if !slices.EqualFunc(g.to, [][]string{{"b:1"}}, slices.Equal) || !slices.Equal(g.terms, []uint64{6}) {
		t.Errorf("the load moved to %v in the terms %v", g.to, g.terms)
	}
}
