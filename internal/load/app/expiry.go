package app

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// EphemeralKey is a key that ends with the lease or the session of its maker.
type EphemeralKey struct {
	Number uint64
	There  bool   // it may be there
	Made   int64  // not before
	At     int64  // at which revision, if that was answered
	Newest int64  // the revision of the newest version of what was made then: At, or that of a call which set it
	Value  uint64 // the identity of what that wrote
	Unsure int64  // since when a call may make it whose answer nobody had; 0: there is none
	Ended  bool   // it is recorded that it may be gone
}

// MayBeMade notes that a call made it, or may have made it.
func (k *EphemeralKey) MayBeMade(o *history.Op) {
	switch {
	case o.Acknowledged():
		if !k.There || k.Unsure == 0 {
			k.Made = o.Invoked
		}
		k.At, k.Newest, k.Value = o.At, o.At, o.Written
	case o.Indefinite():
		if k.Unsure == 0 {
			k.Unsure = max(o.Invoked, 1)
		}
		if !k.There || k.Made > o.Invoked {
			k.Made = o.Invoked
		}
	default:
		return
	}
	k.There, k.Ended = true, false
}

// Set notes that a call of who makes it set what was there. Nobody else makes it, and nobody
// removes it: so that is what was made at At, unless a call whose answer nobody had may have
// made another.
func (k *EphemeralKey) Set(o *history.Op) {
	if o.Acknowledged() && k.There && k.Unsure == 0 && o.At > k.Newest {
		k.Newest, k.Value = o.At, o.Written
	}
}

// MadeBy reports whether an answer has said that it was made at a revision, or before.
func (k *EphemeralKey) MadeBy(revision int64) bool { return k.At > 0 && k.At <= revision }

// Absent notes an answer after which it is not there, unless a call can still make it whose
// answer nobody had.
func (k *EphemeralKey) Absent() {
	if k.Unsure == 0 {
		k.There = false
	}
}

// Over notes that what it ends with is gone, and that nothing can make it with that.
func (k *EphemeralKey) Over() { k.There, k.Unsure = false, 0 }

// MayEnd records, once, that it may be gone from a time on.
func (k *EphemeralKey) MayEnd(to *history.Recorder, session uint32, from, now int64) {
	if k.There && !k.Ended {
		k.Ended = true
		RecordGone(to, k.Number, session, from, now)
	}
}

// SessionMayEnd records likewise that its session may have ended: since it was made, or, of
// one that is closed and is sure to have lived until now, from now on.
func (k *EphemeralKey) SessionMayEnd(to *history.Recorder, session uint32, sure bool, now int64) {
	from := k.Made
	if sure {
		from = now
	}
	k.MayEnd(to, session, from, now)
}

// SessionEnded records that the session was closed which had made it at revision o.Mod, and
// with which its newest version ends, unless it was made again since, or removed. Of o all
// is said but the key, and the version and its value.
func (k *EphemeralKey) SessionEnded(to *history.Recorder, o *history.Op) {
	if k.There && k.At == o.Mod {
		o.Key, o.Mod, o.Written = k.Number, k.Newest, k.Value
		to.Add(o)
	}
}

// RecordGone records that a key may be gone from a time on: a delete that may have been done.
func RecordGone(to *history.Recorder, key uint64, session uint32, from, now int64) {
	o := history.MayBeGone(key, session, from, now)
	to.Add(&o)
}

// LeftKeys are what earlier loads left in the store, whose sessions may end in this one.
type LeftKeys struct {
	began int64  // when the first call of this load was sent
	told  []bool // by key: it is recorded that it may be gone
}

// NewLeftKeys is for a load whose keys have numbers before it begins.
func NewLeftKeys(keys uint64) LeftKeys { return LeftKeys{told: make([]bool, keys)} }

// Sent notes when a call was sent; the first is what matters.
func (l *LeftKeys) Sent(at int64) {
	if l.began == 0 {
		l.began = max(at, 1)
	}
}

// MayEnd records, once, that a key which an earlier load left may be gone, since this one began.
func (l *LeftKeys) MayEnd(to *history.Recorder, key uint64, now int64) {
	if key < uint64(len(l.told)) && !l.told[key] {
		l.told[key] = true
		RecordGone(to, key, 0, l.began, now)
	}
}

// Lease is that of who makes keys, as far as the answers to its renewals tell of it.
type Lease struct {
	ID    int64 // 0: it is not known
	Until int64 // when it lives at least; 0: not known
}

// MayEnd records, once, that a key of it may be gone: since it lives no longer for sure.
func (l *Lease) MayEnd(to *history.Recorder, k *EphemeralKey, session uint32, now int64) {
	from := l.Until
	if from == 0 {
		from = k.Made
	}
	k.MayEnd(to, session, from, now)
}

// MayHaveEnded reports whether it may have ended by a time. Of one whose first renewal has no
// answer yet that will say whether it had lived until then.
func (l *Lease) MayHaveEnded(by int64) bool { return l.Until != 0 && l.Until < by }

// Renewed completes what is recorded of a renewal, which may be of an earlier one. A lease
// that is renewed lives for life behind that, or for the seconds that the answer says. It
// reports whether this one lives on, or was found gone.
func (l *Lease) Renewed(lease, life int64, ev *store.Event, o *history.Op) (lives, gone bool) {
	seconds := life / int64(time.Second)
	if ev.Count > 0 {
		seconds = min(seconds, ev.Count)
	}
	o.Kind, o.Written = kv.KeepAlive, uint64(lease) // #nosec G115 -- all bits are kept
	switch o.Outcome {
	case kv.OK:
		o.Mod = seconds
		if lives = lease == l.ID; lives {
			l.Until = max(l.Until, o.Invoked+seconds*int64(time.Second))
		}
	case kv.BadRequest:
		gone = lease == l.ID
	}
	return lives, gone
}

// Granted makes it a lease that was granted, for a time behind the request, and completes
// what is recorded of that.
func (l *Lease) Granted(lease, life int64, o *history.Op) {
	*l = Lease{ID: lease, Until: o.Invoked + life}
	o.Kind, o.Written, o.Mod = kv.KeepAlive, uint64(lease), life/int64(time.Second) // #nosec G115 -- all bits are kept
}

// Hold is one of a lock, by a lease.
type Hold struct {
	Token int64 // its fencing token; 0: there is none
}

// Granted records that by the answer to an operation a holder knows that it has a lock.
func (h *Hold) Granted(to *history.Recorder, lock uint64, holder uint32, l *Lease, token int64, o *history.Op) {
	h.Token = token
	to.Add(&history.Op{
		Kind: kv.KeepAlive, Lock: history.Granted, Session: holder, Member: o.Member, Key: lock,
		Invoked: o.Invoked, Done: o.Done, Written: uint64(l.ID), Mod: token, // #nosec G115 -- all bits are kept
	})
}

// Released records until when a holder took a lock for its own, if it did.
func (h *Hold) Released(to *history.Recorder, lock uint64, holder uint32, l *Lease, at, now int64) {
	if h.Token == 0 {
		return
	}
	to.Add(&history.Op{
		Kind: kv.KeepAlive, Lock: history.Released, Session: holder, Key: lock,
		Invoked: at, Done: now, Written: uint64(l.ID), Mod: h.Token, // #nosec G115 -- all bits are kept
	})
	h.Token = 0
}
