package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// ephemeralRace is Kafka's election of a controller. The candidate that creates the office's node
// leads until the node is deleted or its session ends. Every other candidate reads the leader's
// name with a watch on the node, and all of them try again when it is gone.
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
		// It has lost its connection, and the node may be another candidate's: it looks.
		s.setCall(call.Part{Action: call.Read, Key: s.key, Flags: call.Local})
	default:
		s.await(c, op)
	}
}

func (ephemeralRace) handleResponse(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	missed := k.missed
	k.missed = call != Await && missed && ev.Outcome == kv.Conflict
	switch {
	case call == Resign: // a missing node counts as resigned, too
		s.want(c, Stand, false)
	case call == Stand && ev.Outcome == kv.OK:
		return outcomeOf(ev, s.becomeLeader(c, ev.At))
	case call == Stand: // another candidate was faster, or an earlier failed call created the node
		s.want(c, Await, false)
	case ev.Outcome == kv.Miss: // the node was deleted meanwhile; twice in a row, the office may be missing
		k.missed = true
		s.want(c, Stand, missed)
	default:
		if s.isName(c, ev.Value) {
			return outcomeOf(ev, s.becomeLeader(c, ev.Mod))
		}
	}
	return ev.Outcome
}

func (ephemeralRace) handleChange(s *Script, c int, gone bool) {
	switch {
	case s.isLeader(c): // its watch is on its own node, which an earlier call created
	case gone:
		s.want(c, Stand, false)
	default:
		s.want(c, Await, false)
	}
}

// retryCall returns Stand even after a resignation. Whether that was executed is unknown, and the
// node may be another candidate's by now. If the candidate's own node still exists, it leads again.
func (ephemeralRace) retryCall(*Script, int, Call) Call { return Stand }

func (ephemeralRace) handleExpiry(*Script, int) {}
