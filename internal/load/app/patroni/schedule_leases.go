package patroni

import "time"

// These delays within a loop were observed with Patroni 4.1.5 on loopback. The leader renews its
// lease, then writes the status, and then writes its own key. The write of the status wakes the
// replicas.
const (
	statusDelay = 50 * time.Millisecond
	memberDelay = 110 * time.Millisecond
	wakeDelay   = 110 * time.Millisecond // after the leader's renewal
	putDelay    = 50 * time.Millisecond  // after a replica's renewal
	// idleLoopDelay is the delay from the start of the leader's loop to the start of a replica's
	// loop, if no change wakes the replica.
	idleLoopDelay = 500 * time.Millisecond
	// maxRandomDelay limits the random delays that are added to the loops of replicas.
	maxRandomDelay = 30 * time.Millisecond
)

// These delays are counted from the deletion of the leader's key. They are the delays of the race,
// of the losers' reads, of the winner's write of its member key, and of the renewals of all
// members, which wake when the new leader's key is created.
const (
	raceDelay      = 40 * time.Millisecond
	loserReadDelay = 60 * time.Millisecond
	winnerPutDelay = 100 * time.Millisecond
	newLeaderDelay = 160 * time.Millisecond
)

// reportInterval is the delay between consecutive calls with which a new leader reports its
// promotion. It is also the delay between the last of these calls and the leader's next loop.
const reportInterval = 50 * time.Millisecond

func (m *scheduleBuilder) addLeaseLoops(e Entry, at time.Duration, members int, written bool) {
	add := func(at time.Duration, call Call, caller int) {
		e.Call, e.Caller = call, uint8(caller)
		m.Add(at, e)
	}
	add(at, RenewLeader, 0)
	if written {
		add(at+statusDelay, PutStatus, 0)
		add(at+memberDelay, PutMember, 0)
	}
	for caller := 1; caller < members; caller++ {
		look := at + idleLoopDelay
		if written {
			look = at + wakeDelay
		}
		look += m.randomBelow(maxRandomDelay)
		add(look, RenewReplica, caller)
		if written {
			add(look+putDelay, PutMember, caller)
		}
	}
}

// addLeaseFailover adds the calls of the remaining members that follow the dead leader's last loop.
func (m *scheduleBuilder) addLeaseFailover(cluster uint32, lastLoop, expiry time.Duration) {
	remaining := m.Members - 1
	// In these loops, no change wakes the replicas.
	for at := lastLoop + m.LoopWait; at < expiry; at += m.LoopWait {
		for caller := range remaining {
			m.Add(at+idleLoopDelay+m.randomBelow(maxRandomDelay), Entry{Call: RenewReplica, Caller: uint8(caller + 1), Cluster: cluster})
		}
	}
	e := Entry{Cluster: cluster, AfterFailover: true}
	for caller := range remaining {
		e.Caller, e.CallerFixed = uint8(caller+1), true
		e.Call = RenewReplica
		m.Add(expiry, e)
		e.Call = Race
		m.Add(expiry+raceDelay, e)
	}
	e.CallerFixed, e.Caller = false, 0
	m.addSpaced(expiry+winnerPutDelay, e, PutMember)
	m.addSpaced(expiry+newLeaderDelay, e, RenewLeader, PutMember)
	promoted := expiry + promotionDelay
	reported := promoted - 4*reportInterval
	m.addSpaced(reported, e, RenewLeader, PutStatus, PutHistory, PutMember)
	for caller := 1; caller < remaining; caller++ {
		e.Caller = uint8(caller)
		m.addSpaced(expiry+loserReadDelay, e, ReadCluster)
		m.addSpaced(expiry+newLeaderDelay+m.randomBelow(maxRandomDelay), e, RenewReplica, PutMember)
		m.addSpaced(reported+wakeDelay+m.randomBelow(maxRandomDelay), e, RenewReplica, PutMember)
	}
	m.addLeaseLoops(e, promoted, remaining, true)
	for at := promoted + m.LoopWait; at < m.Length; at += m.LoopWait {
		m.addLeaseLoops(e, at, remaining, m.hasWrites(cluster))
	}
}

// addSpaced adds consecutive calls at intervals of reportInterval.
func (m *scheduleBuilder) addSpaced(at time.Duration, e Entry, calls ...Call) {
	for _, e.Call = range calls {
		m.Add(at, e)
		at += reportInterval
	}
}
