package load

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// mostEndpoints is the most that an assignment from elsewhere has.
const mostEndpoints = 1000

// Valid says in one sentence why an assignment that came from another machine is
// not to be carried out: nothing has looked at it here.
func (a *Assignment) Valid(stores func(name string) (store.Store, error)) error {
	st, err := stores(a.Store)
	if err != nil {
		return err
	}
	l := &a.Load
	if err := l.Valid(); err != nil {
		return err
	}
	can := st.Capabilities()
	for _, o := range l.Mix {
		if err := can.Operation(a.Store, o.Kind, o.Consistency); err != nil {
			return err
		}
	}
	if err := a.Access.Valid(); err != nil {
		return err
	}
	targets := scenario.Attach{Endpoints: a.Endpoints}
	switch {
	case l.Watch != nil && can.Operation(a.Store, kv.Watch, kv.None) != nil:
		return can.Operation(a.Store, kv.Watch, kv.None)
	case l.Arrival != scenario.Closed && l.Rate.PerSecond <= 0:
		return errors.New("the load's rate is not known yet")
	case len(a.Endpoints) > mostEndpoints || len(a.Access.Endpoints) > mostEndpoints || len(a.Members) > mostEndpoints:
		return fmt.Errorf("a load has at most %d endpoints", mostEndpoints)
	case len(a.Leases) > scenario.MaxClients:
		return fmt.Errorf("a load has at most %d leases", scenario.MaxClients)
	}
	if err := targets.Valid(); err != nil {
		return err
	}
	return a.checkShard()
}
