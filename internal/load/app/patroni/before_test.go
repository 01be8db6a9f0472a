package patroni

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
)

// The operations that prepare a load have the same numbers as calls of the load. Nevertheless, the
// failure of such an operation does not end a call of the load.
func TestPreparationEndsNoCallsOfTheLoad(t *testing.T) {
	c := Config{Clusters: 3, Members: 3, LoopWait: 10 * time.Second, TTL: 30 * time.Second, RetryTimeout: 10 * time.Second}
	for _, c.Way = range []Way{Leases, Locks, Nodes} {
		s := NewWithConfig(c, app.Setup{Length: time.Millisecond, Prefix: "/service/"})
		for _, stage := range []func() (engine.Source, uint64){s.FirstPreload, s.SecondPreload} {
			source, _ := stage()
			if _, ok := source.(engine.Reactive); ok {
				t.Errorf("%v: the source of a preload stage is reactive", c.Way)
			}
		}
	}
}

// If a renewal fails, other members keep their leases, even if the member whose renewal failed has
// another call in flight.
func TestFailedRenewalKeepsOtherMembersLeases(t *testing.T) {
	c := Config{Clusters: 1, Members: 2, WrittenClusters: 1, LoopWait: time.Second, TTL: 30 * time.Second, RetryTimeout: time.Second}
	s := NewWithConfig(c, app.Setup{Length: 4 * time.Second, Prefix: "/service/"})
	src := &source{Script: s}
	held := s.way.(*leases).leaseIDs
	held[0], held[1], s.endedMember = 5, 6, 1
	for n, e := range s.schedule.Entries {
		if e.Call != RenewLeader {
			continue
		}
		s.pendingCall[0] = uint32(n) + 2
		src.OperationFailed(uint64(n))
		src.OperationEnded(uint64(n), kv.BadRequest, 1, 1)
		if held[0] != 5 || held[1] != 6 {
			t.Errorf("the members have the leases %v, want 5 and 6", held)
		}
		return
	}
	t.Error("the schedule has no renewal")
}
