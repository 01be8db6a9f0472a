package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// ephemeralRace imitates Kafka's election of a controller. The candidate that creates the office's
// node is leader until the node is deleted or the candidate's session ends. Every other candidate
// reads the leader's name and sets a watch on the node. All of them try again when the node is
// deleted.
type ephemeralRace struct{}

const leaderNode = "/leader"

func (ephemeralRace) fill(s *source, c int, request Call, op *store.Op) {
	s.setOfficeKey(c)
	s.key = append(s.key, leaderNode...)
	switch request {
	case Stand:
		s.parts[0] = call.Part{Action: call.Compare, Target: call.Version, Key: s.key}
		s.parts[1] = call.Part{Action: call.Write, Branch: call.Then, Flags: call.Ephemeral, Key: s.key, Value: s.setName(c)}
		s.call = call.Call{Guarded: true, Parts: s.parts[:2]}
	case Resign:
		if s.isLeader(c) {
			s.setCall(call.Part{Action: call.Remove, Key: s.key})
			break
		}
		// The candidate has lost its connection, and the node may belong to another candidate by
		// now. So the candidate reads the node instead of deleting it.
		s.setCall(call.Part{Action: call.Read, Key: s.key, Flags: call.Local})
	default:
		s.setAwaitCall(c, op)
	}
}

func (ephemeralRace) handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	missed := k.nodeMissing
	k.nodeMissing = call != Await && missed && ev.Outcome == kv.Conflict
	switch {
	case call == Resign: // a missing node counts as a successful resignation, too
		s.setNextCall(c, Stand, false)
	case call == Stand && ev.Outcome == kv.OK:
		return outcomeWithText(ev, s.becomeLeader(c, ev.StoreRevision))
	case call == Stand: // another candidate was faster, or an earlier failed call created the node
		s.setNextCall(c, Await, false)
	// The node was just deleted. If the node is missing twice in a row, the office may be missing.
	case ev.Outcome == kv.Miss:
		k.nodeMissing = true
		s.setNextCall(c, Stand, missed)
	default:
		if s.isName(c, ev.Value) {
			return outcomeWithText(ev, s.becomeLeader(c, ev.ModRevision))
		}
	}
	return ev.Outcome
}

func (ephemeralRace) handleChange(s *Script, c int, deleted bool) {
	switch {
	case s.isLeader(c): // the candidate watches its own node, which an earlier call created
	case deleted:
		s.setNextCall(c, Stand, false)
	default:
		s.setNextCall(c, Await, false)
	}
}

// retryCall returns Stand even after a failed resignation. It is unknown whether the store executed
// the resignation, and the node may belong to another candidate by now. If the candidate's own node
// still exists, the candidate becomes leader again.
func (ephemeralRace) retryCall(*Script, int, Call) Call { return Stand }

func (ephemeralRace) handleExpiry(*Script, int) {}
