package keys

import "sync/atomic"

// Unknown is used as the version of a key if no reply has contained the key's version.
const Unknown = -1

// Versions stores, for each key, the latest version that a reply contained. Compare-and-sets use
// these versions. All event loops of a generator share them. If two clients set the same key at the
// same time, one of them gets a conflict, as would happen with real clients.
//
// Each element is the version minus Unknown, so that zeroed memory means that all versions are
// unknown. Therefore the operating system allocates memory only for the keys that a load uses, even
// if the key space is large.
type Versions struct{ versions []int64 }

// NewVersions returns the versions of n keys. All of them are unknown.
func NewVersions(n uint64) *Versions { return &Versions{versions: make([]int64, n)} }

// RestoreVersions returns the Versions from which List returned the given list. The result shares
// the list's memory. If the list does not have n elements, all versions are unknown.
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

// Set stores a key's version, unless the stored version is newer. A newer version can be stored
// already because replies can arrive out of order.
func (v *Versions) Set(key uint64, version int64) {
	at, version := &v.versions[key], version-Unknown
	for old := atomic.LoadInt64(at); version > old; old = atomic.LoadInt64(at) {
		if atomic.CompareAndSwapInt64(at, old, version) {
			return
		}
	}
}

// Forget makes a key's version unknown. It is called when the known version is out of date: the
// store refused it, or a write replaced it and the reply did not contain the new version.
func (v *Versions) Forget(key uint64) { atomic.StoreInt64(&v.versions[key], 0) }
