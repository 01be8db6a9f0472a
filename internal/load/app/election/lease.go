package election

import (
	"math"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// fillPreload creates the n-th call that prepares the load. The first calls remove keys that an
// earlier load left and whose leases may still be valid. The other calls grant a lease to each
// candidate.
func (s *source) fillPreload(n uint64) {
	if n < uint64(s.Offices) { // #nosec G115 -- a count
		s.key = append(AppendOffice(s.key[:0], s.prefix, int(n)), '/') // #nosec G115 -- below Offices
		s.setCall(call.Part{Action: call.Remove, Scope: call.Prefix, Key: s.key})
		return
	}
	s.setGrantCall()
}

// setRenewCall creates a call that keeps a candidate's session or lease alive. If the candidate has
// no lease, the call requests one.
func (s *source) setRenewCall(c int, op *store.Op) {
	if s.renewalSent[c] == 0 {
		s.renewalSent[c] = max(s.now, 1)
	}
	if s.leases == nil {
		op.Call = nil
		return
	}
	op.Revision = s.leases[c] // so that the operation's Completion contains the lease
	if lease := s.leases[c]; lease != 0 {
		s.setCall(call.Part{Action: call.KeepAlive, Lease: lease, Name: s.sessionName(c)})
		return
	}
	s.setGrantCall()
}

// setGrantCall creates a call that requests a lease, or a session that ends only when its TTL has
// passed. By default, a session would also have a health check of its member. It would then end as
// soon as the store considers that member lost, and the earliest time at which it can end would be
// unknown.
func (s *source) setGrantCall() {
	p := call.Part{Action: call.Grant, Number: s.sessionTTL / int64(time.Second)}
	if s.way.Recipe == SessionRace {
		p.Flags = call.NoHealthChecks
	}
	s.setCall(p)
}

// handleRenewal handles the response to a renewal. If `planned` is false, the candidate was waiting
// for the renewal, and now stands for election.
func (s *source) handleRenewal(c int, ev *store.Event, planned bool) kv.Outcome {
	switch {
	case s.leases == nil:
		s.shortenSessions(ev.Count * int64(time.Second))
	case s.leases[c] == 0:
		s.storeLease(c, ev)
	}
	if at := s.renewalSent[c]; at != 0 { // 0 after a failed renewal: it is unknown when this renewal was sent
		s.aliveUntil[c], s.renewalSent[c] = max(at+s.sessionTTL, s.aliveUntil[c]), 0
	}
	if k := &s.candidates[c]; k.dead {
		s.updateDeadSession(c, s.aliveUntil[c])
	} else if !planned {
		k.busy = false
		s.setNextCall(c, Stand, false)
	}
	return ev.Outcome
}

// shortenSessions records the timeout that a server granted to a connection's session. If the
// timeout is shorter than requested, all sessions end earlier than assumed until now.
func (s *Script) shortenSessions(granted int64) {
	less := s.sessionTTL - granted
	if granted <= 0 || less <= 0 {
		return
	}
	s.sessionTTL = granted
	for c := range s.aliveUntil {
		s.aliveUntil[c] = max(s.aliveUntil[c]-less, 0)
	}
	for i := range s.offices {
		if o := &s.offices[i]; o.sessionAliveUntil > 0 {
			o.sessionAliveUntil = max(o.sessionAliveUntil-less, 1)
		}
	}
}

// storeLease stores the lease that a response contains: either the lease's ID, or its name as two
// numbers.
func (s *source) storeLease(c int, ev *store.Event) {
	s.leases[c] = ev.Count
	if s.way.Recipe == SessionRace {
		s.leases[c], s.leases[s.CandidateCount()+c] = app.ParseUUID(ev.Value)
	}
}

// loseLease handles the end of a candidate's lease, which has also deleted the candidate's key. The
// candidate requests a new lease.
func (s *source) loseLease(c int) {
	if c == none || s.leases == nil || s.leases[c] == 0 {
		return
	}
	s.leases[c], s.aliveUntil[c] = 0, 0
	if s.candidates[c].dead {
		s.updateDeadSession(c, 0)
		return
	}
	s.stepDown(c, false, s.now)
	if k := &s.candidates[c]; k.hasCalled && !k.busy {
		s.setNextCall(c, Renew, false)
	}
}

// needsLease reports whether a call needs a lease that the candidate does not have.
func (s *Script) needsLease(c int, call Call) bool {
	return s.leases != nil && s.leases[c] == 0 && call != Renew && call != Drop
}

// createKey creates a call that creates the source's key with the candidate's lease if the key does
// not exist. If the key exists, the call reads it.
func (s *source) createKey(c int) {
	s.parts[0] = call.Part{Action: call.Compare, Target: call.Created, Key: s.key}
	s.parts[1] = call.Part{Action: call.Write, Branch: call.Then, Key: s.key, Value: s.setName(c), Lease: s.leases[c]}
	s.parts[2] = call.Part{Action: call.Read, Branch: call.Else, Key: s.key}
	s.call = call.Call{Guarded: true, Parts: s.parts[:3]}
}

// deleteKey creates a call that deletes the source's key if its create revision is `created`.
func (s *source) deleteKey(created int64) {
	s.parts[0] = call.Part{Action: call.Compare, Target: call.Created, Number: created, Key: s.key}
	s.parts[1] = call.Part{Action: call.Remove, Branch: call.Then, Key: s.key}
	s.call = call.Call{Guarded: true, Parts: s.parts[:2]}
}

// setWatchCall sets the call that starts or ends a candidate's watcher.
func (s *source) setWatchCall(c int, p call.Part, op *store.Op) {
	s.setCall(p)
	s.watch = store.WatchOp{Watcher: uint32(c)} // #nosec G115 -- at most maxCandidates
	op.Watch = &s.watch
}

// continueWith sets the candidate's next call. If that call starts a watcher and the candidate
// already has one, the candidate first ends the old watcher. If the call is Drop, the candidate
// only ends its watcher. continueWith does nothing if becomeLeader has already chosen the next
// call.
func (s *source) continueWith(c int, call Call) {
	k := &s.candidates[c]
	switch {
	case k.busy:
	case k.hasWatcher && (call == Await || call == Drop):
		k.callAfterWatcher = call
		s.setNextCall(c, Drop, false)
	case call != Drop:
		s.setNextCall(c, call, false)
	}
}

// endWatcher handles the confirmation that a candidate's watcher has ended.
func (s *source) endWatcher(c int) {
	k := &s.candidates[c]
	k.hasWatcher = false
	s.continueWith(c, k.callAfterWatcher)
}

// retryWithLease implements recipe.retryCall for leaseRace and leaseQueue. A candidate without a
// lease must first request one.
func retryWithLease(s *Script, c int, failed Call) Call {
	switch {
	case s.leases[c] == 0:
		return Renew
	case failed == Resign || failed == Drop:
		return failed
	}
	return Stand
}

// leaseRace is a race for a key with a fixed name. A transaction creates the key if it does not
// exist. Otherwise it returns the key's value and the current revision, and a watcher that starts
// at the next revision reports when the key is deleted.
type leaseRace struct{}

func (leaseRace) fill(s *source, c int, request Call, op *store.Op) {
	k := &s.candidates[c]
	s.setOfficeKey(c)
	s.key = append(s.key, leaderNode...)
	switch request {
	case Stand:
		s.createKey(c)
	case Resign:
		s.deleteKey(k.ownNumber)
	case Drop:
		s.setWatchCall(c, call.Part{Action: call.Unwatch}, op)
	default:
		s.setWatchCall(c, call.Part{Action: call.Watch, Key: s.key, Number: k.watchStart}, op)
	}
}

func (leaseRace) handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	switch call {
	case Resign:
		s.continueWith(c, Stand)
	case Stand:
		created := ev.ModRevision // the key is never overwritten
		if ev.Outcome == kv.OK {
			created = ev.StoreRevision
		} else if !s.isName(c, ev.Value) {
			k.watchStart = ev.StoreRevision + 1
			s.continueWith(c, Await)
			return ev.Outcome
		}
		k.ownNumber = created
		wrong := s.becomeLeader(c, created)
		s.continueWith(c, Drop)
		return outcomeWithText(ev, wrong)
	case Await:
		k.hasWatcher = true
	default:
		s.endWatcher(c)
	}
	return ev.Outcome
}

