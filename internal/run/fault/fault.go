// Package fault breaks members of a cluster on purpose while a load runs, and
// heals them. It knows neither the store nor the host: it acts through the
// cluster that it is given, and asks that how it is.
package fault

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Bounds of what a fault waits for.
const (
	// askAhead is how long before a fault its cluster is asked how it is, and who
	// leads.
	askAhead = 200 * time.Millisecond
	// askEvery is the pause between two questions, to which the time of being ready
	// again is known.
	askEvery = 20 * time.Millisecond
	// askWithin bounds one question to all members.
	askWithin = 3 * time.Second
	// healthyWithin is how long a fault waits for the cluster to be whole before it.
	healthyWithin = 30 * time.Second
	// readyWithin is how long a healed cluster may take to be ready.
	readyWithin = 60 * time.Second
	// againEvery is the pause before a member that ended while it was started again
	// is started once more.
	againEvery = time.Second
)

// Cluster is what a fault needs of one.
type Cluster interface {
	Signal(ctx context.Context, member string, s host.Signal) error
	AwaitEnd(ctx context.Context, member string) error
	StartAgain(ctx context.Context, member string) error
	StartAs(ctx context.Context, member string, s cluster.Server) error
	StartEmpty(ctx context.Context, member string) error
	Disk(member string) (host.Disk, error)
	Network() (host.Network, error)
	Spare() (cluster.Spare, error)
	NewCertificate(ctx context.Context, member string) error
}

// Clock is the time. Until waits for a time, and reports false when ctx ended
// before.
type Clock interface {
	Now() time.Time
	Until(ctx context.Context, at time.Time) bool
}

// Injector does the faults of one trial. Its methods are called from one
// goroutine.
type Injector struct {
	Cluster Cluster
	// Ask asks all members for their state, over connections of its own: one that
	// was lost is not tried again at once.
	Ask func(ctx context.Context) (store.Status, error)
	// Admin opens an administration of the cluster at some of its endpoints.
	Admin func(endpoints []string) (store.Admin, error)
	// Server is what a rolling upgrade's to means on this machine.
	Server func(to string) (cluster.Server, error)
	Names  map[string]string // the members' names by endpoint
	Clock  Clock
	// Event records what happened.
	Event func(record.Event)

	opened time.Time
	done   []record.Fault
	taken  int // followers that were chosen
}

// healthy asks until all members answer and agree on a leader.
func (i *Injector) healthy(ctx context.Context, within time.Duration) (status store.Status, err error) {
	end := i.Clock.Now().Add(within)
	for {
		asked, cancel := context.WithTimeout(ctx, askWithin)
		status, err = i.Ask(asked)
		cancel()
		if err == nil {
			err = cluster.Unready(&status)
		}
		if err == nil || i.Clock.Now().After(end) || !i.Clock.Until(ctx, i.Clock.Now().Add(askEvery)) {
			return status, err
		}
	}
}

func (i *Injector) name(m *store.Member) string {
	if name := i.Names[m.Endpoint]; name != "" {
		return name
	}
	return m.Name
}

// window is a time in seconds of the window.
func (i *Injector) window(t time.Time) *float64 { return new(t.Sub(i.opened).Seconds()) }

func (i *Injector) event(f *record.Fault, kind string, at time.Time, text string) {
	i.Event(record.Event{Time: at, Kind: kind, Member: f.Member, Text: text})
}

// Real is the system's clock.
type Real struct{}

// Now implements Clock.
func (Real) Now() time.Time { return measure.Now() }

// Until implements Clock.
func (Real) Until(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
