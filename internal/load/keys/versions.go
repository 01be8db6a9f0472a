package keys

import "sync/atomic"

// Unknown is the version of a key that no answer has returned.
const Unknown = -1

// Versions remembers the version that each key had when an answer returned it
// last, for compare-and-set. The loops of a generator share it: two clients
// that set the same key at once are a conflict, as they are for real users.
//
// What is kept is the version less Unknown, so that memory as the system gives
// it says unknown: of a large key space only what is touched is used.
type Versions struct{ of []int64 }

// NewVersions returns the versions of n keys, all unknown.
func NewVersions(n uint64) *Versions { return &Versions{of: make([]int64, n)} }

// VersionsOf goes on with what List returned of others with as many keys, in the
// same memory; else all are unknown.
func VersionsOf(n uint64, list []int64) *Versions {
	if uint64(len(list)) != n {
		return NewVersions(n)
	}
	return &Versions{of: list}
}

// List is all versions, each less Unknown. They are the versions' own memory.
func (v *Versions) List() []int64 { return v.of }

// Get returns a key's version, or Unknown.
func (v *Versions) Get(key uint64) int64 { return atomic.LoadInt64(&v.of[key]) + Unknown }

// Set notes a key's version. Answers overtake each other, and versions only
// grow, so an older one changes nothing.
func (v *Versions) Set(key uint64, version int64) {
	at, version := &v.of[key], version-Unknown
	for old := atomic.LoadInt64(at); version > old; old = atomic.LoadInt64(at) {
		if atomic.CompareAndSwapInt64(at, old, version) {
			return
		}
	}
}

// Forget makes a key's version unknown: the store refused what was known.
func (v *Versions) Forget(key uint64) { atomic.StoreInt64(&v.of[key], 0) }
