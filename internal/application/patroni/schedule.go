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
	// Race says that it is of a member that races, who is member Who.
	Race    bool
	Cluster uint32
}

// Schedule is what becomes due in a load, in its order.
type Schedule struct {
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
}

// Within a loop, as seen of Patroni 4.1.5 on loopback: the leader puts the status when its
// lease is renewed and then its own key; the status wakes the others.
const (
	statusAfter = 50 * time.Millisecond
	memberAfter = 110 * time.Millisecond
	wokenAfter  = 110 * time.Millisecond // of the leader's renewal
	putAfter    = 50 * time.Millisecond  // of a replica's renewal
	// restAfter is how much later than the leader a replica looks where nothing wakes it.
	restAfter = 500 * time.Millisecond
	// spread is by how much replicas differ.
	spread = 30 * time.Millisecond
)

// After a failover, since the leader's key is gone: the race, and the winner's and the
// losers' first loop once the database is promoted.
const (
	raceAfter     = 30 * time.Millisecond
	wonAfter      = 80 * time.Millisecond
	readAfter     = 250 * time.Millisecond
	promotedAfter = 1800 * time.Millisecond
)

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
		m.loops(uint32(cluster), phase, length, false)
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
func (m *maker) loops(cluster uint32, from, to time.Duration, after bool) {
	members := m.Members
	if after {
		members-- // one has died
	}
	for at := from; at < to; at += m.LoopWait {
		m.loop(cluster, at, members, after)
	}
}

func (m *maker) loop(cluster uint32, at time.Duration, members int, after bool) {
	e := Entry{Cluster: cluster, After: after}
	add := func(at time.Duration, call Call, who int) {
		e.Call, e.Who = call, uint8(who)
		m.add(at, e)
	}
	written := int(cluster) < m.Written
	add(at, RenewLeader, 0)
	if written {
		add(at+statusAfter, PutStatus, 0)
		add(at+memberAfter, PutMember, 0)
	}
	for who := 1; who < members; who++ {
		look := at + restAfter
		if written {
			look = at + wokenAfter
		}
		look += time.Duration(m.random.Int64N(int64(spread)))
		add(look, RenewReplica, who)
		if written {
			add(look+putAfter, PutMember, who)
		}
	}
}

// failover adds the loops of a cluster whose leader dies: it sends nothing any more, its
// lease expires, the others race for its key.
func (m *maker) failover(cluster uint32, phase, dies time.Duration) {
	m.loops(cluster, phase, dies, false)
	last := phase + (dies-1-phase)/m.LoopWait*m.LoopWait // the leader's last renewal
	expires := last + m.TTL
	left := m.Members - 1
	for at := last + m.LoopWait; at < expires; at += m.LoopWait { // nothing wakes the others
		for who := range left {
			m.add(at+restAfter+time.Duration(m.random.Int64N(int64(spread))), Entry{Call: RenewReplica, Who: uint8(who + 1), Cluster: cluster})
		}
	}
	e := Entry{Cluster: cluster, After: true}
	for who := range left {
		e.Who, e.Race = uint8(who+1), true
		e.Call = RenewReplica
		m.add(expires, e)
		e.Call = Race
		m.add(expires+raceAfter, e)
	}
	won := Entry{Cluster: cluster, After: true}
	for _, of := range []struct {
		after time.Duration
		call  Call
	}{{wonAfter, PutMember}, {readAfter, RenewLeader}, {promotedAfter - spread, PutHistory}} {
		won.Call = of.call
		m.add(expires+of.after, won)
	}
	for who := 1; who < left; who++ {
		m.add(expires+readAfter, Entry{Call: ReadCluster, Who: uint8(who), Cluster: cluster, After: true})
	}
	m.loops(cluster, expires+promotedAfter, m.length, true)
}

// Kinds is how many calls of each kind there are.
func (s *Schedule) Kinds() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}
