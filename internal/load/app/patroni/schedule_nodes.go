package patroni

import "time"

// These delays in the way Nodes were observed with Patroni 4.1.5 on loopback. A member lists the
// names of its cluster's keys and members, and reads each of these keys, one call after the other.
// Then it writes its own keys. It sends pings until the next loop.
const (
	nodeStep = time.Millisecond
	// nodeSpread is the maximum delay of a replica's loop after the leader's loop. The delays
	// differ, because a member waits for half a second longer if no change ends its wait.
	nodeSpread = 500 * time.Millisecond
	// nodeAsks is the time for which a racing member asks the other members for their states.
	nodeAsks = 35 * time.Millisecond
)

// keysRead is the number of keys that each loop reads in addition to the members' keys. After the
// first failover, each loop also reads the history.
const keysRead = 4

// readCalls returns the number of calls with which a member reads its cluster.
func (c *Config) readCalls() int { return 2 + keysRead + c.Members }

// addJoins adds the calls of a cluster that starts during the load, in which members use the
// sessions of the load's connections. The members create their keys, and the first member takes the
// leader's key.
func (m *maker) addJoins(cluster uint32, at time.Duration) {
	e := Entry{Cluster: cluster, Race: true}
	for who := range m.Members {
		e.Caller, e.Call = uint8(who), Join
		m.add(at, e)
	}
	e.Caller, e.Call = 0, Lead
	m.add(at, e)
}

// addReads adds the calls with which a member reads its cluster, and returns the time at which they
// end. The parameters `leader` and `history` are true if these keys exist. After a failover, the
// first member's key does not exist.
func (m *maker) addReads(at time.Duration, e Entry, leader, history bool) time.Duration {
	add := func(call Call, k Key) {
		e.Call, e.Key = call, k
		m.add(at, e)
		at += nodeStep
	}
	add(ListKeys, Initialize)
	add(ReadKey, Initialize)
	add(ReadKey, ConfigKey)
	if history {
		add(ReadKey, History)
	}
	add(ListKeys, FirstMember)
	for member := range m.Members {
		if member > 0 || !e.After {
			add(ReadKey, MemberKey(member))
		}
	}
	if leader {
		add(ReadKey, Leader)
	}
	add(ReadKey, Status)
	return at
}

func (m *maker) nodeLoop(e Entry, at time.Duration, members int, written bool) {
	for who := range members {
		e.Caller = uint8(who)
		m.nodeMember(e, at, written)
	}
}

// nodeMember adds one loop of a member, and the pings between this loop and the next.
func (m *maker) nodeMember(e Entry, at time.Duration, written bool) {
	leads := e.Caller == 0
	if !leads {
		at += m.randomBelow(min(nodeSpread, m.LoopWait/8))
	}
	at = m.addReads(at, e, true, e.After)
	if written {
		if leads {
			e.Call = PutStatus
			m.add(at, e)
			at += nodeStep
		}
		e.Call = PutMember
		m.add(at, e)
	}
	n, every := m.pings()
	m.addPings(e, at, n, every)
}

// addPings adds n pings that a member sends after its last call.
func (m *maker) addPings(e Entry, at time.Duration, n int, every time.Duration) {
	if e.Call = RenewReplica; e.Caller == 0 {
		e.Call = RenewLeader
	}
	for ; n > 0; n-- {
		at += every
		m.add(at, e)
	}
}

// nodeLast returns the time from the start of a leader's last loop to its last ping.
func (m *maker) nodeLast(written bool) time.Duration {
	n, every := m.pings()
	last := time.Duration(m.readCalls())*nodeStep + time.Duration(n)*every
	if written {
		last += nodeStep
	}
	return last
}

// nodeFailover adds the calls of the remaining members that follow the dead leader's last loop.
func (m *maker) nodeFailover(cluster uint32, last, expires time.Duration) {
	left := m.Members - 1
	e := Entry{Cluster: cluster}
	for at := last + m.LoopWait; at+m.LoopWait/8 < expires; at += m.LoopWait {
		for who := range left {
			e.Caller = uint8(who + 1)
			m.nodeMember(e, at, false)
		}
	}
	e.After = true
	raced := expires
	for who := range left {
		e.Caller, e.Race = uint8(who+1), true
		raced = m.addReads(expires, e, false, false) + nodeAsks
		e.Call = Race
		m.add(raced, e)
	}
	e.Race = false
	n, every := m.pings()
	for who := range left {
		e.Caller = uint8(who)
		at := m.addReads(raced+nodeStep, e, true, false)
		if who == 0 {
			e.Call = PutMember
			m.add(at, e)
			m.addPings(e, at, int((expires+promotedAfter-at)/every), every)
			continue
		}
		m.addPings(e, at, n, every)
	}
	e.Caller = 0
	promoted := expires + promotedAfter
	at := m.addReads(promoted-time.Duration(m.readCalls()+3)*nodeStep, e, true, false)
	for _, e.Call = range []Call{PutStatus, PutHistory, PutMember} {
		m.add(at, e)
		at += nodeStep
	}
	m.addSeparateLoops(e, expires, m.nodeMember)
}
