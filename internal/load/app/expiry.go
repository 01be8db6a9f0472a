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
	Number           uint64
	MayExist         bool   // the key may exist
	EarliestCreation int64  // the key was not created before this time
	CreateRevision   int64  // revision at which it was created; 0 if no response contained it
	LatestRevision   int64  // latest version: CreateRevision, or the revision of a later set
	Value            uint64 // identity of the value at LatestRevision
	UnansweredSince  int64  // when the earliest create without a response was invoked; 0 if there is none
	DeleteRecorded   bool   // the possible delete of the key is already recorded
}

// RecordCreate records a call that created or may have created the key.
func (k *EphemeralKey) RecordCreate(o *history.Op) {
	switch {
	case o.Acknowledged():
		if !k.MayExist || k.UnansweredSince == 0 {
			k.EarliestCreation = o.Invoked
		}
		k.CreateRevision, k.LatestRevision, k.Value = o.Revision, o.Revision, o.Written
	case o.Indefinite():
		if k.UnansweredSince == 0 {
			k.UnansweredSince = max(o.Invoked, 1)
		}
		if !k.MayExist || k.EarliestCreation > o.Invoked {
			k.EarliestCreation = o.Invoked
		}
	default:
		return
	}
	k.MayExist, k.DeleteRecorded = true, false
}

// RecordSet records a call with which the owner set the key. The new version belongs to the key
// that was created at CreateRevision, unless a create without a response may have replaced that
// key.
func (k *EphemeralKey) RecordSet(o *history.Op) {
	if o.Acknowledged() && k.MayExist && k.UnansweredSince == 0 && o.Revision > k.LatestRevision {
		k.LatestRevision, k.Value = o.Revision, o.Written
	}
}

// CreatedBy reports whether a response has shown that the key was created at or before a revision.
func (k *EphemeralKey) CreatedBy(revision int64) bool {
	return k.CreateRevision > 0 && k.CreateRevision <= revision
}

// RecordAbsence records a response that shows that the key does not exist. However, a create
// without a response may still create the key.
func (k *EphemeralKey) RecordAbsence() {
	if k.UnansweredSince == 0 {
		k.MayExist = false
	}
}

// EndSession must be called when the key's lease or session has ended. After that, no pending call
// can create the key with this lease or session.
func (k *EphemeralKey) EndSession() { k.MayExist, k.UnansweredSince = false, 0 }

// RecordPossibleEnd records, once, that the key may have been deleted at or after the time `from`.
func (k *EphemeralKey) RecordPossibleEnd(recorder *history.Recorder, session uint32, from, now int64) {
	if k.MayExist && !k.DeleteRecorded {
		k.DeleteRecorded = true
		RecordPossibleDelete(recorder, k.Number, session, from, now)
	}
}

// RecordPossibleSessionEnd records, once, that the key's session may have ended. If `closed` is
// set, the session was closed and is known to have been alive until `now`, so the key can only be
// deleted after `now`. Otherwise, the key may have been deleted at any time since its creation.
func (k *EphemeralKey) RecordPossibleSessionEnd(recorder *history.Recorder, session uint32, closed bool, now int64) {
	from := k.EarliestCreation
	if closed {
		from = now
	}
	k.RecordPossibleEnd(recorder, session, from, now)
}

// RecordSessionEnd must be called when the session that created the key at revision o.ModRevision
// was closed. The key's latest version was deleted with the session, unless the key was created
// again or deleted in the meantime. o is complete except for the key, the version and its value.
func (k *EphemeralKey) RecordSessionEnd(recorder *history.Recorder, o *history.Op) {
	if k.MayExist && k.CreateRevision == o.ModRevision {
		o.Key, o.ModRevision, o.Written = k.Number, k.LatestRevision, k.Value
		recorder.Add(o)
	}
}

// RecordPossibleDelete records that a key may have been deleted at or after the time `from`. The
// record is a delete that may or may not have been executed.
func RecordPossibleDelete(recorder *history.Recorder, key uint64, session uint32, from, now int64) {
	o := history.PossibleDelete(key, session, from, now)
	recorder.Add(&o)
}

// LeftKeys tracks keys from earlier loads whose sessions may end during this load.
type LeftKeys struct {
	loadStart int64  // when the first call of this load was sent; 0: no call was sent yet
	recorded  []bool // for each key: whether its possible delete is already recorded
}

// NewLeftKeys returns a LeftKeys for the given number of keys.
func NewLeftKeys(keys uint64) LeftKeys { return LeftKeys{recorded: make([]bool, keys)} }

