package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// ephemeralRace is the election of a controller of Kafka: whoever makes the office's node
// leads until the node is gone, which its session's end does, too. Who finds it there
// reads who leads, and is told when the node is gone; then all try again.
type ephemeralRace struct{}

const leaderNode = "/leader"

func (ephemeralRace) fill(s *source, c int, request Call, op *store.Op) {
	s.office(c)
	s.key = append(s.key, leaderNode...)
	switch request {
	case Stand:
		s.parts[0] = call.Part{Action: call.Compare, Target: call.Version, Key: s.key}
		s.parts[1] = call.Part{Action: call.Write, Branch: call.Then, Flags: call.Ephemeral, Key: s.key, Value: s.name(c)}
		s.call = call.Call{Guarded: true, Parts: s.parts[:2]}
	case Resign:
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

func (ephemeralRace) answered(s *source, c int, call Call, ev *store.Event) kv.Outcome {
	k := &s.candidates[c]
	missed := k.missed
	k.missed = call != Await && missed && ev.Outcome == kv.Conflict
	switch {
	case call == Resign: // if its node was not there any more, it has resigned all the same
		s.want(c, Stand, false)
	case call == Stand && ev.Outcome == kv.OK:
		return outcomeOf(ev, s.leads(c, ev.At))
	case call == Stand: // another was quicker, or an earlier call that failed was done
		s.want(c, Await, false)
	case ev.Outcome == kv.Miss: // it went meanwhile; twice in a row, the office may be missing
		k.missed = true
		s.want(c, Stand, missed)
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
		s.want(c, Stand, false)
	default:
		s.want(c, Await, false)
	}
}

// again is to stand, also after a resignation: whether that was done is not known, and by
// now the node may be another's. If its own is there still, it leads again.
func (ephemeralRace) again(*Script, int, Call) Call { return Stand }

func (ephemeralRace) expired(*Script, int) {}
