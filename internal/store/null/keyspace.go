package null

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// Space holds keys and their newest versions. Older versions are forgotten at
// once. Overwriting a key with a value no larger than before allocates nothing.
// T is what a protocol keeps with a key besides its value.
//
// The keys are spread over shards, each with a lock. A request locks the shards
// of all its keys, in order, before it looks at any, so that it is atomic; a
// request over an interval locks them all.
type Space[T any] struct {
	seed     maphash.Seed
	revision atomic.Int64
	shards   []shard[T]
	index    []*Entry[T] // by key, as of the last interval; guarded by all locks
}

// MaxShards is the most shards that a space may have.
const MaxShards = 16

// keepAdded is how many entries that came and went are kept for nothing.
const keepAdded = 64

type shard[T any] struct {
	mu      sync.Mutex
	entries map[string]*Entry[T]
	added   []*Entry[T] // not in index yet
	removed []*Entry[T] // in index still
	_       [64]byte    // keeps the next shard's lock off this cache line
}

// Entry is a key.
type Entry[T any] struct {
	Key              string
	Value            []byte
	Created, Changed int64 // the revisions of the first write and of the last
	Version          int64 // writes since there was none; 0 before the first
	With             T

	indexed, removed bool
}

// NewSpace returns a space without keys whose last write had the given revision.
func NewSpace[T any](shards int, revision int64) *Space[T] {
	s := &Space[T]{seed: maphash.MakeSeed(), shards: make([]shard[T], shards)}
	s.revision.Store(revision)
	for i := range s.shards {
		s.shards[i].entries = map[string]*Entry[T]{}
	}
	return s
}

// Revision is that of the last write.
func (s *Space[T]) Revision() int64 { return s.revision.Load() }

// Next begins a write and returns its revision.
func (s *Space[T]) Next() int64 { return s.revision.Add(1) }

func (s *Space[T]) shardOf(key []byte) int {
	if len(s.shards) == 1 {
		return 0
	}
	return int(maphash.Bytes(s.seed, key) % uint64(len(s.shards)))
}

// Shards has a bit for each shard.
type Shards uint16

// NewOne is all of a space that has one shard.
const NewOne Shards = 1

// Of is the shard of a key.
func (s *Space[T]) Of(key []byte) Shards { return 1 << s.shardOf(key) }

// All is every shard.
func (s *Space[T]) All() Shards { return 1<<len(s.shards) - 1 }

// Lock locks shards.
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

// Get returns a key's entry, or nil. The caller holds the key's lock, here and
// in what follows.
func (s *Space[T]) Get(key []byte) *Entry[T] {
	return s.shards[s.shardOf(key)].entries[string(key)]
}

// Entry returns a key's entry for Set to write; it is new if there is none.
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

// Set writes a value at a revision.
func (e *Entry[T]) Set(value []byte, revision int64) {
	if e.Version == 0 {
		e.Created = revision
	}
	e.Value = append(e.Value[:0], value...)
	e.Changed = revision
	e.Version++
}

// Put writes a key at the next revision.
func (s *Space[T]) Put(key, value []byte) *Entry[T] {
	e := s.Entry(key)
	e.Set(value, s.Next())
	return e
}

// Delete removes a key at the next revision, and reports whether it was there.
func (s *Space[T]) Delete(key []byte) bool {
	e := s.Get(key)
	if e != nil {
		s.Next()
		s.Remove(e)
	}
	return e != nil
}

// Remove forgets an entry, which is left as it was.
func (s *Space[T]) Remove(e *Entry[T]) {
	h := &s.shards[s.shardOf([]byte(e.Key))]
	delete(h.entries, e.Key)
	e.removed = true
	switch {
	case e.indexed:
		h.removed = append(h.removed, e)
	case len(h.added) > 2*len(h.entries)+keepAdded:
		h.added = slices.DeleteFunc(h.added, func(e *Entry[T]) bool { return e.removed })
	}
}

// Interval returns the entries from a key up to but not including end, in
// order; an empty end is none. They may be removed one by one, and are valid
// until the next call. The caller holds all locks.
func (s *Space[T]) Interval(from, end []byte) []*Entry[T] {
	s.settle()
	first, last := s.search(0, len(s.index), from), len(s.index)
	if len(end) > 0 {
		last = s.search(first, last, end)
	}
	return s.index[first:last]
}

// Prefixed is the interval of the keys that begin with prefix.
func (s *Space[T]) Prefixed(prefix []byte) []*Entry[T] {
	return s.Interval(prefix, prefixEnd(prefix))
}

// prefixEnd is the end of the interval of the keys that begin with prefix.
func prefixEnd(prefix []byte) []byte {
	for n := len(prefix) - 1; n >= 0; n-- {
		if prefix[n] < 0xff {
			end := bytes.Clone(prefix[:n+1])
			end[n]++
			return end
		}
	}
	return nil
}
