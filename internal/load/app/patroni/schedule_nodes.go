package patroni

import "time"

// Of the way Nodes, as seen of Patroni 4.1.5 on loopback: each member reads the names of
// its cluster's keys and of its members, and each of those keys, one behind the other;
// then is put what is to be put; and pings follow until the next loop.
const (
	nodeStep = time.Millisecond
	// nodeSpread is by how much replicas look later than their leader: what wakes nobody
	// ends half a second late.
	nodeSpread = 500 * time.Millisecond
	// nodeAsks is how long a member that races asks the other members how they are.
	nodeAsks = 35 * time.Millisecond
)

// keysRead is how many keys are read in each loop beside the members'. There is a history,
// which is another, once there was a failover.
const keysRead = 4

// reading is how many calls a member reads its cluster with.
func (c *Config) reading() int { return 2 + keysRead + c.Members }

// join adds how a cluster begins, whose sessions are those of the load's connections: the
// members create their keys, and the first of them takes the leader's.
func (m *maker) join(cluster uint32, at time.Duration) {
	e := Entry{Cluster: cluster, Race: true}
	for who := range m.Members {
		e.Who, e.Call = uint8(who), Join
		m.add(at, e)
	}
	e.Who, e.Call = 0, Lead
	m.add(at, e)
}

// reads adds how a member reads its cluster, and returns when it has: without the leader's
// key where that is not there, and without the history before there is one. Behind a
// failover the first of the members is not there.
func (m *maker) reads(at time.Duration, e Entry, leader, history bool) time.Duration {
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
		e.Who = uint8(who)
		m.nodeMember(e, at, written)
	}
}

// nodeMember adds a member's loop, and its pings up to the next.
func (m *maker) nodeMember(e Entry, at time.Duration, written bool) {
	leads := e.Who == 0
	if !leads {
		at += m.between(min(nodeSpread, m.LoopWait/8))
	}
	at = m.reads(at, e, true, e.After)
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
	m.ping(e, at, n, every)
}

// ping adds a member's pings behind what it has sent.
func (m *maker) ping(e Entry, at time.Duration, n int, every time.Duration) {
	if e.Call = RenewReplica; e.Who == 0 {
		e.Call = RenewLeader
	}
	for ; n > 0; n-- {
		at += every
		m.add(at, e)
	}
}

// nodeLast is when, behind the beginning of its last loop, a leader has sent its last ping.
func (m *maker) nodeLast(written bool) time.Duration {
	n, every := m.pings()
	last := time.Duration(m.reading())*nodeStep + time.Duration(n)*every
	if written {
		last += nodeStep
	}
	return last
}

// nodeFailover adds what those that are left send since the leader's last loop.
func (m *maker) nodeFailover(cluster uint32, last, expires time.Duration) {
	left := m.Members - 1
	e := Entry{Cluster: cluster}
	for at := last + m.LoopWait; at+m.LoopWait/8 < expires; at += m.LoopWait {
		for who := range left {
			e.Who = uint8(who + 1)
			m.nodeMember(e, at, false)
		}
	}
	e.After = true
	raced := expires
	for who := range left {
		e.Who, e.Race = uint8(who+1), true
		raced = m.reads(expires, e, false, false) + nodeAsks
		e.Call = Race
		m.add(raced, e)
	}
	e.Race = false
	n, every := m.pings()
	for who := range left {
		e.Who = uint8(who)
		at := m.reads(raced+nodeStep, e, true, false)
		if who == 0 {
			e.Call = PutMember
			m.add(at, e)
			m.ping(e, at, int((expires+promotedAfter-at)/every), every)
			continue
		}
		m.ping(e, at, n, every)
	}
	e.Who = 0
	promoted := expires + promotedAfter
	at := m.reads(promoted-time.Duration(m.reading()+3)*nodeStep, e, true, false)
	for _, e.Call = range []Call{PutStatus, PutHistory, PutMember} {
		m.add(at, e)
		at += nodeStep
	}
	m.apart(e, expires, m.nodeMember)
}
