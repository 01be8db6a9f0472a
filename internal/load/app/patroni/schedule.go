package patroni

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Entry is a call that becomes due.
type Entry struct {
	Call Call
	// Who makes it: the cluster's leader, or the Who-th of its other members, from 1. Of a
	// cluster whose first leader has died these are the members that are left.
	Who uint8
	// After says that it belongs to a failover, and waits until the leader's key is gone;
	// what is not of the Race also until somebody has won that.
	After bool
	// Race says that it is of a member that races, or takes its place when a cluster
	// begins, who is member Who.
	Race    bool
	Key     Key // ReadKey: which; ListKeys: FirstMember for the members, else all
	Cluster uint32
}

// Schedule is what becomes due in a load, in its order.
type Schedule struct {
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
}

// promotedAfter is when, since the leader's key is gone, the winner of the race begins its
// first loop as a leader like any: PostgreSQL's promotion took as long. It begins it as soon
// as it has told of that promotion, and puts what changed by it, whether its database is
// written to or not.
const promotedAfter = 1800 * time.Millisecond

// sessionStep is by how much later than its timeout a connection's session ends: ZooKeeper
// looks at each tick, of 2 s unless it is told otherwise.
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

// NewSchedule makes the calls that become due in a time. The same configuration makes the
// same schedule.
func NewSchedule(c Config, length time.Duration) *Schedule {
	m := maker{Config: c, length: length, random: rand.New(rand.NewPCG(c.Seed, 0x7067))}
	dies := c.Dies(length)
	for cluster := range c.Clusters {
		phase := time.Duration(m.random.Int64N(int64(c.LoopWait)))
		if cluster < c.Storm && dies > 0 {
			m.failover(uint32(cluster), phase, dies)
			continue
		}
		m.begin(uint32(cluster), phase)
		m.loops(uint32(cluster), phase, length)
	}
	slices.SortStableFunc(m.all, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	s := &Schedule{Due: make([]int64, len(m.all)), Entries: make([]Entry, len(m.all))}
	for i, d := range m.all {
		s.Due[i], s.Entries[i] = int64(d.at), d.Entry
	}
	return s
}

// Dies is when the leaders die that die at once, in a load of that length: so that the
// last of their leases expires, and a loop follows, before its end. 0: it is too short
// for that, and none dies.
func (c *Config) Dies(length time.Duration) time.Duration {
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

// loops adds a cluster's loops from a time up to another.
func (m *maker) loops(cluster uint32, from, to time.Duration) {
	e, written := Entry{Cluster: cluster}, m.written(cluster)
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

// written reports whether a cluster's database is written to.
func (m *maker) written(cluster uint32) bool { return int(cluster) < m.Written }

// apart adds the loops of those that are left behind a failover, where nothing that a leader
// puts wakes the others: it begins its own when it has been promoted, and each of the others
// a loop's wait behind the one in which it raced.
func (m *maker) apart(e Entry, expires time.Duration, loop func(e Entry, at time.Duration, written bool)) {
	for who := range m.Members - 1 {
		e.Who = uint8(who)
		at, written := expires+m.LoopWait, m.written(e.Cluster)
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

// between is a time from 0 to below d.
func (m *maker) between(d time.Duration) time.Duration {
	return time.Duration(m.random.Int64N(int64(max(d, 1))))
}

// begin adds what a cluster begins with in the load.
func (m *maker) begin(cluster uint32, at time.Duration) {
	if m.Way == Nodes {
		m.join(cluster, at)
	}
}

// failover adds the loops of a cluster whose leader dies: it sends nothing any more, its
// lease expires, the others race for its key.
func (m *maker) failover(cluster uint32, phase, dies time.Duration) {
	m.begin(cluster, phase)
	m.loops(cluster, phase, dies)
	last := phase + (dies-1-phase)/m.LoopWait*m.LoopWait // the leader's last loop
	switch m.Way {
	case Leases:
		m.leaseFailover(cluster, last, last+m.TTL)
	case Locks:
		m.lockFailover(cluster, last, last+lockStep+m.TTL)
	case Nodes:
		m.nodeFailover(cluster, last, last+m.nodeLast(m.written(cluster))+m.TTL)
	}
}

// Kinds is how many calls of each kind there are.
func (s *Schedule) Kinds() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}
