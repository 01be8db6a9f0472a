package verify

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// role classifies an operation by its effect on its key.
type role uint8

const (
	unchecked   role = iota
	read             // a read of the key's state
	wrote            // a write that was executed
	indefinite       // a write with an unknown outcome: it was executed, will be executed later, or will never be executed
	notExecuted      // a write that was certainly not executed
	watchEvent       // an event that a watcher received
	sessionEnd       // the end of a session, at which a version is deleted
)

// roleOf returns the role of an operation. A compare-and-set with a conflict and a deletion of a
// missing key have the role `read`.
func roleOf(o *history.Op) role {
	switch o.Kind {
	case kv.Get, kv.Exists:
		if o.HasStoreData() {
			return read
		}
		return unchecked
	case kv.Range, kv.TxnGet:
		if o.HasStoreData() && (o.Read != history.UnknownValue || o.ModRevision > 0) { // otherwise, the response contains no information about the key
			return read
		}
		return unchecked
	case kv.STM:
		if o.Written != history.Absent {
			break
		}
		if o.HasStoreData() && (o.Read != history.UnknownValue || o.ModRevision > 0) {
			return read
		}
		return unchecked
	case kv.Ephemeral:
		if o.Acknowledged() && o.Revision > 0 {
			return sessionEnd
		}
		return unchecked
	case kv.Put, kv.Delete, kv.CAS, kv.Txn:
	default:
		return unchecked
	}
	switch {
	case o.Acknowledged():
		return wrote
	case o.HasStoreData():
		return read
	case o.Indefinite():
		return indefinite
	}
	return notExecuted
}

// isLinearizable reports whether an operation must fit into the linearizable order. Only reads at
// weaker consistency levels are exempt.
func isLinearizable(o *history.Op) bool {
	return o.Kind.Writes() && o.Consistency == kv.NoConsistency || o.Consistency == kv.Linearizable
}

// isConditional reports whether an operation is a write that succeeds only if the key has an
// expected version.
func isConditional(o *history.Op) bool {
	if o.Kind == kv.Delete {
		return o.Expected > 0
	}
	return (o.Kind == kv.CAS || o.Kind == kv.STM && o.Written != history.Absent) && o.Expected != history.UnknownRevision
}

// showsState reports whether the response to an operation contains the state of its key.
func showsState(o *history.Op) bool {
	return o.Kind.Reads() || o.Kind == kv.STM && o.Written == history.Absent
}

// entry holds the fields of an operation that the check of its key needs.
type entry struct {
	revision        int64  // revision at which the operation was served or written, or at which a session ended
	versionRevision int64  // revision of the version that was read or deleted; for a compare-and-set, the expected revision
	value           uint64 // value that was read or written
	lo              int64  // highest revision that was acknowledged when the operation began
	time            int64  // start of a read, or end of a write
	ord             uint32 // number of the operation in the history
	role            role
	member          uint8
	flags
}

type flags uint16

const (
	isStrong flags = 1 << iota
	isFinal
	isCAS
	isConflict // the conflict of a compare-and-set; versionRevision and value describe the version that caused the conflict
	isKnown    // the response contains the state of the key
	isTxn
	isDelete
	isLease
	isSelfContradiction // a conflict that contradicts its own response
	isPending           // a part of a transaction; a response showed another part of the same transaction
	isResolved          // a write with an unknown outcome whose version a read returned
	isLate              // an event that arrived after a later event
	isSplit             // an event whose revision had already arrived in an earlier message
	keyExists           // a read whose response reports that the key exists, but not its version
)

func (f flags) containsAny(x flags) bool { return f&x != 0 }

