package verify

import "github.com/quorumbench/quorumbench/internal/measure/history"

// pass is the state of one pass over the history.
type pass struct {
	*checker
	includes          func(uint64) bool // reports whether this pass checks a key or revision
	first, rechecking bool
	byTime            bool // check keys with checkByTime, by the times of their operations
	txns              *transactions
	revisionHistory   *revisionHistory
	sessions          sessions
	watchers          *watchers
	leases            leases
	locks             locks
	members           []uint64 // IDs of the members, by the small numbers that the method `member` returns
	ord, firstPartOrd uint32   // number of the current operation; number of the first part of its transaction
}

// processLease processes an operation on a lease or a lock.
func (p *pass) processLease(o *history.Op) {
	switch {
	case !p.first:
	case o.LockChange != history.NoLockChange:
		p.locks.take(o, p.ord)
	default:
		p.leases.processKeepAlive(&p.found, o, p.ord)
	}
}

// maxMembers is the maximum number of members that a check distinguishes.
const maxMembers = 256

// member returns a small number for the member that served an operation.
func (p *pass) member(o *history.Op) uint8 {
	for i, id := range p.members {
		if id == o.Member {
			return uint8(i)
		}
	}
	if len(p.members) < maxMembers {
		p.members = append(p.members, o.Member)
	}
	return uint8(len(p.members) - 1)
}
