package patroni

import "time"

// Within a loop, as seen of Patroni 4.1.5 on loopback: the leader puts the status when its
// lease is renewed and then its own key; the status wakes the others.
const (
	statusAfter = 50 * time.Millisecond
	memberAfter = 110 * time.Millisecond
	wokenAfter  = 110 * time.Millisecond // of the leader's renewal
	putAfter    = 50 * time.Millisecond  // of a replica's renewal
	// restAfter is how much later than the leader a replica looks where nothing wakes it.
	restAfter = 500 * time.Millisecond
	// spread is by how much replicas differ.
	spread = 30 * time.Millisecond
)

// After a failover, since the leader's key is gone: the race, the winner's key, the losers'
// read; the new leader's key wakes all.
const (
	raceAfter = 40 * time.Millisecond
	readAfter = 60 * time.Millisecond
	wonAfter  = 100 * time.Millisecond
	newAfter  = 160 * time.Millisecond
)

// toldStep is between the calls with which a new leader tells of its promotion, and the
// first of its next loop.
const toldStep = 50 * time.Millisecond

func (m *maker) leaseLoop(e Entry, at time.Duration, members int, written bool) {
	add := func(at time.Duration, call Call, who int) {
		e.Call, e.Who = call, uint8(who)
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
		look += m.between(spread)
		add(look, RenewReplica, who)
		if written {
			add(look+putAfter, PutMember, who)
		}
	}
}

// leaseFailover adds what those that are left send since the leader's last loop.
func (m *maker) leaseFailover(cluster uint32, last, expires time.Duration) {
	left := m.Members - 1
	for at := last + m.LoopWait; at < expires; at += m.LoopWait { // nothing wakes the others
		for who := range left {
			m.add(at+restAfter+m.between(spread), Entry{Call: RenewReplica, Who: uint8(who + 1), Cluster: cluster})
		}
	}
	e := Entry{Cluster: cluster, After: true}
	for who := range left {
		e.Who, e.Race = uint8(who+1), true
		e.Call = RenewReplica
		m.add(expires, e)
		e.Call = Race
		m.add(expires+raceAfter, e)
	}
	e.Race, e.Who = false, 0
	m.every(expires+wonAfter, e, PutMember)
	m.every(expires+newAfter, e, RenewLeader, PutMember)
	promoted := expires + promotedAfter
	told := promoted - 4*toldStep
	m.every(told, e, RenewLeader, PutStatus, PutHistory, PutMember)
	for who := 1; who < left; who++ {
		e.Who = uint8(who)
		m.every(expires+readAfter, e, ReadCluster)
		m.every(expires+newAfter+m.between(spread), e, RenewReplica, PutMember)
		m.every(told+wokenAfter+m.between(spread), e, RenewReplica, PutMember)
	}
	m.leaseLoop(e, promoted, left, true)
	for at := promoted + m.LoopWait; at < m.length; at += m.LoopWait {
		m.leaseLoop(e, at, left, m.written(cluster))
	}
}

// every adds calls one behind the other.
func (m *maker) every(at time.Duration, e Entry, calls ...Call) {
	for _, e.Call = range calls {
		m.add(at, e)
		at += toldStep
	}
}
