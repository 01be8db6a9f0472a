package app

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// EphemeralKey tracks a key that the store deletes when the lease or session of the client that
// created it ends. Only this client creates, sets or deletes the key.
type EphemeralKey struct {
	Number uint64
	There  bool   // the key may exist
	Made   int64  // the key was not created before this time
	At     int64  // revision at which it was created; 0 if no response contained it
	Newest int64  // revision of its latest version: At, or the revision of a later set
	Value  uint64 // identity of the value at Newest
	Unsure int64  // when the earliest create without a response was invoked; 0 if there is none
	Ended  bool   // the possible delete of the key is already recorded
}

// MayBeMade records a call that created or may have created the key.
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

// Set records a call with which the owner set the key. The new version belongs to the key that was
// created at At, unless a create without a response may have replaced that key.
func (k *EphemeralKey) Set(o *history.Op) {
	if o.Acknowledged() && k.There && k.Unsure == 0 && o.At > k.Newest {
		k.Newest, k.Value = o.At, o.Written
	}
}

// CreatedBy reports whether a response has shown that the key was created at or before a revision.
func (k *EphemeralKey) CreatedBy(revision int64) bool { return k.At > 0 && k.At <= revision }

// Absent records a response that shows that the key does not exist. However, a create without a
// response may still create the key.
func (k *EphemeralKey) Absent() {
	if k.Unsure == 0 {
		k.There = false
	}
}

// SessionGone must be called when the key's lease or session has ended. After that, no pending call
// can create the key with this lease or session.
func (k *EphemeralKey) SessionGone() { k.There, k.Unsure = false, 0 }

// MayEnd records, once, that the key may have been deleted at or after the time `from`.
func (k *EphemeralKey) MayEnd(to *history.Recorder, session uint32, from, now int64) {
	if k.There && !k.Ended {
		k.Ended = true
		RecordPossibleDelete(to, k.Number, session, from, now)
	}
}

// SessionMayEnd records, once, that the key's session may have ended. If `sure` is set, the session
// was closed and is known to have been alive until `now`, so the key can only be deleted after
// `now`. Otherwise, the key may have been deleted at any time since its creation.
func (k *EphemeralKey) SessionMayEnd(to *history.Recorder, session uint32, sure bool, now int64) {
	from := k.Made
	if sure {
		from = now
	}
	k.MayEnd(to, session, from, now)
}

// SessionEnded must be called when the session that created the key at revision o.Mod was closed.
// The key's latest version was deleted with the session, unless the key was created again or
// deleted in the meantime. o is complete except for the key, the version and its value.
func (k *EphemeralKey) SessionEnded(to *history.Recorder, o *history.Op) {
	if k.There && k.At == o.Mod {
		o.Key, o.Mod, o.Written = k.Number, k.Newest, k.Value
		to.Add(o)
	}
}

// RecordPossibleDelete records that a key may have been deleted at or after the time `from`. The
// record is a delete that may or may not have been executed.
func RecordPossibleDelete(to *history.Recorder, key uint64, session uint32, from, now int64) {
	o := history.PossibleDelete(key, session, from, now)
	to.Add(&o)
}

// LeftKeys tracks keys from earlier loads whose sessions may end during this load.
type LeftKeys struct {
	began    int64  // when the first call of this load was sent; 0: no call was sent yet
	recorded []bool // for each key: whether its possible delete is already recorded
}

// NewLeftKeys returns a LeftKeys for the given number of keys.
func NewLeftKeys(keys uint64) LeftKeys { return LeftKeys{recorded: make([]bool, keys)} }

// Sent stores the time at which the load's first call was sent. It ignores later calls.
func (l *LeftKeys) Sent(at int64) {
	if l.began == 0 {
		l.began = max(at, 1)
	}
}

// MayEnd records, once, that a key of an earlier load may have been deleted at any time since this
// load began.
func (l *LeftKeys) MayEnd(to *history.Recorder, key uint64, now int64) {
	if key < uint64(len(l.recorded)) && !l.recorded[key] {
		l.recorded[key] = true
		RecordPossibleDelete(to, key, 0, l.began, now)
	}
}

// Lease tracks a client's lease, based on the responses to its renewals. The client creates keys
// with this lease.
type Lease struct {
	ID    int64 // 0 if unknown
	Until int64 // the lease is valid at least until this time; 0 if unknown
}

// MayEnd records, once, that a key that is bound to the lease may have been deleted at any time
// after Until, the last time at which the lease is known to be valid.
func (l *Lease) MayEnd(to *history.Recorder, k *EphemeralKey, session uint32, now int64) {
	from := l.Until
	if from == 0 {
		from = k.Made
	}
	k.MayEnd(to, session, from, now)
}

// MayHaveEnded reports whether the lease may have expired before the given time. It returns false
// until the first renewal receives a response, because this response will show whether the lease
// was still valid.
func (l *Lease) MayHaveEnded(by int64) bool { return l.Until != 0 && l.Until < by }

// Renewed completes o, the record of a renewal of this lease or of an earlier one. A renewed lease
// is valid for `life` nanoseconds from the request, or for the number of seconds in the response if
// that is shorter. Renewed sets the result `lives` if this lease was renewed, and `gone` if the
// response shows that this lease has ended.
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

// Granted starts to track a lease that was granted for `life` nanoseconds from the request. It
// completes o, the record of the grant.
func (l *Lease) Granted(lease, life int64, o *history.Op) {
	*l = Lease{ID: lease, Until: o.Invoked + life}
	o.Kind, o.Written, o.Mod = kv.KeepAlive, uint64(lease), life/int64(time.Second) // #nosec G115 -- all bits are kept
}

// Hold is a lock that a client holds by means of a lease.
type Hold struct {
	Token int64 // fencing token; 0 if the lock is not held
}

// Granted begins the hold of a client: the response to o showed that the client acquired the lock.
func (h *Hold) Granted(to *history.Recorder, lock uint64, holder uint32, l *Lease, token int64, o *history.Op) {
	h.Token = token
	to.Add(&history.Op{
		Kind: kv.KeepAlive, Lock: history.Granted, Session: holder, Member: o.Member, Key: lock,
		Invoked: o.Invoked, Done: o.Done, Written: uint64(l.ID), Mod: token, // #nosec G115 -- all bits are kept
	})
}

// Released ends the hold of a client, which believed until the time `at` that it held the lock. It
// does nothing if the client did not hold the lock.
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
