package keys

import "sync/atomic"

// Unknown is the version of a key for which no reply has returned one.
const Unknown = -1

// Versions stores the latest version that a reply returned for each key, for compare-and-sets.
// The loops of a generator share it: if two clients set the same key at the same time, one gets
// a conflict, as real users do.
//
// It stores the version minus Unknown, so that zeroed memory means unknown. For a large key
// space the system then provides memory only for the keys that are used.
type Versions struct{ versions []int64 }

// NewVersions returns the versions of n keys, all unknown.
func NewVersions(n uint64) *Versions { return &Versions{versions: make([]int64, n)} }

// RestoreVersions continues with a list that List returned, and uses its memory. If the list does
// not have n keys, all versions are unknown.
func RestoreVersions(n uint64, list []int64) *Versions {
	if uint64(len(list)) != n {
		return NewVersions(n)
	}
	return &Versions{versions: list}
}

// List returns all versions, each minus Unknown. It returns the memory of v, not a copy.
func (v *Versions) List() []int64 { return v.versions }

// Get returns a key's version, or Unknown.
func (v *Versions) Get(key uint64) int64 { return atomic.LoadInt64(&v.versions[key]) + Unknown }

// Set stores a key's version unless it is older than the stored one. Replies can overtake each
// other, but versions only increase.
func (v *Versions) Set(key uint64, version int64) {
	at, version := &v.versions[key], version-Unknown
	for old := atomic.LoadInt64(at); version > old; old = atomic.LoadInt64(at) {
		if atomic.CompareAndSwapInt64(at, old, version) {
			return
		}
	}
}

// Forget makes a key's version unknown, because the store has refused the known one.
func (v *Versions) Forget(key uint64) { atomic.StoreInt64(&v.versions[key], 0) }
