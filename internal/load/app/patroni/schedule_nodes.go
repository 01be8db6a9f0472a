package patroni

import "time"

// These delays in the way Nodes were observed with Patroni 4.1.5 on loopback. A member lists the
// names of its cluster's keys and members, and reads each of these keys, one call after the other.
// Then it writes its own keys. It sends pings until the next loop.
const (
	nodeCallInterval = time.Millisecond
	// maxReplicaDelay is the maximum delay of a replica's loop after the leader's loop. The delays
	// differ, because a member waits for half a second longer if no change ends its wait.
	maxReplicaDelay = 500 * time.Millisecond
	// nodeStateQueryTime is the time for which a racing member asks the other members for their
	// states.
	nodeStateQueryTime = 35 * time.Millisecond
)

// keysRead is the number of keys that each loop reads in addition to the members' keys. After the
// first failover, each loop also reads the history.
const keysRead = 4

// readCallCount returns the number of calls with which a member reads its cluster.
func (c *Config) readCallCount() int { return 2 + keysRead + c.Members }

// addJoins adds the calls of a cluster that starts during the load, in which members use the
// sessions of the load's connections. The members create their keys, and the first member takes the
// leader's key.
func (m *scheduleBuilder) addJoins(cluster uint32, at time.Duration) {
	e := Entry{Cluster: cluster, CallerFixed: true}
	for caller := range m.Members {
		e.Caller, e.Call = uint8(caller), Join
		m.Add(at, e)
	}
	e.Caller, e.Call = 0, Lead
	m.Add(at, e)
}

// addReads adds the calls with which a member reads its cluster, and returns the time at which they
// end. The parameters `leader` and `history` are true if these keys exist. After a failover, the
// first member's key does not exist.
func (m *scheduleBuilder) addReads(at time.Duration, e Entry, leader, history bool) time.Duration {
	add := func(call Call, k Key) {
		e.Call, e.Key = call, k
		m.Add(at, e)
		at += nodeCallInterval
	}
	add(ListKeys, Initialize)
	add(ReadKey, Initialize)
	add(ReadKey, ConfigKey)
	if history {
		add(ReadKey, History)
	}
	add(ListKeys, FirstMember)
	for member := range m.Members {
		if member > 0 || !e.AfterFailover {
			add(ReadKey, MemberKey(member))
		}
	}
	if leader {
		add(ReadKey, Leader)
	}
	add(ReadKey, Status)
	return at
}

func (m *scheduleBuilder) addNodeLoops(e Entry, at time.Duration, members int, written bool) {
	for caller := range members {
		e.Caller = uint8(caller)
		m.addNodeLoop(e, at, written)
	}
}

// addNodeLoop adds one loop of a member, and the pings between this loop and the next.
func (m *scheduleBuilder) addNodeLoop(e Entry, at time.Duration, written bool) {
	leads := e.Caller == 0
	if !leads {
		at += m.randomBelow(min(maxReplicaDelay, m.LoopWait/8))
	}
	at = m.addReads(at, e, true, e.AfterFailover)
	if written {
		if leads {
			e.Call = PutStatus
			m.Add(at, e)
			at += nodeCallInterval
		}
		e.Call = PutMember
		m.Add(at, e)
	}
	n, every := m.pings()
	m.addPings(e, at, n, every)
}

// addPings adds n pings that a member sends after its last call.
func (m *scheduleBuilder) addPings(e Entry, at time.Duration, n int, interval time.Duration) {
	if e.Call = RenewReplica; e.Caller == 0 {
		e.Call = RenewLeader
	}
	for ; n > 0; n-- {
		at += interval
		m.Add(at, e)
	}
}

// lastPingDelay returns the time from the start of a leader's last loop to its last ping.
func (m *scheduleBuilder) lastPingDelay(written bool) time.Duration {
	n, every := m.pings()
	last := time.Duration(m.readCallCount())*nodeCallInterval + time.Duration(n)*every
	if written {
		last += nodeCallInterval
	}
	return last
}

// addNodeFailover adds the calls of the remaining members that follow the dead leader's last loop.
func (m *scheduleBuilder) addNodeFailover(cluster uint32, lastLoop, expiry time.Duration) {
	remaining := m.Members - 1
	e := Entry{Cluster: cluster}
	for at := lastLoop + m.LoopWait; at+m.LoopWait/8 < expiry; at += m.LoopWait {
		for caller := range remaining {
			e.Caller = uint8(caller + 1)
			m.addNodeLoop(e, at, false)
		}
	}
	e.AfterFailover = true
	raceTime := expiry
	for caller := range remaining {
		e.Caller, e.CallerFixed = uint8(caller+1), true
		raceTime = m.addReads(expiry, e, false, false) + nodeStateQueryTime
		e.Call = Race
		m.Add(raceTime, e)
	}
	e.CallerFixed = false
	n, every := m.pings()
	for caller := range remaining {
		e.Caller = uint8(caller)
		at := m.addReads(raceTime+nodeCallInterval, e, true, false)
		if caller == 0 {
			e.Call = PutMember
			m.Add(at, e)
			m.addPings(e, at, int((expiry+promotionDelay-at)/every), every)
			continue
		}
		m.addPings(e, at, n, every)
	}
	e.Caller = 0
	promoted := expiry + promotionDelay
	at := m.addReads(promoted-time.Duration(m.readCallCount()+3)*nodeCallInterval, e, true, false)
	for _, e.Call = range []Call{PutStatus, PutHistory, PutMember} {
		m.Add(at, e)
		at += nodeCallInterval
	}
	m.addSeparateLoops(e, expiry, m.addNodeLoop)
}
