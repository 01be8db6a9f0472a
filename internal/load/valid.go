package load

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CheckPlausible returns an error if a worker's report cannot belong to its part of the assignment.
// The parameter `due` is the number of operations that the worker reported as due in the window,
// and `e` is the worker's ending, or nil if the worker has not ended yet.
func (a *Assignment) CheckPlausible(due uint64, e *Ending) error {
	l := &a.Load
	maxDue := l.Total
	if l.Arrival == scenario.Closed {
		maxDue = a.Shard.share(l.Total)
	}
	if l.Total > 0 && due > maxDue {
		return fmt.Errorf("it reports %d operations, but its part of the load has %d", due, maxDue)
	}
	if e == nil || l.Arrival != scenario.Closed {
		return nil
	}
	connections, clients := int(a.Shard.share(uint64(l.Connections))), 0
	for i := range e.Connections {
		clients += len(e.Connections[i].Completed)
	}
	if len(e.Connections) > connections || clients > l.Clients {
		return fmt.Errorf("it reports %d connections with %d clients, but its part of the load has %d connections with at most %d clients", len(e.Connections), clients, connections, l.Clients)
	}
	return nil
}

// maxEndpoints is the maximum number of endpoints in an assignment that comes from another
// machine.
const maxEndpoints = 1000

// Valid validates an assignment from another machine, which no other code on this machine has
// validated. It returns an error if the assignment must not be executed.
func (a *Assignment) Valid(stores func(name string) (store.Store, error)) error {
	st, err := stores(a.Store)
	if err != nil {
		return err
	}
	l := &a.Load
	if err := l.Validate(Applications()); err != nil {
		return err
	}
	capabilities := st.Capabilities()
	for _, o := range l.Mix {
		if err := capabilities.CheckOperation(a.Store, o.Kind, o.Consistency); err != nil {
			return err
		}
	}
	if err := a.Access.Validate(); err != nil {
		return err
	}
	targets := scenario.RunningCluster{Endpoints: slices.Concat(a.Endpoints, a.Voters)}
	switch {
	case l.Watch != nil && capabilities.CheckOperation(a.Store, kv.Watch, kv.NoConsistency) != nil:
		return capabilities.CheckOperation(a.Store, kv.Watch, kv.NoConsistency)
	case l.Arrival != scenario.Closed && l.Rate.PerSecond <= 0:
		return errors.New("the load's rate is not known yet")
	case len(targets.Endpoints) > maxEndpoints || len(a.Access.Endpoints) > maxEndpoints || len(a.Members) > maxEndpoints:
		return fmt.Errorf("a load has at most %d endpoints", maxEndpoints)
	case a.OtherWorkers < 0 || a.OtherWorkers >= a.Shard.count():
		return fmt.Errorf("a load of %s cannot have %d other workers in this process; their number must be at least 0 and below the number of parts", text.Plural(uint64(a.Shard.count()), "part"), a.OtherWorkers)
	case len(a.LeaseNames) > 0 && len(a.LeaseNames) != len(a.Leases):
		return fmt.Errorf("the load has %d leases, but %d lease names", len(a.Leases), len(a.LeaseNames))
	case len(a.Leases) > scenario.MaxClients:
		return fmt.Errorf("a load has at most %d leases", scenario.MaxClients)
	case hasNumberAtLeast(a.Only, l.KeySpace):
		return fmt.Errorf("the list of keys to read contains a key number beyond the %d keys of the load", l.KeySpace)
	}
	if err := targets.Validate(); err != nil {
		return err
	}
	return a.checkShard()
}

// hasNumberAtLeast reports whether a bit set contains a number that is at least n.
func hasNumberAtLeast(numbers []uint64, n uint64) bool {
	for i := len(numbers) - 1; i >= 0; i-- {
		if w := numbers[i]; w != 0 {
			return uint64(i)*64+uint64(bits.Len64(w)) > n
		}
	}
	return false
}
