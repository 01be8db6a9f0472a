package app

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// EphemeralKey tracks a key that disappears with the lease or session of the client that creates
// it. Only that client creates, sets or deletes the key.
type EphemeralKey struct {
	Number uint64
	There  bool   // the key may exist
	Made   int64  // the key was not created before this time
	At     int64  // revision of its creation; 0 if no response contained it
	Newest int64  // revision of the newest version since that creation: At, or that of a later set
	Value  uint64 // identity of the value at Newest
	Unsure int64  // invocation of the earliest create without a response; 0 if there is none
	Ended  bool   // its possible disappearance is recorded
}

// MayBeMade notes a call that created the key, or may have created it.
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

// Set notes a call of the key's owner that set the key. The key it set is the one created at At,
// unless a create without a response may have replaced it.
func (k *EphemeralKey) Set(o *history.Op) {
	if o.Acknowledged() && k.There && k.Unsure == 0 && o.At > k.Newest {
		k.Newest, k.Value = o.At, o.Written
	}
}

// CreatedBy reports whether a response has shown that the key was created at revision or before.
func (k *EphemeralKey) CreatedBy(revision int64) bool { return k.At > 0 && k.At <= revision }

// Absent notes a response which shows that the key does not exist. A create without a response
// may still create it.
func (k *EphemeralKey) Absent() {
	if k.Unsure == 0 {
		k.There = false
	}
}

// SessionGone notes that the key's lease or session is gone, so that no pending call can create the
// key with it.
func (k *EphemeralKey) SessionGone() { k.There, k.Unsure = false, 0 }

// MayEnd records, once, that the key may disappear at any time since from.
func (k *EphemeralKey) MayEnd(to *history.Recorder, session uint32, from, now int64) {
	if k.There && !k.Ended {
		k.Ended = true
		RecordPossibleDelete(to, k.Number, session, from, now)
	}
}

// SessionMayEnd records, once, that the key's session may have ended: at any time since the key
// was created, or, if sure reports that a closed session lived until now, as of now.
func (k *EphemeralKey) SessionMayEnd(to *history.Recorder, session uint32, sure bool, now int64) {
	from := k.Made
	if sure {
		from = now
	}
	k.MayEnd(to, session, from, now)
}

// SessionEnded records that the session which created the key at revision o.Mod was closed. The
// key's newest version ends with it, unless the key was created again or deleted since. The
// caller has set o except for the key, the version and its value.
func (k *EphemeralKey) SessionEnded(to *history.Recorder, o *history.Op) {
	if k.There && k.At == o.Mod {
		o.Key, o.Mod, o.Written = k.Number, k.Newest, k.Value
		to.Add(o)
	}
}

// RecordPossibleDelete records that a key may disappear at any time since from, as a delete that
// may have been executed.
func RecordPossibleDelete(to *history.Recorder, key uint64, session uint32, from, now int64) {
	o := history.PossibleDelete(key, session, from, now)
	to.Add(&o)
}

// LeftKeys tracks keys that earlier loads left in the store, whose sessions may end during this
// load.
type LeftKeys struct {
	began    int64  // when the first call of this load was sent; 0: none was
	recorded []bool // by key: its possible disappearance is recorded
}

// NewLeftKeys returns a LeftKeys for the given number of keys.
func NewLeftKeys(keys uint64) LeftKeys { return LeftKeys{recorded: make([]bool, keys)} }

// Sent notes when a call was sent. Only the first call of the load counts.
func (l *LeftKeys) Sent(at int64) {
	if l.began == 0 {
		l.began = max(at, 1)
	}
}

// MayEnd records, once, that a key of an earlier load may have disappeared at any time since
// this load began.
func (l *LeftKeys) MayEnd(to *history.Recorder, key uint64, now int64) {
	if key < uint64(len(l.recorded)) && !l.recorded[key] {
		l.recorded[key] = true
		RecordPossibleDelete(to, key, 0, l.began, now)
	}
}

// Lease tracks the lease of a client that creates keys, as far as the responses to its renewals
// show it.
type Lease struct {
	ID    int64 // 0 if unknown
	Until int64 // the lease lives at least until this time; 0 if unknown
}

// MayEnd records, once, that a key of the lease may disappear as soon as the lease is no longer
// certain to live.
func (l *Lease) MayEnd(to *history.Recorder, k *EphemeralKey, session uint32, now int64) {
	from := l.Until
	if from == 0 {
		from = k.Made
	}
	k.MayEnd(to, session, from, now)
}

// MayHaveEnded reports whether the lease may have expired before a time. It returns false before
// the first renewal has a response, which will show whether the lease still lived.
func (l *Lease) MayHaveEnded(by int64) bool { return l.Until != 0 && l.Until < by }

// Renewed completes o, the record of a renewal of this lease or an earlier one. A renewed lease
// lives for life after the request, or for the seconds in the response if those are fewer. It
// reports whether this lease lives on or was found gone.
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

// Granted starts a lease that was granted for life after the request, and completes o, the
// record of the grant.
func (l *Lease) Granted(lease, life int64, o *history.Op) {
	*l = Lease{ID: lease, Until: o.Invoked + life}
	o.Kind, o.Written, o.Mod = kv.KeepAlive, uint64(lease), life/int64(time.Second) // #nosec G115 -- all bits are kept
}

// Hold is a lock that a client holds with a lease.
type Hold struct {
	Token int64 // fencing token; 0 if the lock is not held
}

// Granted records that a holder learned from the response to o that it has the lock.
func (h *Hold) Granted(to *history.Recorder, lock uint64, holder uint32, l *Lease, token int64, o *history.Op) {
	h.Token = token
	to.Add(&history.Op{
		Kind: kv.KeepAlive, Lock: history.Granted, Session: holder, Member: o.Member, Key: lock,
		Invoked: o.Invoked, Done: o.Done, Written: uint64(l.ID), Mod: token, // #nosec G115 -- all bits are kept
	})
}

// Released records the time until which a holder believed that it had the lock, if it did.
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
