package membership

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	data "github.com/quorumbench/quorumbench/internal/load/app/membership"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/tally"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// source makes the calls, in memory of its own that the next one gets again. It is an
// engine.Reactive.
type source struct {
	engine.ReactiveBase
	*Script
	key, value []byte
}

var _ engine.Reactive = (*source)(nil)

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	e := s.schedule.Entries[n]
	kind, level := e.Call.Kind()
	s.key = s.schedule.AppendKey(s.key[:0], s.setup.Prefix, e.Object)
	*op = store.Op{Kind: kind, Consistency: level, Key: s.key}
	switch e.Call {
	case data.Register:
		s.came[e.Object] = uint32(n) + 1
		s.value = s.values.Append(s.value[:0], s.key, 0, n)
		op.Value = s.value
	case data.Deregister:
		s.gone[e.Object] = uint32(n) + 1
	}
	return n
}

// Kind implements engine.Source.
func (s *source) Kind(_ measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	return s.schedule.Entries[n].Call.Kind()
}

// Shares implements engine.Source.
func (s *source) Shares(measure.Phase) []engine.Share {
	kinds := s.schedule.Kinds()
	return tally.Shares(data.Shapes[:], kinds[:])
}

// Place implements engine.Reactive: an instance comes and goes on the connection whose
// session it has. Of the clients, whose own connections carry their watches, many share
// one for their reads.
func (s *source) Place(n uint64) int {
	e := s.schedule.Entries[n]
	if e.Call == data.Lookup {
		return int(e.Client) % s.setup.Connections
	}
	return int(e.Object) % s.setup.Connections
}

// Ready implements engine.Reactive: what comes in the load is read, and goes, when its
// registration was answered.
func (s *source) Ready(n uint64) bool {
	e := s.schedule.Entries[n]
	return e.Call == data.Register || s.schedule.Before(e.Object) || s.settled[e.Object]
}

// Failed implements engine.Reactive.
func (s *source) Failed(n uint64) {
	if e := s.schedule.Entries[n]; e.Call == data.Register {
		s.settled[e.Object] = true
	}
}

// Ended implements engine.Reactive.
func (s *source) Ended(n uint64, o kv.Outcome, response, service int64) {
	s.calls[s.schedule.Entries[n].Call].Ended(o, response, service)
}

var neverWritten = []byte("a value that was never written to this key")

// Check implements engine.Source.
func (s *source) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	e := s.schedule.Entries[n]
	switch {
	case e.Call == data.Register:
		s.settled[e.Object] = true
		if ev.Outcome == kv.OK {
			s.board.Acknowledge(uint64(e.Object))
		}
	case ev.Outcome != kv.OK:
	case e.Call == data.Deregister && ev.Count == 0:
		return kv.Miss
	case e.Call == data.Deregister:
		s.board.Acknowledge(uint64(e.Object))
	default:
		if s.key = s.schedule.AppendKey(s.key[:0], s.setup.Prefix, e.Object); s.values.Judge(s.key, ev.Value) != keys.Own {
			ev.Text = neverWritten
			return kv.WrongAnswer
		}
	}
	return ev.Outcome
}
