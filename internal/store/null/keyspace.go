package null

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Space holds keys with their newest values only. Overwriting a value does not allocate memory
// unless the new value is larger. T is the type of the additional data that a protocol stores with
// each key.
//
// The keys are distributed over shards, and each shard has a lock. A request first locks the shards
// of all its keys in ascending order, which makes the request atomic. A request for an interval
// locks all shards.
type Space[T any] struct {
	seed     maphash.Seed
	revision atomic.Int64
	shards   []shard[T]
	index    []*Entry[T] // sorted by key, as of the latest call of Interval; guarded by all locks
}

// MaxShards is the maximum number of shards in a space.
const MaxShards = 16

// maxStaleAdded limits how many removed entries shard.added keeps. If shard.added has more entries
// than twice the number of the shard's keys plus maxStaleAdded, its removed entries are deleted.
const maxStaleAdded = 64

type shard[T any] struct {
	mu      sync.Mutex
	entries map[string]*Entry[T]
	added   []*Entry[T] // entries that are not yet in the index
	removed []*Entry[T] // removed entries that are still in the index
	_       [64]byte    // keeps the next shard's lock on another cache line
}

// Entry is a key with its value and revisions.
type Entry[T any] struct {
	Key              string
	Value            []byte
	Created, Changed int64 // revision of the first and of the latest write
	Version          int64 // number of writes since the key was created; 0 before the first write
	Data             T

	indexed, removed bool
}

// NewSpace returns an empty space with the given number of shards and the given revision.
func NewSpace[T any](shards int, revision int64) *Space[T] {
	s := &Space[T]{seed: maphash.MakeSeed(), shards: make([]shard[T], shards)}
	s.revision.Store(revision)
	for i := range s.shards {
		s.shards[i].entries = map[string]*Entry[T]{}
	}
	return s
}

// Revision returns the revision of the latest write.
func (s *Space[T]) Revision() int64 { return s.revision.Load() }

// NextRevision increases the revision and returns it. Each write must use its own revision.
func (s *Space[T]) NextRevision() int64 { return s.revision.Add(1) }

func (s *Space[T]) shardOf(key []byte) int {
	if len(s.shards) == 1 {
		return 0
	}
	return int(maphash.Bytes(s.seed, key) % uint64(len(s.shards)))
}

// Shards is a set of shards with one bit per shard.
type Shards uint16

// SingleShard is the set of all shards if the space has only one shard.
const SingleShard Shards = 1

// ShardSet returns the set that contains only the shard of a key.
func (s *Space[T]) ShardSet(key []byte) Shards { return 1 << s.shardOf(key) }

// AllShards returns the set of all shards.
func (s *Space[T]) AllShards() Shards { return 1<<len(s.shards) - 1 }

// Lock locks the shards in ascending order.
func (s *Space[T]) Lock(set Shards) {
	for ; set != 0; set &= set - 1 {
		s.shards[bits.TrailingZeros16(uint16(set))].mu.Lock()
	}
}

// Unlock unlocks shards.
func (s *Space[T]) Unlock(set Shards) {
	for ; set != 0; set &= set - 1 {
		s.shards[bits.TrailingZeros16(uint16(set))].mu.Unlock()
	}
}

// Get returns a key's entry, or nil if the key does not exist. The caller of Get and of the methods
// below must hold the lock of the key's shard.
func (s *Space[T]) Get(key []byte) *Entry[T] {
	return s.shards[s.shardOf(key)].entries[string(key)]
}

// Entry returns a key's entry. If the key does not exist, Entry adds a new entry, for which the
// caller must call Set.
func (s *Space[T]) Entry(key []byte) *Entry[T] {
	h := &s.shards[s.shardOf(key)]
	e := h.entries[string(key)]
	if e == nil {
		e = &Entry[T]{Key: string(key)}
		h.entries[e.Key] = e
		h.added = append(h.added, e)
	}
	return e
}

// Set stores a value and the revision of the write.
func (e *Entry[T]) Set(value []byte, revision int64) {
	if e.Version == 0 {
		e.Created = revision
	}
	e.Value = append(e.Value[:0], value...)
	e.Changed = revision
	e.Version++
}

// Put writes a key with the next revision.
func (s *Space[T]) Put(key, value []byte) *Entry[T] {
	e := s.Entry(key)
	e.Set(value, s.NextRevision())
	return e
}

// Delete removes a key with the next revision and reports whether the key existed.
func (s *Space[T]) Delete(key []byte) bool {
	e := s.Get(key)
	if e != nil {
		s.NextRevision()
		s.Remove(e)
	}
	return e != nil
}

// Remove removes an entry from the space. It does not change the entry's value.
func (s *Space[T]) Remove(e *Entry[T]) {
	h := &s.shards[s.shardOf([]byte(e.Key))]
	delete(h.entries, e.Key)
	e.removed = true
	switch {
	case e.indexed:
		h.removed = append(h.removed, e)
	case len(h.added) > 2*len(h.entries)+maxStaleAdded:
		h.added = slices.DeleteFunc(h.added, func(e *Entry[T]) bool { return e.removed })
	}
}

// Interval returns the entries of the keys in the half-open interval [from, end), sorted by key.
// If end is empty, the interval has no end. The result is valid until the next call of Interval,
// even if some of its entries are removed in the meantime. The caller must hold all locks.
func (s *Space[T]) Interval(from, end []byte) []*Entry[T] {
	s.updateIndex()
	first, last := s.search(0, len(s.index), from), len(s.index)
	if len(end) > 0 {
		last = s.search(first, last, end)
	}
	return s.index[first:last]
}

// Prefixed returns the entries of the keys with the given prefix, with the same rules as Interval.
func (s *Space[T]) Prefixed(prefix []byte) []*Entry[T] {
	return s.Interval(prefix, call.PrefixEnd(prefix))
}
