package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// way makes the calls in the form that a store understands. It holds the members' leases or
// sessions. A member's number counts over all clusters.
type way interface {
	// fill makes the n-th call, e, of the member all. op.Kind and op.Consistency are set, and
	// s.value holds the value to write.
	fill(s *source, e Entry, key Key, all int, op *store.Op)
	// handleRenewal handles the response to a successful renewal. It returns the text of a wrong
	// response, or nil.
	handleRenewal(all int, ev *store.Event) (wrong []byte)
	// lose notes that a member's lease or session is gone. The member's next renewal, or the next
	// put of its key, replaces it.
	lose(all int)
	// grant makes a call that grants a lease or session. It returns false if the session is that of
	// the member's connection; such sessions and their keys do not exist before the load.
	grant(s *source, op *store.Op) bool
	// save returns the leases or sessions for the script that sends the load; restore restores
	// them.
	save() []int64
	restore([]int64)
	// grantedIn returns the number of the lease or session in a renewal's response; 0: none.
	grantedIn(ev *store.Event) int64
	// lifetime returns how long a lease or session lives without a renewal.
	lifetime() time.Duration
	// addWatchers adds the members' watchers to a plan.
	addWatchers(s *Script, p *watch.Plan)
}

func wayOf(c *Config) way {
	switch c.Way {
	case Locks:
		return &locks{held: make([]sessionName, c.MemberCount()), has: make([]bool, c.MemberCount()), ttl: c.TTL}
	case Nodes:
		return &nodes{ttl: c.TTL, gone: make([]bool, c.MemberCount())}
	}
	return &leases{held: make([]int64, c.MemberCount()), ttl: int64(c.TTL.Seconds())}
}

// leased reports whether a key ends with its member's lease or session.
func leased(k Key) bool { return k == Leader || k >= FirstMember }
