package keys

import "sync/atomic"

// Unknown is used as the version of a key if no reply has contained the key's version.
const Unknown = -1

// Versions stores, for each key, the latest version that a reply contained. Compare-and-sets use
// these versions. All event loops of a generator share them. If two clients set the same key at the
// same time, one gets a conflict, as happens to real users.
//
// It stores the version minus Unknown, so that memory with zeros means unknown. As a result, the
// operating system allocates memory only for those keys of a large key space that are used.
type Versions struct{ versions []int64 }

// NewVersions returns the versions of n keys. All of them are unknown.
func NewVersions(n uint64) *Versions { return &Versions{versions: make([]int64, n)} }

// RestoreVersions returns Versions that contain a list returned by List, and use the memory of the
// list. If the list does not have n elements, all versions are unknown.
func RestoreVersions(n uint64, list []int64) *Versions {
	if uint64(len(list)) != n {
		return NewVersions(n)
	}
	return &Versions{versions: list}
}

// List returns all versions, each minus Unknown. The result shares the memory of v.
func (v *Versions) List() []int64 { return v.versions }

// Get returns a key's version, or Unknown.
func (v *Versions) Get(key uint64) int64 { return atomic.LoadInt64(&v.versions[key]) + Unknown }

// Set stores a key's version, unless the stored version is newer. This can happen because replies
// can overtake each other; the versions themselves only increase.
func (v *Versions) Set(key uint64, version int64) {
	at, version := &v.versions[key], version-Unknown
	for old := atomic.LoadInt64(at); version > old; old = atomic.LoadInt64(at) {
		if atomic.CompareAndSwapInt64(at, old, version) {
			return
		}
	}
}

// Forget makes a key's version unknown. It is called when the store has refused the known version.
func (v *Versions) Forget(key uint64) { atomic.StoreInt64(&v.versions[key], 0) }
