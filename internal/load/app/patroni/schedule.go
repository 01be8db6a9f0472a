package patroni

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Entry is a scheduled call.
type Entry struct {
	Call Call
	// Caller identifies the member that makes the call. 0 is the cluster's leader, and n is the
	// n-th of its other members. After the first leader's death, only the remaining members are
	// counted.
	Caller uint8
	// AfterFailover is set if the call belongs to a failover and must wait until the leader's key
	// has been deleted. If CallerFixed is not set, the call must also wait until a member has won
	// the race.
	AfterFailover bool
	// CallerFixed is set if the call belongs to a member that races, or to a member that starts
	// together with its cluster. In both cases, Caller is the member's number.
	CallerFixed bool
	// For ReadKey, the key to read. For ListKeys, FirstMember means a list of the members, and any
	// other key means a list of all keys.
	Key     Key
	Cluster uint32
}

// Schedule lists the calls of a load in the order of their due times.
type Schedule struct {
	Due     []int64 // nanoseconds since the start of the load
	Entries []Entry
}

// promotionDelay is the time from the deletion of the leader's key to the winner's first loop as a
// normal leader. This time is the measured duration of PostgreSQL's promotion. Just before that
// loop, the winner reports its promotion in the store, even if its database is not written to.
const promotionDelay = 1800 * time.Millisecond

// sessionExpiryInterval is the maximum time from the timeout of a connection's session to the
// session's end. ZooKeeper looks for expired sessions at each tick, which is 2 s by default.
const sessionExpiryInterval = 2 * time.Second

type scheduleBuilder struct {
	Config
	app.Timeline[Entry]
	random *rand.Rand
}

// NewSchedule returns the schedule of a load, which depends only on the configuration and the
// length.
func NewSchedule(c Config, length time.Duration) *Schedule {
	m := scheduleBuilder{Config: c, Timeline: app.Timeline[Entry]{Length: length}, random: rand.New(rand.NewPCG(c.Seed, 0x7067))}
	dies := c.LeaderDeath(length)
	for cluster := range c.Clusters {
		phase := time.Duration(m.random.Int64N(int64(c.LoopWait)))
		if cluster < c.LeaderFailures && dies > 0 {
			m.addFailover(uint32(cluster), phase, dies)
			continue
		}
		m.addStart(uint32(cluster), phase)
		m.addLoops(uint32(cluster), phase, length)
	}
	s := &Schedule{}
	s.Due, s.Entries = m.Sorted()
	return s
}

// minWindow returns the length that a window in which leaders die must exceed. A leader that dies
// has made at least one loop. After the last lease has expired and a member has been promoted, the
// window must continue for at least one more loop.
func (c *Config) minWindow() time.Duration {
	least := c.TTL + 2*c.LoopWait + promotionDelay
	if c.Way == Nodes { // a ping is the last sign of life, and sessions expire only at ticks
		least += c.LoopWait + sessionExpiryInterval
	}
	return least
}

// LeaderDeath returns the time at which the leaders die in a load of the given length. After this
// time, the load continues until the last lease has expired, and for at least one more loop.
// LeaderDeath returns 0 if no leader dies or the load is too short.
func (c *Config) LeaderDeath(length time.Duration) time.Duration {
	rest := length - c.minWindow()
	if c.LeaderFailures == 0 || rest <= 0 {
		return 0
	}
	return max((rest+c.LoopWait)/3, c.LoopWait)
}

// addLoops adds the loops of a cluster that start at or after `from` and before `to`.
func (m *scheduleBuilder) addLoops(cluster uint32, from, to time.Duration) {
	e, written := Entry{Cluster: cluster}, m.hasWrites(cluster)
	for at := from; at < to; at += m.LoopWait {
		switch m.Way {
		case Leases:
			m.addLeaseLoops(e, at, m.Members, written)
		case Locks:
			m.addLockLoops(e, at, m.Members, written)
		case Nodes:
			m.addNodeLoops(e, at, m.Members, written)
		}
	}
}

// hasWrites reports whether a cluster's database is written to.
func (m *scheduleBuilder) hasWrites(cluster uint32) bool { return int(cluster) < m.WrittenClusters }

// addSeparateLoops adds the loops of the members that remain after a failover. It is used for ways
// in which the leader's writes do not wake the other members. The new leader's loops start when its
// promotion is complete. The loops of each other member start one loop-wait after the loop in which
// the member raced.
func (m *scheduleBuilder) addSeparateLoops(e Entry, expiry time.Duration, loop func(e Entry, at time.Duration, written bool)) {
	for caller := range m.Members - 1 {
		e.Caller = uint8(caller)
		at, written := expiry+m.LoopWait, m.hasWrites(e.Cluster)
		if caller == 0 {
			at = expiry + promotionDelay
			loop(e, at, true)
			at += m.LoopWait
		}
		for ; at < m.Length; at += m.LoopWait {
			loop(e, at, written)
		}
	}
}

// randomBelow returns a random duration of at least 0 and less than d.
func (m *scheduleBuilder) randomBelow(d time.Duration) time.Duration {
	return time.Duration(m.random.Int64N(int64(max(d, 1))))
}

// addStart adds the calls of a cluster that starts during the load.
func (m *scheduleBuilder) addStart(cluster uint32, at time.Duration) {
	if m.Way == Nodes {
		m.addJoins(cluster, at)
	}
}

// addFailover adds the loops of a cluster whose leader dies. After its death, the leader sends
// nothing and its lease expires. Then the other members race for the leader's key.
func (m *scheduleBuilder) addFailover(cluster uint32, phase, deathTime time.Duration) {
	m.addStart(cluster, phase)
	m.addLoops(cluster, phase, deathTime)
	last := phase + (deathTime-1-phase)/m.LoopWait*m.LoopWait // the leader's last loop
	switch m.Way {
	case Leases:
		m.addLeaseFailover(cluster, last, last+m.TTL)
	case Locks:
		m.addLockFailover(cluster, last, last+lockCallInterval+m.TTL)
	case Nodes:
		m.addNodeFailover(cluster, last, last+m.lastPingDelay(m.hasWrites(cluster))+m.TTL)
	}
}

// CountByKind returns the number of calls of each kind.
func (s *Schedule) CountByKind() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}