func entryOf(o *history.Op, r role, ord uint32, lo int64) entry {
	e := entry{revision: o.Revision, lo: lo, ord: ord, role: r}
	if isLinearizable(o) {
		e.flags |= isStrong
	}
	if o.Final {
		e.flags |= isFinal
	}
	if o.Consistency == kv.LeaderLease {
		e.flags |= isLease
	}
	switch {
	case r == read && o.Outcome == kv.Conflict:
		e.versionRevision, e.value, e.time = o.ModRevision, o.Read, o.Invoked
		e.flags |= isConflict
		if o.ModRevision > 0 || o.Read != history.UnknownValue {
			e.flags |= isKnown
			if o.ModRevision == o.Expected && (o.ModRevision > 0 || o.Read == history.Absent) {
				e.flags |= isSelfContradiction
			}
		} else {
			e.versionRevision = o.Expected
		}
	case r == read:
		e.versionRevision, e.value, e.time = o.ModRevision, o.Read, o.Invoked
		e.flags |= isKnown
	case r == sessionEnd:
		e.versionRevision, e.value, e.time = o.ModRevision, o.Written, o.Done
	default:
		e.versionRevision, e.value, e.time = o.Expected, o.Written, o.Done
		if isConditional(o) {
			e.flags |= isCAS
		}
		if o.Kind == kv.Delete {
			e.flags |= isDelete
		}
		if o.Kind == kv.Txn || o.Kind == kv.STM {
			e.flags |= isTxn
		}
	}
	return e
}

// chunk holds several entries of one key and the index of the next chunk. It contains no pointers,
// so the garbage collector does not need to scan millions of entries.
type chunk struct {
	e    [chunkLen]entry
	next uint32 // index of the next chunk, plus one
}

const (
	chunkLen  = 4
	slabLen   = 1 << 14
	lastChunk = ^uint32(0)
)

// numbered maps the numbers of keys or clients to positive numbers; 0 means none. The numbers of
// keys and clients are dense and begin at 0, so a slice can hold most of the map.
type numbered struct {
	low  []uint32
	high map[uint64]uint32
}

const mostLow = 1 << 24

func (n *numbered) get(x uint64) uint32 {
	if x < uint64(len(n.low)) {
		return n.low[x]
	}
	return n.high[x]
}

func (n *numbered) set(x uint64, number uint32) {
	switch {
	case x < uint64(len(n.low)):
		n.low[x] = number
	case x < mostLow && x < 4*uint64(len(n.low))+1<<16:
		n.low = append(n.low, make([]uint32, max(x+1, 2*uint64(len(n.low)))-uint64(len(n.low)))...)
		for y, of := range n.high { // move the numbers that the longer slice covers from the map to the slice
			if y < uint64(len(n.low)) {
				n.low[y] = of
				delete(n.high, y)
			}
		}
		n.low[x] = number
	default:
		if n.high == nil {
			n.high = map[uint64]uint32{}
		}
		n.high[x] = number
	}
}

// clear sets all numbers to 0.
func (n *numbered) clear() {
	clear(n.low)
	clear(n.high)
}

// table holds the entries of each key, in the order in which they were added.
type table struct {
	keyIndexes numbered // by key: index in the fields names and ends, plus one
	names      []uint64
	ends       []chunkList
	slabs      [][]chunk
	used       uint32
}

type chunkList struct {
	first, last  uint32
	lastChunkLen uint32 // number of entries in the last chunk
}

// reset empties the table, but does not free its memory.
func (t *table) reset() {
	t.keyIndexes.clear()
	t.names, t.ends, t.used = t.names[:0], t.ends[:0], 0
}

func (t *table) add(key uint64, e *entry) {
	place := t.keyIndexes.get(key) - 1
	if place == ^uint32(0) {
		place = uint32(len(t.names))
		t.keyIndexes.set(key, place+1)
		t.names = append(t.names, key)
		at := t.grow()
		t.ends = append(t.ends, chunkList{first: at, last: at})
	}
	k := &t.ends[place]
	if k.lastChunkLen == chunkLen {
		at := t.grow()
		t.chunk(k.last).next = at
		k.last, k.lastChunkLen = at, 0
	}
	t.chunk(k.last).e[k.lastChunkLen] = *e
	k.lastChunkLen++
}

func (t *table) chunk(i uint32) *chunk { return &t.slabs[i/slabLen][i%slabLen] }

func (t *table) grow() uint32 {
	if int(t.used) == slabLen*len(t.slabs) {
		t.slabs = append(t.slabs, make([]chunk, slabLen))
	}
	t.used++
	t.chunk(t.used - 1).next = lastChunk
	return t.used - 1
}

// entries appends the entries of a key to the slice `appended`. The parameter `place` is the index
// of the key.
func (t *table) entries(place int, appended []entry) []entry {
	k := t.ends[place]
	for i := k.first; i != lastChunk; {
		c := t.chunk(i)
		if i == k.last {
			return append(appended, c.e[:k.lastChunkLen]...)
		}
		appended = append(appended, c.e[:]...)
		i = c.next
	}
	return appended
}
