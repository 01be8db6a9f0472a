package verify

import (
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// mark is a version that an answer shows, and no write that was done explains.
type mark struct {
	rev   int64
	value uint64
	ord   uint32
	cas   bool // the answer is a compare-and-set's success
}

// writer is a write of the key, to be found by its value.
type writer struct {
	value uint64
	e     *entry
	used  bool
}

// pool is writes that may have been done, by the revision that they are after.
type pool struct {
	lows []int64
	used int
}

func (p *pool) fill(maybes []entry, deletes bool) {
	p.lows, p.used = p.lows[:0], 0
	for i := range maybes {
		if e := &maybes[i]; e.is(isDelete) == deletes && !e.is(isResolved) {
			p.lows = append(p.lows, e.lo)
		}
	}
	slices.Sort(p.lows)
}

// has reports whether an unused write may have happened by a revision. Callers ask for ascending
// revisions, so that every possible write is equally good.
func (p *pool) has(by int64) bool {
	return p.used < len(p.lows) && p.lows[p.used] < by
}

func (p *pool) take(by int64) bool {
	if !p.has(by) {
		return false
	}
	p.used++
	return true
}

// takeLast removes the write that started last of those that are possible at a revision, so that
// the others remain for earlier versions.
func (p *pool) takeLast(by int64) bool {
	i, _ := slices.BinarySearch(p.lows, by)
	if i <= p.used {
		return false
	}
	p.lows = slices.Delete(p.lows, i-1, i)
	return true
}

// transactions are those that may have been done. Where one part of one was seen,
// all of its parts must be there.
type transactions struct {
	again map[uint64]bool // the keys that are checked again

	mu    sync.Mutex
	heads map[uint32]uint32 // of parts, by their numbers
	keys  map[uint32][]uint64
	at    map[uint32]int64 // the revision, by the head
	fresh []uint32
}

// enter notes a part, and makes it a write that was done where another was seen.
func (t *transactions) enter(e *entry, o *history.Op, head uint32) {
	if e.role != maybe || !e.is(isTxn) {
		return
	}
	if len(t.again) > 0 {
		if rev := t.at[head]; rev > 0 {
			e.role, e.at = wrote, rev
			e.flags |= isPending
		}
		return
	}
	if t.heads == nil {
		t.heads, t.keys = map[uint32]uint32{}, map[uint32][]uint64{}
	}
	t.heads[e.ord] = head
	t.keys[head] = append(t.keys[head], o.Key)
}

// resolve says that a write was seen at a revision; of a transaction or not.
func (t *transactions) resolve(ord uint32, rev int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, ok := t.heads[ord]
	if !ok || t.at[head] > 0 {
		return
	}
	t.at[head] = rev
	t.fresh = append(t.fresh, head)
}

// siblings returns the keys of the transactions that were seen since its last call.
func (t *transactions) siblings() map[uint64]bool {
	t.again = map[uint64]bool{}
	for _, head := range t.fresh {
		for _, key := range t.keys[head] {
			t.again[key] = true
		}
	}
	t.fresh = nil
	return t.again
}
