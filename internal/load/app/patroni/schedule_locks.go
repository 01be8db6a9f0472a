package patroni

import "time"

// These delays in the way Locks were observed with Patroni 4.1.5 on loopback. A member first reads
// the cluster, then renews its session, and then writes its keys, one call after the other. A
// replica's loop starts when the replica's query for the leader's key returns. If the key changes,
// the query returns immediately. Otherwise it returns after the requested wait plus a random delay.
// The store adds this delay, which is up to a sixteenth of the wait.
const (
	lockCallInterval = 3 * time.Millisecond
	// stateQueryTime is the time for which a racing member asks the other members for their states.
	stateQueryTime = 95 * time.Millisecond
	// A query can return later than requested, by at most the wait divided by waitJitter.
	waitJitter = 16
)

// QueryWait returns the wait that a query must request so that it returns once per loop on average.
// Patroni itself requests a wait until its next loop.
func (c *Config) QueryWait() time.Duration {
	return c.LoopWait * (2 * waitJitter) / (2*waitJitter + 1)
}

// addSteps adds consecutive calls at intervals of lockCallInterval.
func (m *scheduleBuilder) addSteps(at time.Duration, e Entry, calls ...Call) {
	for _, call := range calls {
		e.Call = call
		m.Add(at, e)
		at += lockCallInterval
	}
}

func (m *scheduleBuilder) addLockLoops(e Entry, at time.Duration, members int, written bool) {
	for caller := range members {
		e.Caller = uint8(caller)
		m.addLockLoop(e, at, written)
	}
}

// addLockLoop adds one loop of a member.
func (m *scheduleBuilder) addLockLoop(e Entry, at time.Duration, written bool) {
	if e.Caller > 0 {
		m.addLockReplicaLoop(e, at, written)
		return
	}
	m.addSteps(at, e, ReadCluster, RenewLeader)
	if written {
		m.addSteps(at+2*lockCallInterval, e, PutStatus, PutMember)
	}
}

// addLockReplicaLoop adds one loop of a replica.
func (m *scheduleBuilder) addLockReplicaLoop(e Entry, at time.Duration, written bool) {
	at += m.randomBelow(m.LoopWait / waitJitter)
	m.addSteps(at, e, ReadCluster, RenewReplica)
	if written {
		m.addSteps(at+2*lockCallInterval, e, PutMember)
	}
}

// addLockFailover adds the calls of the remaining members that follow the dead leader's last loop.
func (m *scheduleBuilder) addLockFailover(cluster uint32, lastLoop, expiry time.Duration) {
	remaining := m.Members - 1
	e := Entry{Cluster: cluster}
	for at := lastLoop + m.LoopWait; at+m.LoopWait/waitJitter < expiry; at += m.LoopWait {
		for caller := range remaining {
			e.Caller = uint8(caller + 1)
			m.addLockReplicaLoop(e, at, false)
		}
	}
	e.AfterFailover = true
	for caller := range remaining {
		e.Caller, e.CallerFixed = uint8(caller+1), true
		m.addSteps(expiry, e, ReadCluster)
		m.addSteps(expiry+stateQueryTime, e, RenewReplica, Race)
	}
	won := expiry + stateQueryTime + 2*lockCallInterval
	e.CallerFixed = false
	for caller := range remaining {
		e.Caller = uint8(caller)
		m.addSteps(won, e, ReadCluster)
	}
	e.Caller = 0
	m.addSteps(won+lockCallInterval, e, PutMember)
	promoted := expiry + promotionDelay
	m.addSteps(promoted-5*lockCallInterval, e, ReadCluster, RenewLeader, PutStatus, PutHistory, PutMember)
	m.addSeparateLoops(e, expiry, m.addLockLoop)
}
