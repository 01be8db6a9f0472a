package election

import (
	"math"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// leased makes the n-th call before the load: what is left of an earlier one is removed,
// whose leases may live, and every candidate takes a lease.
func (s *source) leased(n uint64) {
	if n < uint64(s.Offices) { // #nosec G115 -- a count
		s.key = append(AppendOffice(s.key[:0], s.prefix, int(n)), '/') // #nosec G115 -- below Offices
		s.one(call.Part{Action: call.Remove, Scope: call.Prefix, Key: s.key})
		return
	}
	s.grant()
}

// renew makes a call that keeps a candidate's session alive, or prolongs its lease; one
// that has none takes a new one.
func (s *source) renew(c int, op *store.Op) {
	if s.renewing[c] == 0 {
		s.renewing[c] = max(s.now, 1)
	}
	if s.leases == nil {
		op.Call = nil
		return
	}
	op.Revision = s.leases[c] // which goes with the call to its end
	if lease := s.leases[c]; lease != 0 {
		s.one(call.Part{Action: call.KeepAlive, Lease: lease, Name: s.session(c)})
		return
	}
	s.grant()
}

// grant makes a call that takes a lease, or a session that nothing ends but its time: a check
// of its member's health would, as soon as that is taken for lost, and nobody would know until
// when it lives, however it is kept alive.
func (s *source) grant() {
	p := call.Part{Action: call.Grant, Number: s.life / int64(time.Second)}
	if s.way.Recipe == SessionRace {
		p.Flags = call.Unchecked
	}
	s.one(p)
}

// renewed takes the answer. A candidate that has waited for it stands.
func (s *source) renewed(c int, ev *store.Event, planned bool) kv.Outcome {
	switch {
	case s.leases == nil:
		s.shorten(ev.Count * int64(time.Second))
	case s.leases[c] == 0:
		s.granted(c, ev)
	}
	if at := s.renewing[c]; at != 0 { // else it is not known which was answered
		s.lives[c], s.renewing[c] = max(at+s.life, s.lives[c]), 0
	}
	if k := &s.candidates[c]; k.dead {
		s.lived(c, s.lives[c])
	} else if !planned {
		k.busy = false
		s.want(c, Stand, false)
	}
	return ev.Outcome
}

// shorten takes how long a server lets a session of a connection live. If that is less than
// was asked for, no session has lived as long as was thought.
func (s *Script) shorten(granted int64) {
	less := s.life - granted
	if granted <= 0 || less <= 0 {
		return
	}
	s.life = granted
	for c := range s.lives {
		s.lives[c] = max(s.lives[c]-less, 0)
	}
	for i := range s.offices {
		if o := &s.offices[i]; o.until > 0 {
			o.until = max(o.until-less, 1)
		}
	}
}

// granted keeps the lease that an answer says: its number, or its name.
func (s *source) granted(c int, ev *store.Event) {
	s.leases[c] = ev.Count
	if s.way.Recipe == SessionRace {
		s.leases[c], s.leases[s.All()+c] = halves(ev.Value)
	}
}

// bereft takes that a candidate's lease is gone, and with it its key: it takes another.
func (s *source) bereft(c int) {
	if c == nobody || s.leases == nil || s.leases[c] == 0 {
		return
	}
	s.leases[c], s.lives[c] = 0, 0
	if s.candidates[c].dead {
		s.lived(c, 0)
		return
	}
	s.ceases(c, false, s.now)
	if k := &s.candidates[c]; k.entered && !k.busy {
		s.want(c, Renew, false)
	}
}

// bare reports whether a call of a candidate needs a lease, and there is none.
func (s *Script) bare(c int, call Call) bool {
	return s.leases != nil && s.leases[c] == 0 && call != Renew && call != Drop
}

// take makes a call that creates the source's key with a candidate's lease if it is not
// there, and else reads it.
func (s *source) take(c int) {
	s.parts[0] = call.Part{Action: call.Compare, Target: call.Created, Key: s.key}
	s.parts[1] = call.Part{Action: call.Write, Branch: call.Then, Key: s.key, Value: s.name(c), Lease: s.leases[c]}
	s.parts[2] = call.Part{Action: call.Read, Branch: call.Else, Key: s.key}
	s.call = call.Call{Guarded: true, Parts: s.parts[:3]}
}

// giveUp makes a call that removes the source's key if it was created at a revision.
func (s *source) giveUp(created int64) {
	s.parts[0] = call.Part{Action: call.Compare, Target: call.Created, Number: created, Key: s.key}
	s.parts[1] = call.Part{Action: call.Remove, Branch: call.Then, Key: s.key}
	s.call = call.Call{Guarded: true, Parts: s.parts[:2]}
}

// watcher makes a call that begins or ends a candidate's watcher.
func (s *source) watcher(c int, p call.Part, op *store.Op) {
	s.one(p)
	s.watch = store.WatchOp{Watcher: uint32(c)} // #nosec G115 -- at most maxCandidates
	op.Watch = &s.watch
}

// next has a candidate make a call, behind the end of its watcher if it has one and needs
// another. Drop as the call ends the watcher, and nothing follows. Who has a call to make
// already (leads) makes that.
func (s *source) next(c int, call Call) {
	k := &s.candidates[c]
	switch {
	case k.busy:
	case k.watches && (call == Await || call == Drop):
		k.then = call
		s.want(c, Drop, false)
	case call != Drop:
		s.want(c, call, false)
	}
}

// dropped takes that a candidate's watcher has ended.
func (s *source) dropped(c int) {
	k := &s.candidates[c]
	k.watches = false
	s.next(c, k.then)
}

// leaseAgain is recipe.again of both. Without a lease it needs one first.
func leaseAgain(s *Script, c int, failed Call) Call {
	switch {
	case s.leases[c] == 0:
		return Renew
	case failed == Resign || failed == Drop:
		return failed
	}
	return Stand
}

// leaseRace is a race for a key of one name: a transaction makes it if it is not there,
// and else says since when it is there and whose it is; a watcher from then on tells when
// it is gone.
type leaseRace struct{}

func (leaseRace) fill(s *source, c int, request Call, op *store.Op) {
	k := &s.candidates[c]
	s.office(c)
	s.key = append(s.key, leaderNode...)
	switch request {
	case Stand:
		s.take(c)
	case Resign:
		s.giveUp(k.own)
	case Drop:
		s.watcher(c, call.Part{Action: call.Unwatch}, op)
	default:
		s.watcher(c, call.Part{Action: call.Watch, Key: s.key, Number: k.from}, op)
	}
}

func (leaseRace) answered(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	switch call {
	case Resign:
		s.next(c, Stand)
	case Stand:
		created := ev.Mod // it is never written again
		if ev.Outcome == kv.OK {
			created = ev.At
		} else if !s.named(c, ev.Value) {
			k.from = ev.At + 1
			s.next(c, Await)
			return ev.Outcome
		}
		k.own = created
		wrong := s.leads(c, created)
		s.next(c, Drop)
		return outcomeOf(ev, wrong)
	case Await:
		k.watches = true
	default:
		s.dropped(c)
	}
	return ev.Outcome
}

func (leaseRace) told(s *Script, c int, gone bool) {
	if !s.leader(c) && gone {
		s.want(c, Stand, false)
	}
}

func (leaseRace) again(s *Script, c int, failed Call) Call { return leaseAgain(s, c, failed) }

func (leaseRace) expired(*Script, int) {}

// leaseQueue is the election of etcd's package concurrency: each candidate has a key that
// is called by its lease, below the office; who created its own first leads. A candidate
// looks for the newest key that is older than its own, and is told when that is gone.
type leaseQueue struct{}

// leaseKey makes the source's key that of a lease.
func (s *source) leaseKey(c int, lease int64) {
	s.key = appendLeaseKey(s.key[:0], s.prefix, c/s.Candidates, lease)
}

func appendLeaseKey(b []byte, prefix string, office int, lease int64) []byte {
	return strconv.AppendInt(append(AppendOffice(b, prefix, office), '/'), lease, 16)
}

func (leaseQueue) fill(s *source, c int, request Call, op *store.Op) {
	k := &s.candidates[c]
	switch request {
	case Stand:
		s.leaseKey(c, s.leases[c])
		s.take(c)
	case Resign:
		s.leaseKey(c, s.leases[c])
		s.giveUp(k.own)
	case Look:
		s.office(c)
		s.key = append(s.key, '/')
		s.one(call.Part{
			Action: call.Read, Scope: call.Prefix, Key: s.key, Limit: 1, Oldest: k.own - 1,
			Flags: call.Sorted | call.Descending, Target: call.Created,
		})
	case Drop:
		s.watcher(c, call.Part{Action: call.Unwatch}, op)
	default:
		s.leaseKey(c, k.before)
		s.watcher(c, call.Part{Action: call.Watch, Key: s.key, Number: k.from}, op)
	}
}

var strangeKey = []byte("a key that no candidate made is in the queue")

func (leaseQueue) answered(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	switch call {
	case Resign:
		s.next(c, Stand)
	case Stand: // its key may be there already, by a call that failed
		if k.own = ev.At; ev.Outcome == kv.Conflict {
			k.own = ev.Mod
		}
		s.next(c, Look)
	case Look:
		if len(ev.Key) == 0 {
			wrong := s.leads(c, k.own)
			s.next(c, Drop)
			return outcomeOf(ev, wrong)
		}
		lease, ok := s.leaseOf(c, ev.Key)
		if !ok {
			s.want(c, Look, true)
			return outcomeOf(ev, strangeKey)
		}
		k.before, k.from = lease, ev.At
		s.next(c, Await)
	case Await:
		k.watches = true
	default:
		s.dropped(c)
	}
	return ev.Outcome
}

// leaseOf is the lease by which a key below a candidate's office is called.
func (s *source) leaseOf(c int, key []byte) (lease int64, ok bool) {
	s.office(c)
	at := len(s.key) + 1
	if len(key) <= at || string(key[:at-1]) != string(s.key) || key[at-1] != '/' {
		return 0, false
	}
	return leaseIn(key[at:])
}

// leaseIn is the lease by which the last part of a key is called.
func leaseIn(name []byte) (lease int64, ok bool) {
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
	return int64(min(n, math.MaxInt64)), true // #nosec G115 -- in its bounds
}

func (leaseQueue) told(s *Script, c int, gone bool) {
	if !s.leader(c) && gone {
		s.want(c, Look, false)
	}
}

func (leaseQueue) again(s *Script, c int, failed Call) Call {
	return leaseAgain(s, c, failed)
}

func (leaseQueue) expired(*Script, int) {}
