package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// sessionRace imitates the lock in Consul's client. The candidate whose session holds the lock on
// the office's key is leader. Each candidate has a second connection with a blocking query on the
// key, which always reports the lock holder. When the lock has no holder, all candidates try to
// acquire it. A candidate whose attempt fails reads the key to find the reason: either another
// session holds the lock, or the lock-delay after the end of a session has not passed yet.
type sessionRace struct{}

// sessionName returns the name of a candidate's session, or nil if leases have no names. The result
// is valid until the next call.
func (s *source) sessionName(c int) []byte {
	if s.way.Recipe != SessionRace {
		return nil
	}
	s.id = app.AppendUUID(s.id[:0], s.leases[c], s.leases[s.CandidateCount()+c])
	return s.id
}

func (sessionRace) fill(s *source, c int, request Call, op *store.Op) {
	s.setOfficeKey(c)
	s.key = append(s.key, leaderNode...)
	switch request {
	case Stand, Resign:
		s.parts[0] = call.Part{Action: call.Compare, Target: call.LeaseTarget, Key: s.key, Name: s.sessionName(c)}
		s.parts[1] = call.Part{Action: call.Write, Key: s.key, Value: s.setName(c)}
		if request == Stand {
			s.parts[1].Name, s.parts[1].Lease = s.parts[0].Name, 1
		}
		s.call = call.Call{Guarded: true, Parts: s.parts[:2]}
	case Look:
		s.setCall(call.Part{Action: call.Read, Key: s.key})
	default:
		s.watch = store.WatchOp{Watcher: uint32(c), Mode: kv.QueryWatch, Start: 1, WatchesLock: true} // #nosec G115 -- at most maxCandidates
		op.Call, op.Key, op.Watch = nil, s.key, &s.watch
	}
}

func (r sessionRace) handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	switch {
	case call == Resign:
		s.setNextCall(c, Look, false)
	case call == Stand && ev.Outcome == kv.OK:
		wrong := s.becomeLeader(c, noToken)
		// The response to a Look contains the token. Consul's client also reads the lock at this
		// point.
		s.continueWith(c, Look)
		return outcomeWithText(ev, wrong)
	case call == Stand:
		k.ownNumber = 1 // the candidate has tried
		s.setNextCall(c, Look, false)
	case call == Look:
		return r.handleLook(s, c, ev)
	default:
		k.hasWatcher = true
	}
	return ev.Outcome
}

// handleLook handles the response to a Look, which contains the lock holder's session.
func (sessionRace) handleLook(s *source, c int, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	tried := k.ownNumber != 0
	k.ownNumber = 0
	switch {
	case ev.Outcome == kv.OK && string(ev.PreviousValue) == string(s.sessionName(c)):
		wrong := []byte(nil)
		if s.isLeader(c) {
			if wrong = s.checkToken(c, ev.PreviousRevision); wrong != nil {
				s.wrongResponses++
			}
		} else {
			wrong = s.becomeLeader(c, ev.PreviousRevision)
		}
		if !k.hasWatcher && !k.busy {
			s.setNextCall(c, Await, false)
		}
		return outcomeWithText(ev, wrong)
	case s.isLeader(c): // the candidate has lost the lock
		s.stepDown(c, false, s.now)
		s.setNextCall(c, Stand, false)
	case ev.Outcome == kv.OK && len(ev.PreviousValue) > 0:
		if !k.hasWatcher {
			s.setNextCall(c, Await, false)
		}
	default: // the lock has no holder; a candidate whose attempt failed pauses first
		s.setNextCall(c, Stand, tried)
	}
	return ev.Outcome
}

func (sessionRace) handleChange(s *Script, c int, deleted bool) {
	if !s.isLeader(c) && deleted {
		s.setNextCall(c, Stand, false)
	}
}

func (sessionRace) retryCall(s *Script, c int, failed Call) Call {
	switch {
	case s.leases[c] == 0:
		return Renew
	case failed == Resign || failed == Await:
		return failed
	}
	return Look
}

func (sessionRace) handleExpiry(*Script, int) {}
