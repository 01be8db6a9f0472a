package keys

import "sync/atomic"

// Unknown is the version of a key that no answer has told.
const Unknown = -1

// Versions remembers the version that each key had when an answer told it
// last, for compare-and-set. The loops of a generator share it: two clients
// that set the same key at once are a conflict, as they are for real users.
type Versions struct{ of []atomic.Int64 }

// NewVersions returns the versions of n keys, all unknown.
func NewVersions(n uint64) *Versions {
	v := &Versions{of: make([]atomic.Int64, n)}
	for i := range v.of {
		v.of[i].Store(Unknown)
	}
	return v
}

// Get returns a key's version, or Unknown.
func (v *Versions) Get(key uint64) int64 { return v.of[key].Load() }

// Set notes a key's version. Answers overtake each other, and versions only
// grow, so an older one changes nothing.
func (v *Versions) Set(key uint64, version int64) {
	at := &v.of[key]
	for old := at.Load(); version > old; old = at.Load() {
		if at.CompareAndSwap(old, version) {
			return
		}
	}
}

// Forget makes a key's version unknown: the store refused what was known.
func (v *Versions) Forget(key uint64) { v.of[key].Store(Unknown) }
