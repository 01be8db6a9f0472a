package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// way is how the calls are said to a store. What a member holds, be it a lease or a
// session, belongs to it.
type way interface {
	// fill makes the call e, whose number is n, of a member, which has the number all among
	// all, and whose operation's kind is set. What is to be written is s.value.
	fill(s *source, e Entry, key Key, all int, op *store.Op)
	// took takes the answer to a renewal that succeeded.
	took(all int, ev *store.Event) (wrong []byte)
	// lost takes that what a member held is gone: it takes another at its next renewal, or
	// when it puts its key.
	lost(all int)
	// grant makes the operation that takes what a member holds; false where that is its
	// connection's, so that neither it nor the keys that go with it are there before.
	grant(s *source, op *store.Op) bool
	// keep is what is to be known of them when the load begins, and kept takes it.
	keep() []int64
	kept([]int64)
	// granted is the number of what a renewal's answer grants; 0: there is none.
	granted(ev *store.Event) int64
	// lives is how long what a member holds lives that is not renewed.
	lives() time.Duration
	// watching completes the plan of the watchers.
	watching(s *Script, p *watch.Plan)
}

func wayOf(c *Config) way {
	switch c.Way {
	case Locks:
		return &locks{held: make([]sessionName, c.All()), has: make([]bool, c.All()), ttl: c.TTL}
	case Nodes:
		return &nodes{ttl: c.TTL, gone: make([]bool, c.All())}
	}
	return &leases{held: make([]int64, c.All()), ttl: int64(c.TTL.Seconds())}
}

// leased reports whether a key is one that goes with its member.
func leased(k Key) bool { return k == Leader || k >= FirstMember }
