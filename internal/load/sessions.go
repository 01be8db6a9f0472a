package load

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// LockName is the name of the lock that all optimistic transactions use.
const LockName = "stmlock" // the same name as in etcd's benchmark

// NeedsLeases reports whether leases must be requested before the load, because operations use
// them.
func NeedsLeases(l *scenario.Load, capabilities kv.Capabilities) bool {
	return !capabilities.SessionPerConnection && l.Arrival != scenario.Recorded && slices.ContainsFunc(l.Mix, func(o scenario.Operation) bool {
		return o.Kind == kv.KeepAlive || o.Kind == kv.STM && usesLock(l)
	})
}

// usesLock reports whether the load's optimistic transactions acquire a lock.
func usesLock(l *scenario.Load) bool { return l.STM != nil && l.STM.Locker != kv.LockNone }

// checkLeases returns an error if a closed loop has fewer leases than clients.
func (p *plan) checkLeases() error {
	need := 1
	if p.Load.Arrival == scenario.Closed {
		need = p.Load.Clients
	}
	if NeedsLeases(&p.Load, p.store.Capabilities()) && len(p.Leases) < need {
		return fmt.Errorf("the store granted too few leases for the load (needed: %d, granted: %d)", need, len(p.Leases))
	}
	return nil
}

// loopLeases returns the leases (or their names) of loop i's clients, in the order of
// clientConnections. An open loop has no clients, so each of its event loops uses all leases.
func loopLeases[T any](p *plan, all []T, i, n int) (mine []T) {
	if p.Load.Arrival != scenario.Closed {
		return all
	}
	for j := range min(p.Load.Clients, len(all)) {
		if j%p.Load.Connections%n == i {
			mine = append(mine, all[j])
		}
	}
	return mine
}

// leaseIndex returns the index of the lease that an operation uses. It is an index into the loop's
// list of leases.
func (s *source) leaseIndex(n uint64, client uint32) uint64 {
	if s.load.Arrival == scenario.Closed {
		n = uint64(client) / s.loops // the client's index in this loop
	}
	return n % uint64(len(s.leases))
}

// leaseFor returns the lease that an operation uses.
func (s *source) leaseFor(n uint64, client uint32) int64 {
	if len(s.leases) == 0 { // each connection has its own lease
		return 0
	}
	return s.leases[s.leaseIndex(n, client)]
}

// leaseNameFor returns the name of the lease that an operation uses, or nil if leases have no
// names.
func (s *source) leaseNameFor(n uint64, client uint32) []byte {
	if len(s.names) == 0 {
		return nil
	}
	return s.names[s.leaseIndex(n, client)]
}

// stmSettings returns the settings for the load's optimistic transactions.
func stmSettings(l *scenario.Load) *scenario.STM {
	if l.STM != nil {
		return l.STM
	}
	d := scenario.DefaultSTM()
	return &d
}

// drawSTM draws the numbers of a transaction's keys from the load's key distribution. If a number
// was already drawn, drawSTM uses the next number instead. The transaction writes the keys with the
// first `writes` numbers.
func (s *source) drawSTM(phase measure.Phase, n uint64) (numbers []uint64, writes int) {
	k := s.stm.KeysPerTxn
	if s.stmKeys == nil {
		s.stmKeys = make([]uint64, k)
	}
	for i := range s.stmKeys {
		number := s.choosers[phase].Choose(n*uint64(k) + uint64(i))
		for slices.Contains(s.stmKeys[:i], number) {
			number = (number + 1) % s.space.N()
		}
		s.stmKeys[i] = number
	}
	return s.stmKeys, k * s.stm.WritePercent / 100
}

// fillSTM sets the fields of op for an optimistic transaction.
func (s *source) fillSTM(phase measure.Phase, n uint64, client uint32, op *store.Op) {
	numbers, writes := s.drawSTM(phase, n)
	if s.stmPairs == nil {
		s.lock = []byte(s.load.Prefix + LockName)
		s.stmPairs, s.stmValues = make([]store.Pair, len(numbers)), make([][]byte, len(numbers))
	}
	mark := uint64(0)
	if phase == measure.Warmup {
		mark = warmupMark
	}
	for i := range s.stmPairs {
		p := &s.stmPairs[i]
		p.Key = s.space.Append(p.Key[:0], numbers[i])
		if p.Value = nil; i < writes {
			s.stmValues[i] = s.values.Append(s.stmValues[i][:0], p.Key, client, n|mark)
			p.Value = s.stmValues[i]
		}
	}
	op.STM = &s.stmOp
	s.stmOp = store.STMOp{Pairs: s.stmPairs, Isolation: s.stm.Isolation, Observer: s.stmReads}
	if s.stm.Locker != kv.LockNone {
		s.stmOp.Lock, s.stmOp.Locker, s.stmOp.Lease = s.lock, s.stm.Locker, s.leaseFor(n, client)
		op.LeaseName = s.leaseNameFor(n, client)
	}
}

// acknowledge reports an acknowledged write to the watchers' board.
func (s *source) acknowledge(kind kv.Kind, ref uint64, sent int64, ev *store.Event) {
	number, _ := keyAndLevel(ref)
	switch {
	case ev.Outcome != kv.OK:
	case kind == kv.Delete && ev.Count == 0: // the key did not exist
	case kind == kv.Delete:
		s.board.AcknowledgeUncertain(number)
	case kind.HasOneKey() && kind.Writes():
		s.board.AcknowledgeSent(number, sent)
	case kind == kv.Txn:
		for i := range s.pairs {
			s.board.AcknowledgeSent((number+uint64(i))%s.space.N(), sent)
		}
	}
}

// noteUncertain reports to the watchers' board that the store may have executed a delete although
// the delete failed.
func (s *source) noteUncertain(kind kv.Kind, ref uint64) {
	if kind == kv.Delete {
		number, _ := keyAndLevel(ref)
		s.board.MayBeDeleted(number)
	}
}
