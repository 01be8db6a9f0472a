package patroni

import "time"

// These delays in the way Locks were observed with Patroni 4.1.5 on loopback. A member first reads
// the cluster, then renews its session, and then writes its keys, one call after the other. A
// replica's loop starts when the replica's query for the leader's key returns. If the key changes,
// the query returns immediately. Otherwise it returns after the requested wait plus a random delay,
// which the store adds and which is up to a sixteenth of the wait.
const (
	lockStep = 3 * time.Millisecond
	// asksAfter is the time for which a racing member asks the other members for their states.
	asksAfter = 95 * time.Millisecond
	// A query can return later than requested, by at most the wait divided by waitJitter.
	waitJitter = 16
)

// QueryWait returns the wait that a query must request so that it returns once per loop on average.
// Patroni itself requests the time until its next loop.
func (c *Config) QueryWait() time.Duration {
	return c.LoopWait * (2 * waitJitter) / (2*waitJitter + 1)
}

// addSteps adds consecutive calls at intervals of lockStep.
func (m *maker) addSteps(at time.Duration, e Entry, calls ...Call) {
	for _, call := range calls {
		e.Call = call
		m.add(at, e)
		at += lockStep
	}
}

func (m *maker) lockLoop(e Entry, at time.Duration, members int, written bool) {
	for who := range members {
		e.Caller = uint8(who)
		m.lockMember(e, at, written)
	}
}

// lockMember adds one loop of a member.
func (m *maker) lockMember(e Entry, at time.Duration, written bool) {
	if e.Caller > 0 {
		m.lockReplica(e, at, written)
		return
	}
	m.addSteps(at, e, ReadCluster, RenewLeader)
	if written {
		m.addSteps(at+2*lockStep, e, PutStatus, PutMember)
	}
}

// lockReplica adds one loop of a replica.
func (m *maker) lockReplica(e Entry, at time.Duration, written bool) {
	at += m.randomBelow(m.LoopWait / waitJitter)
	m.addSteps(at, e, ReadCluster, RenewReplica)
	if written {
		m.addSteps(at+2*lockStep, e, PutMember)
	}
}

// lockFailover adds the calls of the remaining members that follow the dead leader's last loop.
func (m *maker) lockFailover(cluster uint32, last, expires time.Duration) {
	left := m.Members - 1
	e := Entry{Cluster: cluster}
	for at := last + m.LoopWait; at+m.LoopWait/waitJitter < expires; at += m.LoopWait {
		for who := range left {
			e.Caller = uint8(who + 1)
			m.lockReplica(e, at, false)
		}
	}
	e.After = true
	for who := range left {
		e.Caller, e.Race = uint8(who+1), true
		m.addSteps(expires, e, ReadCluster)
		m.addSteps(expires+asksAfter, e, RenewReplica, Race)
	}
	won := expires + asksAfter + 2*lockStep
	e.Race = false
	for who := range left {
		e.Caller = uint8(who)
		m.addSteps(won, e, ReadCluster)
	}
	e.Caller = 0
	m.addSteps(won+lockStep, e, PutMember)
	promoted := expires + promotedAfter
	m.addSteps(promoted-5*lockStep, e, ReadCluster, RenewLeader, PutStatus, PutHistory, PutMember)
	m.addSeparateLoops(e, expires, m.lockMember)
}
