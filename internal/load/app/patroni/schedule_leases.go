package patroni

import "time"

// These delays within a loop were observed with Patroni 4.1.5 on loopback. The leader renews its
// lease, then writes the status, and then its own key. The write of the status wakes the replicas.
const (
	statusAfter = 50 * time.Millisecond
	memberAfter = 110 * time.Millisecond
	wokenAfter  = 110 * time.Millisecond // after the leader's renewal
	putAfter    = 50 * time.Millisecond  // after a replica's renewal
	// restAfter is how much later than the leader a replica starts if no change wakes it.
	restAfter = 500 * time.Millisecond
	// spread is the range of the random delays that are added for replicas.
	spread = 30 * time.Millisecond
)

// These delays are counted from the deletion of the leader's key: the race, the losers' reads, the
// winner's write of its member key, and the renewals by all members that the new leader's key
// wakes.
const (
	raceAfter = 40 * time.Millisecond
	readAfter = 60 * time.Millisecond
	wonAfter  = 100 * time.Millisecond
	newAfter  = 160 * time.Millisecond
)

// reportStep is the delay between two of the calls with which a new leader reports its promotion,
// and between the last of them and the leader's next loop.
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

// leaseFailover adds the calls of the members that remain, starting after the leader's last loop.
func (m *maker) leaseFailover(cluster uint32, last, expires time.Duration) {
	left := m.Members - 1
	// No change wakes the replicas in these loops.
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

// addSpaced adds calls one after the other, reportStep apart.
func (m *maker) addSpaced(at time.Duration, e Entry, calls ...Call) {
	for _, e.Call = range calls {
		m.add(at, e)
		at += reportStep
	}
}
