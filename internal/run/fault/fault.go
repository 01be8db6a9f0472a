// Package fault injects faults into a cluster while a load runs, and heals them. It is independent
// of the store and of the hosts: it uses only the interface Cluster and the cluster's status.
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

// Time limits for the phases of a fault.
const (
	// askAhead is how long before a fault the cluster is asked for its status and leader.
	askAhead = 200 * time.Millisecond
	// askEvery is the pause between two status requests. It is therefore also the resolution of the
	// recovery time.
	askEvery = 20 * time.Millisecond
	// askWithin limits one status request to all members.
	askWithin = 3 * time.Second
	// healthyWithin is how long a fault waits for the cluster to be healthy before it begins.
	healthyWithin = 30 * time.Second
	// readyWithin is how long the cluster may take to be ready after the fault is healed.
	readyWithin = 60 * time.Second
	// againEvery is the pause before a member that exited during startup is restarted.
	againEvery = time.Second
)

// Cluster is the interface through which faults act on a cluster.
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

// Clock is a source of time. Until waits for a time. It returns false if ctx is canceled first.
type Clock interface {
	Now() time.Time
	SleepUntil(ctx context.Context, at time.Time) bool
}

// Injector injects the faults of one trial. It is not safe for concurrent use.
type Injector struct {
	Cluster Cluster
	// Ask asks all members for their status over new connections, because a lost connection would
	// not be reopened immediately.
	Ask func(ctx context.Context) (store.Status, error)
	// Admin opens an administration connection to some of the cluster's endpoints.
	Admin func(endpoints []string) (store.Admin, error)
	// Server returns the server on this machine for the target of a rolling upgrade.
	Server func(to string) (cluster.Server, error)
	Names  map[string]string // member names by endpoint
	Clock  Clock
	// Event records an event.
	Event func(record.Event)

	opened time.Time
	done   []record.Fault
	taken  int // number of followers that were chosen so far
}

// healthy asks for the status until all members respond and agree on a leader.
func (i *Injector) healthy(ctx context.Context, within time.Duration) (status store.Status, err error) {
	end := i.Clock.Now().Add(within)
	for {
		asked, cancel := context.WithTimeout(ctx, askWithin)
		status, err = i.Ask(asked)
		cancel()
		if err == nil {
			err = cluster.Unready(&status)
		}
		if err == nil || i.Clock.Now().After(end) || !i.Clock.SleepUntil(ctx, i.Clock.Now().Add(askEvery)) {
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

// window converts a time to seconds after the window opened.
func (i *Injector) window(t time.Time) *float64 { return new(t.Sub(i.opened).Seconds()) }

func (i *Injector) event(f *record.Fault, kind string, at time.Time, text string) {
	i.Event(record.Event{Time: at, Kind: kind, Member: f.Member, Text: text})
}

// SystemClock is the system's clock.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return measure.Now() }

// SleepUntil implements Clock.
func (SystemClock) SleepUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
