package nullserver

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// memory holds the keys and their newest versions: what was put is read back.
// Older versions are forgotten at once, as if every write were followed by a
// compaction. Overwriting a key with a value no larger than before allocates
// nothing.
//
// The keys are spread over shards, each with a lock. A request locks the shards
// of all its keys, in order, before it looks at any, so that transactions are
// atomic; a request over an interval locks them all.
type memory struct {
	seed     maphash.Seed
	revision atomic.Int64 // of the last write; an empty etcd is at 1
	shards   [shardCount]shard
	index    []*entry // every entry by key, and removed ones; guarded by all locks
	removed  int      // removed entries in index; guarded likewise
	hub      *hub     // is told of every write; may be nil
	past     *past    // nil: no member lags
}

const shardCount = 16

// shardSet has a bit for each shard.
type shardSet uint16

const allShards shardSet = 1<<shardCount - 1

type shard struct {
	mu      sync.Mutex
	entries map[string]*entry
	added   []*entry // not in index yet
	removed int      // removed since index was last brought up to date
	_       [64]byte // keeps the next shard's lock off this cache line
}

type entry struct {
	key                  string
	value                []byte
	create, mod, version int64
	removed              bool
	old                  *before // what members that lag have; nil: as this
}

func newMemory() *memory {
	m := &memory{seed: maphash.MakeSeed()}
	m.revision.Store(1)
	for i := range m.shards {
		m.shards[i].entries = map[string]*entry{}
	}
	return m
}

func (m *memory) shardOf(key []byte) int {
	return int(maphash.Bytes(m.seed, key) % shardCount)
}

// shardsOf is the shards of a key, or of an interval when end is not empty.
func (m *memory) shardsOf(key, end []byte) shardSet {
	if len(end) > 0 {
		return allShards
	}
	return 1 << m.shardOf(key)
}

func (m *memory) lock(set shardSet) {
	for ; set != 0; set &= set - 1 {
		m.shards[bits.TrailingZeros16(uint16(set))].mu.Lock()
	}
}

func (m *memory) unlock(set shardSet) {
	for ; set != 0; set &= set - 1 {
		m.shards[bits.TrailingZeros16(uint16(set))].mu.Unlock()
	}
}

// get returns a key's entry, or nil. The caller holds the key's lock, here and
// in what follows.
func (m *memory) get(key []byte) *entry {
	return m.shards[m.shardOf(key)].entries[string(key)]
}

// put writes a key at a revision.
func (m *memory) put(key, value []byte, revision int64) {
	s := &m.shards[m.shardOf(key)]
	e := s.entries[string(key)]
	if e == nil {
		e = &entry{key: string(key), create: revision}
		s.entries[e.key] = e
		s.added = append(s.added, e)
	}
	if m.past != nil {
		m.past.keep(e)
	}
	if m.hub != nil && m.hub.count.Load() > 0 {
		m.putTold(e, value, revision)
		return
	}
	e.set(value, revision)
}

func (e *entry) set(value []byte, revision int64) {
	e.value = append(e.value[:0], value...)
	e.mod = revision
	e.version++
}

// putTold is put with watchers about.
func (m *memory) putTold(e *entry, value []byte, revision int64) {
	var before *entry
	if m.hub.before.Load() && e.version > 0 {
		old := *e
		old.value = slices.Clone(e.value)
		before = &old
	}
	e.set(value, revision)
	m.hub.tell(e, revision, before)
}

// remove forgets an entry.
func (m *memory) remove(e *entry) {
	s := &m.shards[maphash.String(m.seed, e.key)%shardCount]
	delete(s.entries, e.key)
	e.removed = true
	s.removed++
}

// interval returns the entries from key up to but not including end, in order,
// with removed ones among them. As in etcd an end of one zero byte is no end.
// The caller holds all locks.
func (m *memory) interval(key, end []byte) []*entry {
	m.refresh()
	from := m.search(key)
	to := len(m.index)
	if len(end) != 1 || end[0] != 0 {
		to = max(m.search(end), from)
	}
	return m.index[from:to]
}

func (m *memory) search(key []byte) int {
	return sort.Search(len(m.index), func(i int) bool { return m.index[i].key >= string(key) })
}

// refresh brings the index up to date: it merges what was added since, and
// drops what was removed once that is a quarter of it.
func (m *memory) refresh() {
	var added []*entry
	for i := range m.shards {
		s := &m.shards[i]
		added = append(added, s.added...)
		m.removed += s.removed
		s.removed = 0
		clear(s.added)
		s.added = s.added[:0]
	}
	if len(added) == 0 && m.removed*4 <= len(m.index) {
		return
	}
	byKey := func(a, b *entry) int { return strings.Compare(a.key, b.key) }
	slices.SortStableFunc(added, byKey)
	merged := make([]*entry, 0, len(m.index)+len(added))
	keep := func(e *entry) {
		if !e.removed {
			merged = append(merged, e)
		}
	}
	for _, e := range m.index {
		for len(added) > 0 && added[0].key < e.key {
			keep(added[0])
			added = added[1:]
		}
		keep(e)
	}
	for _, e := range added {
		keep(e)
	}
	m.index, m.removed = merged, 0
}
