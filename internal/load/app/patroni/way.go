package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// way creates the calls in the form that a store supports, and stores the members' leases or
// sessions. Every parameter named `member` is a member's number, counted over all clusters.
type way interface {
	// fill creates the call for entry e, which is made by the member with the number `member`. The
	// caller sets op.Kind and op.Consistency, and stores the value to write in s.value.
	fill(s *source, e Entry, key Key, member int, op *store.Op)
	// handleRenewal handles the response to a successful renewal. If the response is wrong, it
	// returns the text for a wrong response. Otherwise it returns nil.
	handleRenewal(member int, ev *store.Event) (wrong []byte)
	// dropLease must be called when a member's lease or session has ended. The member's next
	// renewal, or the next put of its key, creates a new one.
	dropLease(member int)
	// grant creates a call that requests a lease or session. It returns false if the members use
	// the sessions of their connections. In that case, sessions and the keys that are bound to them
	// do not exist before the load.
	grant(s *source, op *store.Op) bool
	// save returns the leases or sessions. restore passes them to the script that sends the load.
	save() []int64
	restore([]int64)
	// grantedIn returns the number of the lease or session in the response to a renewal. It returns
	// 0 if the response contains none.
	grantedIn(ev *store.Event) int64
	// lifetime returns how long a lease or session is valid without a renewal.
	lifetime() time.Duration
	// addWatchers adds the members' watchers to a plan.
	addWatchers(s *Script, p *watch.Plan)
}

func newWay(c *Config) way {
	switch c.Way {
	case Locks:
		return &locks{sessions: make([]sessionName, c.MemberCount()), hasSession: make([]bool, c.MemberCount()), ttl: c.TTL}
	case Nodes:
		return &nodes{ttl: c.TTL, keyDeleted: make([]bool, c.MemberCount())}
	}
	return &leases{leaseIDs: make([]int64, c.MemberCount()), ttl: int64(c.TTL.Seconds())}
}

// isLeased reports whether a key is bound to its member's lease or session.
func isLeased(k Key) bool { return k == Leader || k >= FirstMember }
