package scenario

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// MaxWorkers is the maximum number of workers that can share a load.
const MaxWorkers = 1000

// CheckDivisible returns an error, in one sentence, if n workers cannot share the load.
func (l *Load) CheckDivisible(n int) error {
	closed := l.Arrival == Closed
	switch {
	case n <= 1:
		return nil
	case l.Connections < n:
		return fmt.Errorf("%d connections cannot be divided among %d workers, because each worker needs at least one", l.Connections, n)
	case closed && l.Clients < n:
		return fmt.Errorf("%d clients cannot be divided among %d workers, because each worker needs at least one", l.Clients, n)
	case closed && l.Total > 0 && l.Total < uint64(n):
		return fmt.Errorf("a total of %d operations cannot be divided among %d workers, because each worker needs at least one", l.Total, n)
	case !closed && l.MaxInFlight < n:
		return fmt.Errorf("a limit of %d operations in flight cannot be divided among %d workers, because each worker needs at least one", l.MaxInFlight, n)
	case l.Watch != nil:
		return fmt.Errorf("watchers cannot be divided among %d workers: each worker knows only its own writes, and not which events the other workers' writes cause", n)
	case l.hasKind(isSTM) && l.STM != nil && l.STM.Locker != kv.LockNone:
		return fmt.Errorf("transactions with a lock cannot be divided among %d workers: locks held by other workers would delay a worker's part of the total", n)
	case l.hasKind(func(k kv.Kind) bool { return k == kv.CAS }):
		return fmt.Errorf("compare-and-set cannot be divided among %d workers: each worker knows only the versions in its own responses", n)
	}
	return nil
}

// checkWorkers rejects a load that the workers cannot share, unless the numbers already have
// errors.
func (l *Load) checkWorkers(c *checks) {
	if c.hasProblem("workers", "connections", "clients", "total", "max-in-flight") {
		return
	}
	if err := l.CheckDivisible(int(l.Workers)); err != nil {
		c.add("workers", "%v", err)
	}
}
