package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	data "github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// ephemeralRace is the election of a controller of Kafka: whoever makes the office's node
// leads until the node is gone, which its session's end does, too. Who finds it there
// reads who leads, and is told when the node is gone; then all try again.
type ephemeralRace struct{}

const leaderNode = "/leader"

func (ephemeralRace) fill(s *source, c int, request data.Call, op *store.Op) {
	s.office(c)
	s.key = append(s.key, leaderNode...)
	switch request {
	case data.Stand:
		s.parts[0] = call.Part{Action: call.Compare, Target: call.Version, Key: s.key}
		s.parts[1] = call.Part{Action: call.Write, Branch: call.Then, Flags: call.Ephemeral, Key: s.key, Value: s.name(c)}
		s.call = call.Call{Guarded: true, Parts: s.parts[:2]}
	case data.Resign:
		if s.leader(c) {
			s.one(call.Part{Action: call.Remove, Key: s.key})
			break
		}
		// Its connection was lost since, and the node may be another's: it looks.
		s.one(call.Part{Action: call.Read, Key: s.key, Flags: call.Local})
	default:
		s.await(c, op)
	}
}

func (ephemeralRace) answered(s *source, c int, call data.Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	missed := k.missed
	k.missed = call != data.Await && missed && ev.Outcome == kv.Conflict
	switch {
	case call == data.Resign: // if its node was not there any more, it has resigned all the same
		s.want(c, data.Stand, false)
	case call == data.Stand && ev.Outcome == kv.OK:
		return outcomeOf(ev, s.leads(c, ev.At))
	case call == data.Stand: // another was quicker, or an earlier call that failed was done
		s.want(c, data.Await, false)
	case ev.Outcome == kv.Miss: // it went meanwhile; twice in a row, the office may be missing
		k.missed = true
		s.want(c, data.Stand, missed)
	default:
		if s.named(c, ev.Value) {
			return outcomeOf(ev, s.leads(c, ev.Mod))
		}
	}
	return ev.Outcome
}

func (ephemeralRace) told(s *Script, c int, gone bool) {
	switch {
	case s.leader(c): // who leads by an earlier call set a watch on its own node
	case gone:
		s.want(c, data.Stand, false)
	default:
		s.want(c, data.Await, false)
	}
}

// again is to stand, also after a resignation: whether that was done is not known, and by
// now the node may be another's. If its own is there still, it leads again.
func (ephemeralRace) again(*Script, int, data.Call) data.Call { return data.Stand }

func (ephemeralRace) expired(*Script, int) {}
