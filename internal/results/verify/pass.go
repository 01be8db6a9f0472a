package verify

import "github.com/quorumbench/quorumbench/internal/measure/history"

// pass is one reading of the history.
type pass struct {
	*checker
	in           func(uint64) bool // selects the keys and revisions of the pass
	first, again bool
	inTime       bool // keys are checked by the times of their operations
	txns         *transactions
	seen         *sweep
	sessions     sessions
	watchers     *watchers
	leases       leases
	locks        locks
	members      []uint64 // indexed by small numbers
	ord, head    uint32   // numbers of the operation and of its transaction
}

// processLease processes an operation of a lease or a lock.
func (p *pass) processLease(o *history.Op) {
	switch {
	case !p.first:
	case o.Lock != history.NoHold:
		p.locks.take(o, p.ord)
	default:
		p.leases.keptAlive(&p.found, o, p.ord)
	}
}

// mostMembers limits the members of a history that are distinguished.
const mostMembers = 256

// member returns a small number for the member that responded.
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
