package keys

import "sync/atomic"

// Unknown is the version of a key that no answer has told.
const Unknown = -1

// Versions remembers the version that each key had when an answer told it
// last, for compare-and-set. The loops of a generator share it: two clients
// that set the same key at once are a conflict, as they are for real users.
//
// What is kept is the version less Unknown, so that memory as the system gives
// it says unknown: of a large key space only what is touched is used.
type Versions struct{ of []atomic.Int64 }

// NewVersions returns the versions of n keys, all unknown.
func NewVersions(n uint64) *Versions { return &Versions{of: make([]atomic.Int64, n)} }

// Get returns a key's version, or Unknown.
func (v *Versions) Get(key uint64) int64 { return v.of[key].Load() + Unknown }

// Set notes a key's version. Answers overtake each other, and versions only
// grow, so an older one changes nothing.
func (v *Versions) Set(key uint64, version int64) {
	at, version := &v.of[key], version-Unknown
	for old := at.Load(); version > old; old = at.Load() {
		if at.CompareAndSwap(old, version) {
			return
		}
	}
}

// Forget makes a key's version unknown: the store refused what was known.
func (v *Versions) Forget(key uint64) { v.of[key].Store(0) }
