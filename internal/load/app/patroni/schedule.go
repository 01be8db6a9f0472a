package patroni

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Entry is a scheduled call.
type Entry struct {
	Call Call
	// Caller makes the call: 0 for the cluster's leader, or n for the n-th of its other members.
	// After the first leader's death these are the members that are left.
	Caller uint8
	// After is set if the call belongs to a failover and waits until the leader's key is gone.
	// Unless Race is set, it also waits until a member has won the race.
	After bool
	// Race is set if the call belongs to a member that races, or that starts with its cluster. Who
	// is then the member's number.
	Race    bool
	Key     Key // ReadKey: the key; ListKeys: FirstMember lists the members, any other value all keys
	Cluster uint32
}

// Schedule lists the calls of a load in the order of their due times.
type Schedule struct {
	Due     []int64 // nanoseconds since the start of the load
	Entries []Entry
}

// promotedAfter is the time from the end of the leader's key to the winner's first loop as an
// ordinary leader, which is how long PostgreSQL's promotion took. Just before, the winner reports
// its promotion in the store, even if its database is not written to.
const promotedAfter = 1800 * time.Millisecond

// sessionStep is how much later than its timeout a connection's session may end. ZooKeeper looks
// for expired sessions at each tick, by default every 2 s.
const sessionStep = 2 * time.Second

type due struct {
	at time.Duration
	Entry
}

type maker struct {
	Config
	length time.Duration
	random *rand.Rand
	all    []due
}

// NewSchedule returns the schedule of a load. It depends only on the configuration and the length.
func NewSchedule(c Config, length time.Duration) *Schedule {
	m := maker{Config: c, length: length, random: rand.New(rand.NewPCG(c.Seed, 0x7067))}
	dies := c.LeaderDeath(length)
	for cluster := range c.Clusters {
		phase := time.Duration(m.random.Int64N(int64(c.LoopWait)))
		if cluster < c.Storm && dies > 0 {
			m.addFailover(uint32(cluster), phase, dies)
			continue
		}
		m.addStart(uint32(cluster), phase)
		m.addLoops(uint32(cluster), phase, length)
	}
	slices.SortStableFunc(m.all, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	s := &Schedule{Due: make([]int64, len(m.all)), Entries: make([]Entry, len(m.all))}
	for i, d := range m.all {
		s.Due[i], s.Entries[i] = int64(d.at), d.Entry
	}
	return s
}

// LeaderDeath returns when the leaders die in a load of the given length, early enough for the last
// lease to expire, and a loop to follow, before the end. 0: no leader dies, or the load is too
// short.
func (c *Config) LeaderDeath(length time.Duration) time.Duration {
	rest := length - c.TTL - c.LoopWait - promotedAfter
	if c.Way == Nodes { // the last sign of life is a ping, and sessions end in steps
		rest -= c.LoopWait + sessionStep
	}
	if c.Storm == 0 || rest <= c.LoopWait {
		return 0
	}
	return max(rest/3, c.LoopWait)
}

func (m *maker) add(at time.Duration, e Entry) {
	if at >= 0 && at < m.length {
		m.all = append(m.all, due{at, e})
	}
}

// addLoops adds a cluster's loops that start in the given interval.
func (m *maker) addLoops(cluster uint32, from, to time.Duration) {
	e, written := Entry{Cluster: cluster}, m.isWritten(cluster)
	for at := from; at < to; at += m.LoopWait {
		switch m.Way {
		case Leases:
			m.leaseLoop(e, at, m.Members, written)
		case Locks:
			m.lockLoop(e, at, m.Members, written)
		case Nodes:
			m.nodeLoop(e, at, m.Members, written)
		}
	}
}

// isWritten reports whether a cluster's database is written to.
func (m *maker) isWritten(cluster uint32) bool { return int(cluster) < m.Written }

// addSeparateLoops adds the loops of the members that are left after a failover, if no write of a
// leader wakes the others. The new leader's loops start when it has been promoted, and each other
// member's one loop-wait after the loop in which it raced.
func (m *maker) addSeparateLoops(e Entry, expires time.Duration, loop func(e Entry, at time.Duration, written bool)) {
	for who := range m.Members - 1 {
		e.Caller = uint8(who)
		at, written := expires+m.LoopWait, m.isWritten(e.Cluster)
		if who == 0 {
			at = expires + promotedAfter
			loop(e, at, true)
			at += m.LoopWait
		}
		for ; at < m.length; at += m.LoopWait {
			loop(e, at, written)
		}
	}
}

// randomBelow returns a random duration from 0 to below d.
func (m *maker) randomBelow(d time.Duration) time.Duration {
	return time.Duration(m.random.Int64N(int64(max(d, 1))))
}

// addStart adds the calls with which a cluster starts in the load.
func (m *maker) addStart(cluster uint32, at time.Duration) {
	if m.Way == Nodes {
		m.addJoins(cluster, at)
	}
}

// addFailover adds the loops of a cluster whose leader dies. The leader sends nothing after that,
// its lease expires, and the other members race for its key.
func (m *maker) addFailover(cluster uint32, phase, dies time.Duration) {
	m.addStart(cluster, phase)
	m.addLoops(cluster, phase, dies)
	last := phase + (dies-1-phase)/m.LoopWait*m.LoopWait // the leader's last loop
	switch m.Way {
	case Leases:
		m.leaseFailover(cluster, last, last+m.TTL)
	case Locks:
		m.lockFailover(cluster, last, last+lockStep+m.TTL)
	case Nodes:
		m.nodeFailover(cluster, last, last+m.nodeLast(m.isWritten(cluster))+m.TTL)
	}
}

// Kinds returns the number of calls of each kind.
func (s *Schedule) Kinds() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}