func (leaseRace) handleChange(s *Script, c int, deleted bool) {
	if !s.isLeader(c) && deleted {
		s.setNextCall(c, Stand, false)
	}
}

func (leaseRace) retryCall(s *Script, c int, failed Call) Call { return retryWithLease(s, c, failed) }

func (leaseRace) handleExpiry(*Script, int) {}

// leaseQueue imitates the election in etcd's package concurrency. Each candidate creates a key
// below the office, named after the candidate's lease. The candidate with the oldest key is leader.
// Each other candidate reads the newest key that is older than its own, and watches that key until
// it is deleted.
type leaseQueue struct{}

// setLeaseKey sets the source's key to the key that is named after a lease.
func (s *source) setLeaseKey(c int, lease int64) {
	s.key = appendLeaseKey(s.key[:0], s.prefix, c/s.Candidates, lease)
}

func appendLeaseKey(b []byte, prefix string, office int, lease int64) []byte {
	return strconv.AppendInt(append(AppendOffice(b, prefix, office), '/'), lease, 16)
}

func (leaseQueue) fill(s *source, c int, request Call, op *store.Op) {
	k := &s.candidates[c]
	switch request {
	case Stand:
		s.setLeaseKey(c, s.leases[c])
		s.createKey(c)
	case Resign:
		s.setLeaseKey(c, s.leases[c])
		s.deleteKey(k.ownNumber)
	case Look:
		s.setOfficeKey(c)
		s.key = append(s.key, '/')
		s.setCall(call.Part{
			Action: call.Read, Scope: call.Prefix, Key: s.key, Limit: 1, MaxCreateRevision: k.ownNumber - 1,
			Flags: call.Sorted | call.Descending, Target: call.Created,
		})
	case Drop:
		s.setWatchCall(c, call.Part{Action: call.Unwatch}, op)
	default:
		s.setLeaseKey(c, k.precedingNumber)
		s.setWatchCall(c, call.Part{Action: call.Watch, Key: s.key, Number: k.watchStart}, op)
	}
}

