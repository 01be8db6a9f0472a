package catalog

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	data "github.com/quorumbench/quorumbench/internal/load/app/catalog"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/tally"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// beforeMark is in the numbers of the values that are written before the load.
const beforeMark = 1 << 41

// source makes the calls, in memory of its own that the next one gets again. It is an
// engine.Reactive.
type source struct {
	engine.ReactiveBase
	*Script
	id, name, value []byte
	service         store.ServiceOp
}

var _ engine.Reactive = (*source)(nil)

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	e := s.schedule.Entries[n]
	kind, level := e.Call.Kind()
	s.of(e.Object, op)
	op.Kind, op.Consistency = kind, level
	switch e.Call {
	case data.Register:
		s.value = s.values.Append(s.value[:0], s.id, 0, n)
		op.Value, s.service.Passing = s.value, true
		s.came[e.Object] = uint32(n) + 1
	case data.Pass:
		s.service.CheckOnly, s.service.Passing = true, true
		s.came[e.Object] = uint32(n) + 1
	case data.Fail:
		s.service.CheckOnly, s.settled[e.Object] = true, false
		s.gone[e.Object] = uint32(n) + 1
	case data.Deregister:
		s.gone[e.Object] = uint32(n) + 1
	}
	return n
}

// of makes an operation one of an instance.
func (s *source) of(object uint32, op *store.Op) {
	s.id = s.schedule.AppendID(s.id[:0], s.setup.Prefix, object)
	s.name = s.schedule.AppendService(s.name[:0], s.setup.Prefix, object/s.schedule.Room)
	s.service = store.ServiceOp{Name: s.name}
	*op = store.Op{Key: s.id, Service: &s.service}
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

// Ready implements engine.Reactive: what changes an instance waits until it was
// registered, and what lets it pass again until it had become critical.
func (s *source) Ready(n uint64) bool {
	e := s.schedule.Entries[n]
	return e.Call == data.Register || e.Call == data.Compare || s.settled[e.Object]
}

// Failed implements engine.Reactive.
func (s *source) Failed(n uint64) {
	if e := s.schedule.Entries[n]; e.Call != data.Compare {
		s.unsure[e.Object] = true
	}
	s.answered(n)
}

// answered notes that what waits for a call need not wait any more.
func (s *source) answered(n uint64) {
	if e := s.schedule.Entries[n]; e.Call == data.Register || e.Call == data.Fail {
		s.settled[e.Object] = true
	}
}

// Ended implements engine.Reactive.
func (s *source) Ended(n uint64, o kv.Outcome, response, service int64) {
	s.calls[s.schedule.Entries[n].Call].Ended(o, response, service)
}

var missing = []byte("a node that was registered is not there, or has another number of services")

// Check implements engine.Source. The node of an instance that was there before, and that
// nobody has deregistered, has one service; what a member answers from what it has may
// be older.
func (s *source) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	s.answered(n)
	if e := s.schedule.Entries[n]; e.Call == data.Compare && ev.Outcome == kv.OK && ev.Count > 1 {
		ev.Text = missing
		return kv.WrongAnswer
	}
	return ev.Outcome
}

// before registers the instances that are there when the load begins.
type before struct {
	tally.Beforehand
	source source
}

// Fill implements engine.Source.
func (b *before) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	s := &b.source
	s.of(s.schedule.BeforeAt(n), op)
	s.value = s.values.Append(s.value[:0], s.id, 0, beforeMark|n)
	op.Kind, op.Value, s.service.Passing = kv.Put, s.value, true
	return n
}
