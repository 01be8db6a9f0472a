package verify

import (
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// mark is a version that a response contains and that comes from no acknowledged write.
type mark struct {
	rev   int64
	value uint64
	ord   uint32
	cas   bool // the response reports the success of a compare-and-set
}

// writer is a write of the key that can be found by its value.
type writer struct {
	value uint64
	e     *entry
	used  bool
}

// pool holds writes with unknown outcomes, ordered by the revision after which they took effect.
type pool struct {
	lows []int64
	used int
}

func (p *pool) fill(maybes []entry, deletes bool) {
	p.lows, p.used = p.lows[:0], 0
	for i := range maybes {
		if e := &maybes[i]; e.flagged(isDelete) == deletes && !e.flagged(isResolved) {
			p.lows = append(p.lows, e.lo)
		}
	}
	slices.Sort(p.lows)
}

// possible reports whether an unused write may have taken effect at or before a revision. Callers
// ask for ascending revisions, so it does not matter which of the possible writes is used.
func (p *pool) possible(by int64) bool {
	return p.used < len(p.lows) && p.lows[p.used] < by
}

func (p *pool) take(by int64) bool {
	if !p.possible(by) {
		return false
	}
	p.used++
	return true
}

// takeLast removes a write from the pool. Among the writes that are possible at a revision, it
// selects the write that started last, so that the other writes remain available for earlier
// versions.
func (p *pool) takeLast(by int64) bool {
	i, _ := slices.BinarySearch(p.lows, by)
	if i <= p.used {
		return false
	}
	p.lows = slices.Delete(p.lows, i-1, i)
	return true
}

// transactions holds transactions with unknown outcomes. If one part of a transaction was seen, all
// its parts must be visible.
type transactions struct {
	again map[uint64]bool // keys that must be checked again

	mu    sync.Mutex
	heads map[uint32]uint32 // by number of a part: number of the transaction's first part
	keys  map[uint32][]uint64
	at    map[uint32]int64 // by number of the first part: revision of the transaction
	fresh []uint32
}

// enter adds a part of a transaction. If another part was seen, it marks the part as executed.
func (t *transactions) enter(e *entry, o *history.Op, head uint32) {
	if e.role != maybe || !e.flagged(isTxn) {
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

// resolve records that a write was seen at a revision. The write may or may not be a part of a
// transaction.
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

// siblings returns the keys of transactions that were seen since its last call.
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