// RecordFirstCall stores the time at which the load's first call was sent. It ignores later calls.
func (l *LeftKeys) RecordFirstCall(at int64) {
	if l.loadStart == 0 {
		l.loadStart = max(at, 1)
	}
}

// RecordPossibleEnd records, once, that a key of an earlier load may have been deleted at any time
// since this load began.
func (l *LeftKeys) RecordPossibleEnd(recorder *history.Recorder, key uint64, now int64) {
	if key < uint64(len(l.recorded)) && !l.recorded[key] {
		l.recorded[key] = true
		RecordPossibleDelete(recorder, key, 0, l.loadStart, now)
	}
}

// Lease tracks a client's lease, based on the responses to its renewals. The client creates keys
// with this lease.
type Lease struct {
	ID         int64 // 0 if unknown
	ValidUntil int64 // the lease is valid at least until this time; 0 if unknown
}

// RecordPossibleEnd records, once, that a key that is bound to the lease may have been deleted at
// any time after ValidUntil, the last time at which the lease is known to be valid.
func (l *Lease) RecordPossibleEnd(recorder *history.Recorder, k *EphemeralKey, session uint32, now int64) {
	from := l.ValidUntil
	if from == 0 {
		from = k.EarliestCreation
	}
	k.RecordPossibleEnd(recorder, session, from, now)
}

// MayHaveEnded reports whether the lease may have expired before the given time. It returns false
// until the first renewal receives a response, because this response will show whether the lease
// was still valid.
func (l *Lease) MayHaveEnded(deadline int64) bool {
	return l.ValidUntil != 0 && l.ValidUntil < deadline
}

// RecordRenewal completes o, the record of a renewal of this lease or of an earlier one. A renewed
// lease is valid for `life` nanoseconds from the request, or for the number of seconds in the
// response if that is shorter. The result `renewed` is true if this lease was renewed. The result
// `ended` is true if the response shows that this lease has ended.
func (l *Lease) RecordRenewal(lease, life int64, ev *store.Event, o *history.Op) (renewed, ended bool) {
	seconds := life / int64(time.Second)
	if ev.Count > 0 {
		seconds = min(seconds, ev.Count)
	}
	o.Kind, o.Written = kv.KeepAlive, uint64(lease) // #nosec G115 -- all bits are kept
	switch o.Outcome {
	case kv.OK:
		o.ModRevision = seconds
		if renewed = lease == l.ID; renewed {
			l.ValidUntil = max(l.ValidUntil, o.Invoked+seconds*int64(time.Second))
		}
	case kv.BadRequest:
		ended = lease == l.ID
	}
	return renewed, ended
}

// RecordGrant starts to track a lease that was granted for `life` nanoseconds from the request. It
// completes o, the record of the grant.
func (l *Lease) RecordGrant(lease, life int64, o *history.Op) {
	*l = Lease{ID: lease, ValidUntil: o.Invoked + life}
	o.Kind, o.Written, o.ModRevision = kv.KeepAlive, uint64(lease), life/int64(time.Second) // #nosec G115 -- all bits are kept
}

// Hold is a lock that a client holds by means of a lease.
type Hold struct {
	Token int64 // fencing token; 0 if the lock is not held
}

// RecordGrant begins the hold of a client: the response to o showed that the client acquired the
// lock.
func (h *Hold) RecordGrant(recorder *history.Recorder, lock uint64, holder uint32, l *Lease, token int64, o *history.Op) {
	h.Token = token
	recorder.Add(&history.Op{
		Kind: kv.KeepAlive, LockChange: history.Granted, Session: holder, Member: o.Member, Key: lock,
		Invoked: o.Invoked, Done: o.Done, Written: uint64(l.ID), ModRevision: token, // #nosec G115 -- all bits are kept
	})
}

// RecordRelease ends the hold of a client, which believed until the time `at` that it held the
// lock. It does nothing if the client did not hold the lock.
func (h *Hold) RecordRelease(recorder *history.Recorder, lock uint64, holder uint32, l *Lease, at, now int64) {
	if h.Token == 0 {
		return
	}
	recorder.Add(&history.Op{
		Kind: kv.KeepAlive, LockChange: history.Released, Session: holder, Key: lock,
		Invoked: at, Done: now, Written: uint64(l.ID), ModRevision: h.Token, // #nosec G115 -- all bits are kept
	})
	h.Token = 0
}
