package verify

import (
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// shownVersion is a version that a response contains, but that no acknowledged write has written.
type shownVersion struct {
	rev   int64
	value uint64
	ord   uint32
	cas   bool // the response shows only that a compare-and-set succeeded on the version
}

// writer is a write of the key, in a list that is sorted by value.
type writer struct {
	value uint64
	e     *entry
	used  bool
}

// writePool holds writes with unknown outcomes. For each write, the field lows contains the highest
// revision that had been acknowledged before the write began. The write can only take effect above
// this revision.
type writePool struct {
	lows []int64
	used int
}

func (p *writePool) fill(maybes []entry, deletes bool) {
	p.lows, p.used = p.lows[:0], 0
	for i := range maybes {
		if e := &maybes[i]; e.containsAny(isDelete) == deletes && !e.containsAny(isResolved) {
			p.lows = append(p.lows, e.lo)
		}
	}
	slices.Sort(p.lows)
}

// hasPossible reports whether an unused write may have taken effect at or below the revision
// `atRevision`. Callers ask for ascending revisions, so any of the possible writes may be used.
func (p *writePool) hasPossible(atRevision int64) bool {
	return p.used < len(p.lows) && p.lows[p.used] < atRevision
}

func (p *writePool) take(atRevision int64) bool {
	if !p.hasPossible(atRevision) {
		return false
	}
	p.used++
	return true
}

// takeLast removes a write that is possible at the revision `atRevision` from the pool. It selects
// the write that began last, so that the other writes remain available for versions with lower
// revisions. It reports whether it found a write.
func (p *writePool) takeLast(atRevision int64) bool {
	i, _ := slices.BinarySearch(p.lows, atRevision)
	if i <= p.used {
		return false
	}
	p.lows = slices.Delete(p.lows, i-1, i)
	return true
}

// transactions holds the transactions with unknown outcomes. If a response shows one part of a
// transaction, all parts must have taken effect.
type transactions struct {
	recheckedKeys map[uint64]bool // keys that the current pass checks again

	mu            sync.Mutex
	heads         map[uint32]uint32 // by number of a part: number of the first part of the transaction
	keys          map[uint32][]uint64
	revisions     map[uint32]int64 // by number of the first part: revision of the transaction
	newlyResolved []uint32
}

// addPart adds a part of a transaction with an unknown outcome. In a second check of the same keys,
// it does not add the part. Instead, it marks the part as executed if a response showed another
// part of the transaction.
func (t *transactions) addPart(e *entry, o *history.Op, head uint32) {
	if e.role != indefinite || !e.containsAny(isTxn) {
		return
	}
	if len(t.recheckedKeys) > 0 {
		if rev := t.revisions[head]; rev > 0 {
			e.role, e.revision = wrote, rev
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

// resolve is called when a response shows the revision of a write whose outcome was unknown. It
// ignores writes that belong to no transaction.
func (t *transactions) resolve(ord uint32, rev int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, ok := t.heads[ord]
	if !ok || t.revisions[head] > 0 {
		return
	}
	t.revisions[head] = rev
	t.newlyResolved = append(t.newlyResolved, head)
}

// siblings returns the keys of the transactions that the method `resolve` has recorded since the
// previous call of siblings.
func (t *transactions) siblings() map[uint64]bool {
	t.recheckedKeys = map[uint64]bool{}
	for _, head := range t.newlyResolved {
		for _, key := range t.keys[head] {
			t.recheckedKeys[key] = true
		}
	}
	t.newlyResolved = nil
	return t.recheckedKeys
}
