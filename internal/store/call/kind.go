package call

import "github.com/quorumbench/quorumbench/internal/kv"

// Kind returns the load operation that is most similar to the call, and the consistency level if
// the call is a read. ok is false if no operation is similar, for example for leases, watchers and
// administration.
func (c *Call) Kind() (kind kv.Kind, level kv.Consistency, ok bool) {
	if c.Pushed || len(c.Parts) == 0 {
		return 0, 0, false
	}
	if c.Guarded {
		return kv.CAS, kv.NoConsistency, true
	}
	first := &c.Parts[0]
	level = kv.Linearizable
	switch {
	case first.Flags&Local != 0:
		level = kv.Local
	case first.Flags&LeaderLeaseRead != 0:
		level = kv.LeaderLease
	}
	if first.Branch != Always { // a transaction without guards
		for i := range c.Parts {
			if a := c.Parts[i].Action; a == Write || a == Remove {
				return kv.Txn, kv.NoConsistency, true
			}
		}
		return kv.TxnGet, level, first.Action == Read
	}
	switch first.Action {
	case Read:
		if first.Scope == SingleKey {
			return kv.Get, level, true
		}
		return kv.Range, level, true
	case Write:
		return kv.Put, kv.NoConsistency, true
	case Remove:
		return kv.Delete, kv.NoConsistency, true
	}
	return 0, 0, false
}
