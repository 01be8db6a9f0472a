package patroni

import "time"

// These delays within a loop were observed with Patroni 4.1.5 on loopback. The leader renews its
// lease, then writes the status, and then writes its own key. The write of the status wakes the
// replicas.
const (
	statusAfter = 50 * time.Millisecond
	memberAfter = 110 * time.Millisecond
	wokenAfter  = 110 * time.Millisecond // after the leader's renewal
	putAfter    = 50 * time.Millisecond  // after a replica's renewal
	// restAfter is the delay from the start of the leader's loop to the start of a replica's loop,
	// if no change wakes the replica.
	restAfter = 500 * time.Millisecond
	// spread is the range of the random delays that are added to the loops of replicas.
	spread = 30 * time.Millisecond
)

// These delays are counted from the deletion of the leader's key. They are the delays of the race,
// of the losers' reads, of the winner's write of its member key, and of the renewals of all
// members, which wake when the new leader's key is created.
const (
	raceAfter = 40 * time.Millisecond
	readAfter = 60 * time.Millisecond
	wonAfter  = 100 * time.Millisecond
	newAfter  = 160 * time.Millisecond
)

// reportStep is the delay between consecutive calls with which a new leader reports its promotion.
// It is also the delay between the last of these calls and the leader's next loop.
const reportStep = 50 * time.Millisecond

func (m *maker) leaseLoop(e Entry, at time.Duration, members int, written bool) {
	add := func(at time.Duration, call Call, who int) {
		e.Call, e.Caller = call, uint8(who)
		m.add(at, e)
	}
	add(at, RenewLeader, 0)
	if written {
		add(at+statusAfter, PutStatus, 0)
		add(at+memberAfter, PutMember, 0)
	}
	for who := 1; who < members; who++ {
		look := at + restAfter
		if written {
			look = at + wokenAfter
		}
		look += m.randomBelow(spread)
		add(look, RenewReplica, who)
		if written {
			add(look+putAfter, PutMember, who)
		}
	}
}

// leaseFailover adds the calls of the remaining members that follow the dead leader's last loop.
func (m *maker) leaseFailover(cluster uint32, last, expires time.Duration) {
	left := m.Members - 1
	// In these loops, no change wakes the replicas.
	for at := last + m.LoopWait; at < expires; at += m.LoopWait {
		for who := range left {
			m.add(at+restAfter+m.randomBelow(spread), Entry{Call: RenewReplica, Caller: uint8(who + 1), Cluster: cluster})
		}
	}
	e := Entry{Cluster: cluster, After: true}
	for who := range left {
		e.Caller, e.Race = uint8(who+1), true
		e.Call = RenewReplica
		m.add(expires, e)
		e.Call = Race
		m.add(expires+raceAfter, e)
	}
	e.Race, e.Caller = false, 0
	m.addSpaced(expires+wonAfter, e, PutMember)
	m.addSpaced(expires+newAfter, e, RenewLeader, PutMember)
	promoted := expires + promotedAfter
	reported := promoted - 4*reportStep
	m.addSpaced(reported, e, RenewLeader, PutStatus, PutHistory, PutMember)
	for who := 1; who < left; who++ {
		e.Caller = uint8(who)
		m.addSpaced(expires+readAfter, e, ReadCluster)
		m.addSpaced(expires+newAfter+m.randomBelow(spread), e, RenewReplica, PutMember)
		m.addSpaced(reported+wokenAfter+m.randomBelow(spread), e, RenewReplica, PutMember)
	}
	m.leaseLoop(e, promoted, left, true)
	for at := promoted + m.LoopWait; at < m.length; at += m.LoopWait {
		m.leaseLoop(e, at, left, m.isWritten(cluster))
	}
}

// addSpaced adds consecutive calls at intervals of reportStep.
func (m *maker) addSpaced(at time.Duration, e Entry, calls ...Call) {
	for _, e.Call = range calls {
		m.add(at, e)
		at += reportStep
	}
}
