package verify

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Locks counts the acquisitions of locks.
type Locks struct {
	Locks, Granted uint64
	// Outlived counts acquisitions while an earlier holder, whose lease may have expired, still
	// considered itself the holder. Stores do not exclude this.
	Outlived uint64
	// Waits and Holds are distributions, in nanoseconds, of the waits for locks and of the times
	// for which they were held.
	Waits, Holds Distribution
}

// held is a hold on a lock: its holder certainly considered itself the holder from got to freed.
type held struct {
	lock         uint64
	token        int64
	lease        uint64
	got, freed   int64 // freed is got if the history has no release
	ord, freedBy uint32
	back         bool // its token was found to be lower than an earlier one
}

// locks holds the acquisitions of a history.
type locks struct {
	all   []held
	open  map[uint32]int // index in all, by client
	waits *hdrhistogram.Histogram
}

func (l *locks) take(o *history.Op, ord uint32) {
	if l.open == nil {
		l.open, l.waits = map[uint32]int{}, hdrhistogram.New(1000, 1<<43, 2)
	}
	if o.Lock == history.Granted {
		l.open[o.Session] = len(l.all)
		l.all = append(l.all, held{lock: o.Key, token: o.Mod, lease: o.Written, got: o.Done, freed: o.Done, ord: ord, freedBy: ord})
		_ = l.waits.RecordValue(min(o.Done-o.Invoked, 1<<43)) // limited to the histogram's range
		return
	}
	if i, ok := l.open[o.Session]; ok && l.all[i].token == o.Mod { // otherwise operations are missing
		l.all[i].freed, l.all[i].freedBy = o.Invoked, ord
		delete(l.open, o.Session)
	}
}

// released reports whether the time of the release is known.
func (h *held) released() bool { return h.freedBy != h.ord }

// check finds impossible holds. The client with the lower token requested the lock earlier and
// keeps its key until it releases the lock or its lease expires; only then does the next client get
// the lock. So each lock must have been free before the holder with the next token acquired it,
// which needs one sort by token.
func (l *locks) check(f *findings, alive *leases) *Locks {
	t := &Locks{Granted: uint64(len(l.all))}
	holds := hdrhistogram.New(1000, 1<<43, 2)
	slices.SortFunc(l.all, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(a.token, b.token), cmp.Compare(a.got, b.got), cmp.Compare(a.ord, b.ord))
	})
	sure, longest := -1, -1 // the longest hold with a lower token: with a live lease, and with any lease
	for i := range l.all {
		h := &l.all[i]
		if h.released() {
			_ = holds.RecordValue(min(max(h.freed-h.got, 0), 1<<43)) // limited to the histogram's range
		}
		if i == 0 || l.all[i-1].lock != h.lock {
			t.Locks++
			sure, longest = -1, -1
		}
		switch {
		case sure >= 0 && alive.heldUntil(&l.all[sure]) > h.got:
			if x := overlapFinding(&l.all[sure], h); x.kind != TokenBack || !l.all[sure].back { // reported once for any number of earlier holds
				l.all[sure].back = l.all[sure].back || x.kind == TokenBack
				f.add(x)
			}
		case i > 0 && l.all[i-1].lock == h.lock && l.all[i-1].token == h.token && l.all[i-1].lease != h.lease:
			f.add(finding{kind: TokenBack, promise: history.Fence, key: h.lock, n: 2, ords: [3]uint32{l.all[i-1].ord, h.ord}, revision: h.token})
		case longest >= 0 && l.all[longest].freed > h.got:
			t.Outlived++
		}
		if i+1 < len(l.all) && l.all[i+1].lock == h.lock && l.all[i+1].token == h.token {
			continue // the same client acquired it again with the same key
		}
		for k := i; k >= 0 && l.all[k].lock == h.lock && l.all[k].token == h.token; k-- {
			if x := &l.all[k]; sure < 0 || alive.heldUntil(x) > alive.heldUntil(&l.all[sure]) {
				sure = k
			}
			if x := &l.all[k]; x.released() && (longest < 0 || x.freed > l.all[longest].freed) {
				longest = k
			}
		}
	}
	t.Waits, t.Holds = distribution(l.waits, t.Granted), distribution(holds, uint64(holds.TotalCount()))
	return t
}

// overlapFinding returns the finding for two holds, the first of which has the lower token and was not
// released when the other was acquired.
func overlapFinding(low, high *held) finding {
	f := finding{kind: HeldTwice, promise: history.Exclusive, key: high.lock, n: 2, ords: [3]uint32{low.ord, high.ord}, revision: low.token}
	if low.released() {
		f.n, f.ords = 3, [3]uint32{low.ord, low.freedBy, high.ord}
	}
	if high.freed > low.got { // both held it at one time
		return f
	}
	return finding{kind: TokenBack, promise: history.Fence, key: high.lock, n: 2, ords: [3]uint32{high.ord, low.ord}, revision: high.token}
}

// heldUntil returns the time until which a client certainly held the lock: until it released it, or
// until its lease may have expired. Leases that are not kept alive outlive the load. A hold
// without a known release proves nothing, because it may have ended before the response that
// granted it was read.
func (l *leases) heldUntil(h *held) int64 {
	if !h.released() {
		return 0
	}
	if one := l.of[h.lease]; one != nil {
		return min(h.freed, one.until)
	}
	if len(l.of) > 0 {
		return 0
	}
	return h.freed
}
