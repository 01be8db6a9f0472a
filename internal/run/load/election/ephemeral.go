package election

import (
	data "github.com/quorumbench/quorumbench/internal/application/election"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/store"
)

// ephemeralRace is the election of a controller of Kafka: whoever makes the office's node
// leads until the node is gone, which its session's end does, too. Who finds it there
// reads who leads, and is told when the node is gone; then all try again.
type ephemeralRace struct{}

const leaderNode = "/leader"

func (ephemeralRace) fill(s *source, c int, call data.Call, op *store.Op) {
	s.office(c)
	s.key = append(s.key, leaderNode...)
	switch call {
	case data.Stand:
		s.parts[0] = recording.Part{Action: recording.Compare, Target: recording.Version, Key: s.key}
		s.parts[1] = recording.Part{Action: recording.Write, Branch: recording.Then, Flags: recording.Ephemeral, Key: s.key, Value: s.name(c)}
		s.call = recording.Call{Guarded: true, Parts: s.parts[:2]}
	case data.Resign:
		s.one(recording.Part{Action: recording.Remove, Key: s.key})
	default:
		s.await(c, op)
	}
}

func (ephemeralRace) answered(s *source, c int, call data.Call, ev *store.Event) kv.Outcome {
	switch {
	case call == data.Resign: // if its node was not there any more, it has resigned all the same
		s.want(c, data.Stand, false)
	case call == data.Stand && ev.Outcome == kv.OK:
		return outcomeOf(ev, s.leads(c, ev.At))
	case call == data.Stand: // another was quicker, or an earlier call that failed was done
		s.want(c, data.Await, false)
	case ev.Outcome == kv.Miss:
		s.want(c, data.Stand, false)
	default:
		if leader, ok := data.Candidate(ev.Value); ok && leader == c {
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

func (ephemeralRace) again(_ *Script, _ int, failed data.Call) data.Call {
	if failed == data.Resign {
		return data.Resign
	}
	return data.Stand
}

func (ephemeralRace) expired(*Script, int) {}
