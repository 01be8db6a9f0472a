package verify

import "github.com/quorumbench/quorumbench/internal/measure/history"

// pass is one reading of the history.
type pass struct {
	*checker
	in           func(uint64) bool // selects the keys and revisions to check in this pass
	first, again bool
	inTime       bool // check keys by the times of their operations
	txns         *transactions
	seen         *sweep
	sessions     sessions
	watchers     *watchers
	leases       leases
	locks        locks
	members      []uint64 // members by their small numbers
	ord, head    uint32   // number of the current operation, and number of the first part of its transaction
}

// processLease processes an operation on a lease or a lock.
func (p *pass) processLease(o *history.Op) {
	switch {
	case !p.first:
	case o.Lock != history.NoHold:
		p.locks.take(o, p.ord)
	default:
		p.leases.keptAlive(&p.found, o, p.ord)
	}
}

// mostMembers is the maximum number of members that a check distinguishes.
const mostMembers = 256

// member returns a small number that identifies the member that responded.
func (p *pass) member(o *history.Op) uint8 {
	for i, id := range p.members {
		if id == o.Member {
			return uint8(i)
		}
	}
	if len(p.members) < mostMembers {
		p.members = append(p.members, o.Member)
	}
	return uint8(len(p.members) - 1)
}
