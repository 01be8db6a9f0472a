package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// recipe is how candidates use a store. Its methods say what a candidate does, and which
// call it makes next (Script.want), if it knows that.
type recipe interface {
	// fill makes a candidate's call.
	fill(s *source, c int, call Call, op *store.Op)
	// answered takes the answer to it.
	answered(s *source, c int, call Call, ev *store.Event) kv.Outcome
	// told takes that what a candidate waits for has changed, or is gone.
	told(s *Script, c int, gone bool)
	// again is the call with which it goes on after one that failed, or when it does not
	// know what it has missed.
	again(s *Script, c int, failed Call) Call
	// expired takes that its session has ended.
	expired(s *Script, c int)
}

// recipeOf is that of the script's way.
func recipeOf(s *Script) recipe {
	switch s.way.Recipe {
	case EphemeralQueue:
		return &ephemeralQueue{names: &namesHeard{}}
	case LeaseRace:
		return leaseRace{}
	case LeaseQueue:
		return leaseQueue{}
	case SessionRace:
		return sessionRace{}
	default:
		return ephemeralRace{}
	}
}

// one makes a call of one part.
func (s *source) one(p call.Part) {
	s.parts[0] = p
	s.call = call.Call{Parts: s.parts[:1]}
}

// office makes the source's key that of a candidate's office.
func (s *source) office(c int) { s.key = AppendOffice(s.key[:0], s.prefix, c/s.Candidates) }

// name makes the source's value a candidate's name. Where nobody knows his own by it, each
// is another, so that it says which write a value is of.
func (s *source) name(c int) call.Value {
	run := s.run
	if s.way.Recipe == SessionRace {
		s.written++
		run += s.written
	}
	s.value = AppendCandidate(s.value[:0], c, run)
	return call.Value{Size: len(s.value), Text: s.value}
}

// named reports whether a value is a candidate's name, and of this run.
func (s *source) named(c int, value []byte) bool {
	of, run, ok := Candidate(value)
	return ok && of == c && run == s.run
}

// read makes a call that reads the source's key from the member and has the candidate
// told, once, of what happens to it.
func (s *source) await(c int, op *store.Op) {
	s.one(call.Part{Action: call.Read, Key: s.key, Flags: call.Local})
	s.parts[1] = call.Part{Action: call.Watch, Key: s.key}
	s.call.Parts = s.parts[:2]
	s.watch = store.WatchOp{Watcher: uint32(c)} // #nosec G115 -- at most maxCandidates
	op.Watch = &s.watch
}

// leader reports whether a candidate takes itself for the leader.
func (s *Script) leader(c int) bool { return int(s.officeOf(c).leader) == c }

// outcomeOf is how an answer ended by which a candidate leads.
func outcomeOf(ev *store.Event, wrong []byte) kv.Outcome {
	if wrong != nil {
		ev.Text = wrong
		return kv.WrongAnswer
	}
	return ev.Outcome
}

// before makes the offices, below which candidates stand.
type before struct {
	app.PreloadBase
	source source
}

// Fill implements engine.Source.
func (b *before) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	s := &b.source
	if s.leases != nil {
		s.leased(n)
		*op = store.Op{Kind: kv.Put, Call: &s.call}
		return n
	}
	s.key = AppendOffice(s.key[:0], s.prefix, int(n)) // #nosec G115 -- below Offices
	*op = store.Op{Kind: kv.Put, Key: s.key, Value: s.key}
	return n
}

// Check implements engine.Source.
func (b *before) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	if s := &b.source; s.leases != nil && n >= uint64(s.Offices) { // #nosec G115 -- a count
		s.granted(int(n)-s.Offices, ev) // #nosec G115 -- a count
	}
	return ev.Outcome
}
