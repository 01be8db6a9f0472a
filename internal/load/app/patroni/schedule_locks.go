package patroni

import "time"

// Of the way Locks, as seen of Patroni 4.1.5 on loopback: the cluster is read, the session
// renewed, and then is put what is to be put, one behind the other. A replica's loop
// begins when its query for the leader's key returns, which the store lets it do up to a
// sixteenth of the wait late, or at once when the key changes.
const (
	lockStep = 3 * time.Millisecond
	// asksAfter is how long a member that races asks the other members how they are.
	asksAfter = 95 * time.Millisecond
	// waitJitter is the part of its wait by which a query returns late at most.
	waitJitter = 16
)

// QueryWait is how long a query waits so that there is one in each loop in the mean. A
// Patroni asks it to wait until its next loop is due.
func (c *Config) QueryWait() time.Duration {
	return c.LoopWait * (2 * waitJitter) / (2*waitJitter + 1)
}

// steps adds calls one behind the other.
func (m *maker) steps(at time.Duration, e Entry, calls ...Call) {
	for _, call := range calls {
		e.Call = call
		m.add(at, e)
		at += lockStep
	}
}

func (m *maker) lockLoop(e Entry, at time.Duration, members int, written bool) {
	for who := range members {
		e.Who = uint8(who)
		m.lockMember(e, at, written)
	}
}

// lockMember adds a member's loop.
func (m *maker) lockMember(e Entry, at time.Duration, written bool) {
	if e.Who > 0 {
		m.lockReplica(e, at, written)
		return
	}
	m.steps(at, e, ReadCluster, RenewLeader)
	if written {
		m.steps(at+2*lockStep, e, PutStatus, PutMember)
	}
}

// lockReplica adds a replica's loop.
func (m *maker) lockReplica(e Entry, at time.Duration, written bool) {
	at += m.between(m.LoopWait / waitJitter)
	m.steps(at, e, ReadCluster, RenewReplica)
	if written {
		m.steps(at+2*lockStep, e, PutMember)
	}
}

// lockFailover adds what those that are left send since the leader's last loop.
func (m *maker) lockFailover(cluster uint32, last, expires time.Duration) {
	left := m.Members - 1
	e := Entry{Cluster: cluster}
	for at := last + m.LoopWait; at+m.LoopWait/waitJitter < expires; at += m.LoopWait {
		for who := range left {
			e.Who = uint8(who + 1)
			m.lockReplica(e, at, false)
		}
	}
	e.After = true
	for who := range left {
		e.Who, e.Race = uint8(who+1), true
		m.steps(expires, e, ReadCluster)
		m.steps(expires+asksAfter, e, RenewReplica, Race)
	}
	won := expires + asksAfter + 2*lockStep
	e.Race = false
	for who := range left {
		e.Who = uint8(who)
		m.steps(won, e, ReadCluster)
	}
	e.Who = 0
	m.steps(won+lockStep, e, PutMember)
	promoted := expires + promotedAfter
	m.steps(promoted-5*lockStep, e, ReadCluster, RenewLeader, PutStatus, PutHistory, PutMember)
	m.apart(e, expires, m.lockMember)
}
