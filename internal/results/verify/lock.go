package verify

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// acquisition is one acquisition of a lock. The client certainly considered itself the holder from
// the time acquiredAt to the time releasedAt.
type acquisition struct {
	lock                   uint64
	token                  int64
	lease                  uint64
	acquiredAt, releasedAt int64 // releasedAt equals acquiredAt if the history contains no release
	ord, releasedBy        uint32
	tokenDecreased         bool // a finding has already reported that the token was lower than an earlier token
}

// locks holds all acquisitions of locks in a history.
type locks struct {
	all        []acquisition
	unreleased map[uint32]int // by client: index of the client's unreleased hold in the field all
	waits      *hdrhistogram.Histogram
}

func (l *locks) take(o *history.Op, ord uint32) {
	if l.unreleased == nil {
		l.unreleased, l.waits = map[uint32]int{}, hdrhistogram.New(1000, 1<<43, 2)
	}
	if o.LockChange == history.Granted {
		l.unreleased[o.Session] = len(l.all)
		l.all = append(l.all, acquisition{lock: o.Key, token: o.ModRevision, lease: o.Written, acquiredAt: o.Done, releasedAt: o.Done, ord: ord, releasedBy: ord})
		_ = l.waits.RecordValue(min(o.Done-o.Invoked, 1<<43)) // capped at the upper limit of the histogram
		return
	}
	if i, ok := l.unreleased[o.Session]; ok && l.all[i].token == o.ModRevision { // otherwise, the acquisition is missing from the history
		l.all[i].releasedAt, l.all[i].releasedBy = o.Invoked, ord
		delete(l.unreleased, o.Session)
	}
}

// released reports whether the history contains the release of the lock.
func (h *acquisition) released() bool { return h.releasedBy != h.ord }

// check finds acquisitions that the store must not allow. Clients receive tokens in the order of
// their requests. The key of a client's request exists until the client releases the lock or its
// lease expires. Until then, no client with a higher token can acquire the lock. So a client must
// not acquire the lock while a client with a lower token certainly holds it. To check this, it is
// sufficient to sort the acquisitions by token.
func (l *locks) check(f *findings, leaseState *leases) *record.LockVerification {
	t := &record.LockVerification{Acquisitions: uint64(len(l.all))}
	holds := hdrhistogram.New(1000, 1<<43, 2)
	slices.SortFunc(l.all, func(a, b acquisition) int {
		return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(a.token, b.token), cmp.Compare(a.acquiredAt, b.acquiredAt), cmp.Compare(a.ord, b.ord))
	})
	sure, longest := -1, -1 // among the holds with lower tokens: index of the hold with the latest certain end (see certainlyHeldUntil), and index of the hold that was released last
	for i := range l.all {
		h := &l.all[i]
		if h.released() {
			_ = holds.RecordValue(min(max(h.releasedAt-h.acquiredAt, 0), 1<<43)) // capped at the upper limit of the histogram
		}
		if i == 0 || l.all[i-1].lock != h.lock {
			t.Locks++
			sure, longest = -1, -1
		}
		switch {
		case sure >= 0 && leaseState.certainlyHeldUntil(&l.all[sure]) > h.acquiredAt:
			if x := overlapFinding(&l.all[sure], h); x.kind != TokenDecreased || !l.all[sure].tokenDecreased { // a hold whose token is too low is reported once, even if several earlier holds have higher tokens
				l.all[sure].tokenDecreased = l.all[sure].tokenDecreased || x.kind == TokenDecreased
				f.add(x)
			}
		case i > 0 && l.all[i-1].lock == h.lock && l.all[i-1].token == h.token && l.all[i-1].lease != h.lease:
			f.add(finding{kind: TokenDecreased, guarantee: history.FencingToken, key: h.lock, operationCount: 2, ords: [3]uint32{l.all[i-1].ord, h.ord}, revision: h.token})
		case longest >= 0 && l.all[longest].releasedAt > h.acquiredAt:
			t.OverlappingHolds++
		}
		if i+1 < len(l.all) && l.all[i+1].lock == h.lock && l.all[i+1].token == h.token {
			continue // the same client acquired the lock again with the same key
		}
		for k := i; k >= 0 && l.all[k].lock == h.lock && l.all[k].token == h.token; k-- {
			if x := &l.all[k]; sure < 0 || leaseState.certainlyHeldUntil(x) > leaseState.certainlyHeldUntil(&l.all[sure]) {
				sure = k
			}
			if x := &l.all[k]; x.released() && (longest < 0 || x.releasedAt > l.all[longest].releasedAt) {
				longest = k
			}
		}
	}
	t.Waits, t.Holds = distribution(l.waits, t.Acquisitions), distribution(holds, uint64(holds.TotalCount()))
	return t
}

// overlapFinding returns the finding for two acquisitions of a lock. The client of `lowerToken`
// certainly still held the lock when the client of `higherToken` acquired it.
func overlapFinding(lowerToken, higherToken *acquisition) finding {
	f := finding{kind: TwoLockHolders, guarantee: history.ExclusiveLock, key: higherToken.lock, operationCount: 2, ords: [3]uint32{lowerToken.ord, higherToken.ord}, revision: lowerToken.token}
	if lowerToken.released() {
		f.operationCount, f.ords = 3, [3]uint32{lowerToken.ord, lowerToken.releasedBy, higherToken.ord}
	}
	if higherToken.releasedAt > lowerToken.acquiredAt { // both clients held the lock at the same time
		return f
	}
	return finding{kind: TokenDecreased, guarantee: history.FencingToken, key: higherToken.lock, operationCount: 2, ords: [3]uint32{higherToken.ord, lowerToken.ord}, revision: higherToken.token}
}

// certainlyHeldUntil returns the time until which a client certainly held the lock: the time of the
// release or, if it is earlier, the time at which the client's lease may have expired. If the
// history contains no keep-alive, leases last longer than the load. If the history contains no
// release, certainlyHeldUntil returns 0, because the hold may have ended before the client read the
// response that granted the lock.
func (l *leases) certainlyHeldUntil(h *acquisition) int64 {
	if !h.released() {
		return 0
	}
	if one := l.byNumber[h.lease]; one != nil {
		return min(h.releasedAt, one.validUntil)
	}
	if len(l.byNumber) > 0 {
		return 0
	}
	return h.releasedAt
}