var unknownKeyText = []byte("the queue contains a key that no candidate created")

func (leaseQueue) handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	switch call {
	case Resign:
		s.continueWith(c, Stand)
	case Stand: // an earlier failed call may have created the key already
		if k.ownNumber = ev.StoreRevision; ev.Outcome == kv.Conflict {
			k.ownNumber = ev.ModRevision
		}
		s.continueWith(c, Look)
	case Look:
		if len(ev.Key) == 0 {
			wrong := s.becomeLeader(c, k.ownNumber)
			s.continueWith(c, Drop)
			return outcomeWithText(ev, wrong)
		}
		lease, ok := s.parseLeaseKey(c, ev.Key)
		if !ok {
			s.setNextCall(c, Look, true)
			return outcomeWithText(ev, unknownKeyText)
		}
		k.precedingNumber, k.watchStart = lease, ev.StoreRevision
		s.continueWith(c, Await)
	case Await:
		k.hasWatcher = true
	default:
		s.endWatcher(c)
	}
	return ev.Outcome
}

// parseLeaseKey returns the lease that a key is named after. The result `ok` is false if the key is
// not below the candidate's office.
func (s *source) parseLeaseKey(c int, key []byte) (lease int64, ok bool) {
	s.setOfficeKey(c)
	at := len(s.key) + 1
	if len(key) <= at || string(key[:at-1]) != string(s.key) || key[at-1] != '/' {
		return 0, false
	}
	return parseLease(key[at:])
}

// parseLease returns the lease that is written in the last part of a key.
func parseLease(name []byte) (lease int64, ok bool) {
	if len(name) == 0 || len(name) > 16 {
		return 0, false
	}
	n := uint64(0)
	for _, d := range name {
		switch {
		case d >= '0' && d <= '9':
			n = n<<4 | uint64(d-'0')
		case d >= 'a' && d <= 'f':
			n = n<<4 | uint64(d-'a'+10)
		default:
			return 0, false
		}
	}
	return int64(min(n, math.MaxInt64)), true // #nosec G115 -- within bounds
}

func (leaseQueue) handleChange(s *Script, c int, deleted bool) {
	if !s.isLeader(c) && deleted {
		s.setNextCall(c, Look, false)
	}
}

func (leaseQueue) retryCall(s *Script, c int, failed Call) Call {
	return retryWithLease(s, c, failed)
}

func (leaseQueue) handleExpiry(*Script, int) {}
