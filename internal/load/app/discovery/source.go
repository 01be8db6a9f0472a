package discovery

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// source creates the calls. Each call reuses the memory of the previous call.
type source struct {
	engine.ReactiveBase
	*script
	key, name, value []byte
	service          store.ServiceOp
}

var _ engine.Reactive = (*source)(nil)

// Source implements app.Script.
func (s *script) Source() engine.Source { return &source{script: s} }

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	e := s.schedule.entries[n]
	s.fillInstance(e.object, op)
	op.Kind, op.Consistency = s.Kind(measure.Measured, n)
	switch e.call {
	case Register:
		s.value = s.values.Append(s.value[:0], s.key, 0, n)
		op.Value, s.service.Passing = s.value, true
		s.addingCall[e.object] = uint32(n) + 1
	case Pass:
		s.service.CheckOnly, s.service.Passing = true, true
		s.addingCall[e.object] = uint32(n) + 1
	case Fail:
		s.service.CheckOnly, s.unblocked[e.object] = true, false
		s.removingCall[e.object] = uint32(n) + 1
	case Deregister:
		s.removingCall[e.object] = uint32(n) + 1
	}
	return n
}

// fillInstance sets op to an operation on the given instance. The caller sets the kind.
func (s *source) fillInstance(object uint32, op *store.Op) {
	s.key = s.schedule.appendKey(s.key[:0], object)
	if *op = (store.Op{Key: s.key}); s.schedule.catalog {
		s.name = s.schedule.appendService(s.name[:0], object/s.schedule.numbersPerService)
		s.service = store.ServiceOp{Name: s.name}
		op.Service = &s.service
	}
}

// Kind implements engine.Source.
func (s *source) Kind(_ measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	shape := &callShapes(s.schedule.catalog)[s.schedule.entries[n].call]
	return shape.Kind, shape.Level
}

// Shares implements engine.Source.
func (s *source) Shares(measure.Phase) []engine.Share {
	return app.ComputeShares(callShapes(s.schedule.catalog), s.schedule.countByKind())
}

// ConnectionIndex implements engine.Reactive. In membership, an instance is registered and
// deregistered on the same connection, because the key is bound to that connection's session. The
// watches of the clients have their own connections, while the reads of the clients use the load's
// connections.
func (s *source) ConnectionIndex(n uint64) int {
	e := s.schedule.entries[n]
	switch {
	case s.schedule.catalog:
		return -1
	case e.call == Lookup:
		return int(e.client) % s.setup.Connections
	}
	return int(e.object) % s.setup.Connections
}

// Ready implements engine.Reactive. Calls that read or change an instance wait for its
// registration. The call that reports a check as passing waits until the check has become critical.
func (s *source) Ready(n uint64) bool {
	e := s.schedule.entries[n]
	return e.call == Register || e.call == Compare || s.unblocked[e.object]
}

// OperationFailed implements engine.Reactive.
func (s *source) OperationFailed(n uint64) {
	if e := s.schedule.entries[n]; e.call != Compare {
		s.uncertain[e.object] = true
	}
	s.releaseCalls(n)
}

// releaseCalls records that the calls waiting for call n can now be made.
func (s *source) releaseCalls(n uint64) {
	if e := s.schedule.entries[n]; e.call == Register || e.call == Fail {
		s.unblocked[e.object] = true
	}
}

// OperationEnded implements engine.Reactive.
func (s *source) OperationEnded(n uint64, o kv.Outcome, response, service int64) {
	s.calls[s.schedule.entries[n].call].CountEnded(o, response, service)
}

var (
	extraServiceText = []byte("a registered node has more than one service")
	unknownValueText = []byte("a value that was never written to this key")
)

// Check implements engine.Source. The node of an instance that existed before the load and was not
// deregistered must have exactly one service. A response with fewer services is accepted, because a
// local read may return an older state.
func (s *source) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	s.releaseCalls(n)
	e := s.schedule.entries[n]
	switch {
	case ev.Outcome != kv.OK:
	case e.call == Compare && ev.Count > 1:
		ev.Text = extraServiceText
		return kv.WrongResponse
	case s.schedule.catalog: // noteChange records changes to a catalog
	case e.call == Lookup:
		if s.key = s.schedule.appendKey(s.key[:0], e.object); s.values.Judge(s.key, ev.Value) != keys.OriginOwn {
			ev.Text = unknownValueText
			return kv.WrongResponse
		}
	case e.call == Deregister && ev.Count == 0:
		return kv.Miss
	default:
		s.board.Acknowledge(uint64(e.object))
	}
	return ev.Outcome
}
