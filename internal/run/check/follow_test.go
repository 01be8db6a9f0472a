package check

import (
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// moved is a generator that remembers where it was sent.
type moved struct{ to [][]string }

func (m *moved) Retarget(endpoints []string) { m.to = append(m.to, endpoints) }

// The load of a check moves once for an election, at the first word of it.
func TestTheLoadFollowsAnElection(t *testing.T) {
	status := store.Status{Term: 4, Members: []store.Member{
		{Endpoint: "a:1", ID: 1, Term: 4, Role: kv.Leader}, {Endpoint: "b:1", ID: 2, Term: 4, Role: kv.Follower},
	}}
	r := &reached{Cluster: Cluster{Target: kv.Target{Mode: kv.LeaderOnly}}, status: status}
	var err error
	if r.targets, err = r.resolve(&status); err != nil || !slices.Equal(r.targets, []string{"a:1"}) {
		t.Fatalf("%v: %v", r.targets, err)
	}
	g := &moved{}
	f := newFollower(r)
	f.generator = g
	now := time.Now()
	f.take(0, now, now, status.Members[0])
	for range 3 {
		f.take(1, now, now, store.Member{Endpoint: "b:1", ID: 2, Term: 5, Role: kv.Leader})
		f.take(0, now, now, status.Members[0])
	}
	if !slices.EqualFunc(g.to, [][]string{{"b:1"}}, slices.Equal) {
		t.Errorf("it moved to %v", g.to)
	}
}
