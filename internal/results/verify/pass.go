package verify

import "github.com/quorumbench/quorumbench/internal/measure/history"

// pass is the state of one pass over the history.
type pass struct {
	*checker
	in           func(uint64) bool // reports whether this pass checks a key or revision
	first, again bool
	inTime       bool // check keys with inTime, by the times of their operations
	txns         *transactions
	seen         *sweep
	sessions     sessions
	watchers     *watchers
	leases       leases
	locks        locks
	members      []uint64 // IDs of the members, by the small numbers that member returns
	ord, head    uint32   // number of the current operation; number of the first part of its transaction
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

// member returns a small number for the member that served an operation.
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
