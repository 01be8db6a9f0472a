package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/store"
)

// followerConfig returns the configuration of the follower, which asks the members for their
// status. If the load's target is a role, the follower asks more often, because the load must move
// when another member takes the role.
func (w *monitor) followerConfig() cluster.Config {
	every := cluster.SlowInterval
	if mode := w.t.Spec.Load.Target.Mode; mode == kv.LeaderOnly || mode == kv.Followers {
		every = cluster.FastInterval
	}
	n := len(w.m.status().Members)
	return cluster.Config{
		Admin: w.m.admin, Members: n, Interval: every, CompletedOperations: func() uint64 { return w.done() },
		OnResponse: func(i int, asked, ended time.Time, e store.Member) {
			w.handleChanges(w.m.update(i, n, asked, ended, e))
			w.out.Members(w.m.states())
		},
	}
}

// setTarget sets the generator's endpoints and term before the generator runs. endpoints contains
// the endpoints for which the generator was prepared.
func (w *monitor) setTarget(g retargetable, endpoints []string) {
	w.generator, w.targetEndpoints = g, endpoints
	w.setTerm(w.m.leaderTerm())
	w.retarget() // the leader may have changed since the generator was prepared
}

// setTerm passes the leader's term to the generator, if both are known.
func (w *monitor) setTerm(term uint64) {
	if w.generator != nil && term > 0 {
		w.generator.Epoch(term)
	}
}

// retarget moves the load to the current endpoints of its target, if these have changed.
func (w *monitor) retarget() {
	target := w.t.Spec.Load.Target
	if w.generator == nil || target.Mode != kv.LeaderOnly && target.Mode != kv.Followers {
		return
	}
	if endpoints, err := w.m.targets(target, true); err == nil && !slices.Equal(endpoints, w.targetEndpoints) {
		w.targetEndpoints = endpoints
		w.generator.Retarget(endpoints)
	}
}

// handleChanges moves the load if its target has changed, and then records the changes of the
// members. Do not call it concurrently.
func (w *monitor) handleChanges(changes []cluster.Change) {
	for _, c := range changes {
		if c.Kind == cluster.LeaderElected {
			w.setTerm(c.Term)
		}
		if c.Kind == cluster.LeaderElected || c.Kind == cluster.LeaderRenewed {
			w.retarget()
		}
	}
	all := w.m.status().Members
	for _, c := range changes {
		w.recordChange(c, all[c.Member].Name)
	}
}

// recordChange records a member's change as an event.
func (w *monitor) recordChange(c cluster.Change, name string) {
	switch c.Kind {
	case cluster.LeaderElected:
		if c.PreviousTerm == 0 {
			return // this is the first known leader, not a change
		}
		e := election{member: name, term: c.Term, before: c.PreviousTerm, at: c.At, since: c.Since}
		w.elections.add(e)
		if w.t.logs.followed == nil { // without logs, no other source reports the election
			w.recordUnlogged(c.At.Add(1))
		}
	case cluster.MemberLost:
		_ = w.out.Event(record.Event{Time: c.At, Kind: "member_lost", Member: name, Text: fmt.Sprintf("%s was lost: %v", name, c.Err)})
	case cluster.MemberBack:
		_ = w.out.Event(record.Event{Time: c.At, Kind: "member_recovered", Member: name, Text: name + " responds again"})
	}
}

// recordUnlogged records the elections that were seen in the status before the given time and that
// no log has reported.
func (w *monitor) recordUnlogged(before time.Time) {
	for _, e := range w.elections.unlogged(before) {
		_ = w.out.Event(e.event()) // the writer remembers an error
	}
}
