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
	// statusLeadTime is how long before a fault the injector asks the cluster for its status and
	// leader.
	statusLeadTime = 200 * time.Millisecond
	// statusInterval is the pause between two status requests. It is therefore also the resolution
	// of the recovery time.
	statusInterval = 20 * time.Millisecond
	// statusTimeout limits one status request to all members.
	statusTimeout = 3 * time.Second
	// healthyTimeout is the maximum time for which the injector waits for a healthy cluster before
	// it injects a fault.
	healthyTimeout = 30 * time.Second
	// readyTimeout is the maximum time from the end of a fault until the cluster is ready again.
	readyTimeout = 60 * time.Second
	// restartInterval is the interval at which members that exited during startup are started
	// again.
	restartInterval = time.Second
)

// Cluster is the interface through which faults act on a cluster.
type Cluster interface {
	Signal(ctx context.Context, member string, s host.Signal) error
	AwaitEnd(ctx context.Context, member string) error
	Restart(ctx context.Context, member string) error
	RestartWithServer(ctx context.Context, member string, s cluster.Server) error
	RestartEmpty(ctx context.Context, member string) error
	Disk(member string) (host.Disk, error)
	Network() (host.Network, error)
	Spare() (cluster.Spare, error)
	NewCertificate(ctx context.Context, member string) error
}

// Clock is a source of time. SleepUntil waits until the time `at`. It returns false if ctx is
// canceled before that time.
type Clock interface {
	Now() time.Time
	SleepUntil(ctx context.Context, at time.Time) bool
}

// Injector injects the faults of one trial. It is not safe for concurrent use.
type Injector struct {
	Cluster Cluster
	// Ask requests the status of all members. It opens new connections, because an existing
	// connection that was lost would not be reopened immediately.
	Ask func(ctx context.Context) (store.Status, error)
	// Admin opens an administration connection to some of the cluster's endpoints.
	Admin func(endpoints []string) (store.Admin, error)
	// Server returns the server software to which a rolling upgrade upgrades the members, as
	// specified by the parameter `version`.
	Server func(version string) (cluster.Server, error)
	Names  map[string]string // member names by endpoint
	Clock  Clock
	// Event records an event.
	Event func(record.Event)

	windowStart     time.Time
	results         []record.Fault
	followerChoices int // number of times that a follower was chosen as the target of a fault
}

// awaitHealthy requests the status repeatedly until all members respond and agree on a leader, but
// at most for the given time.
func (i *Injector) awaitHealthy(ctx context.Context, within time.Duration) (status store.Status, err error) {
	end := i.Clock.Now().Add(within)
	for {
		asked, cancel := context.WithTimeout(ctx, statusTimeout)
		status, err = i.Ask(asked)
		cancel()
		if err == nil {
			err = cluster.CheckReady(&status)
		}
		if err == nil || i.Clock.Now().After(end) || !i.Clock.SleepUntil(ctx, i.Clock.Now().Add(statusInterval)) {
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

// windowSeconds converts a time to seconds after the window opened.
func (i *Injector) windowSeconds(t time.Time) *float64 { return new(t.Sub(i.windowStart).Seconds()) }

func (i *Injector) recordEvent(f *record.Fault, kind string, at time.Time, text string) {
	i.Event(record.Event{Time: at, Kind: kind, Member: f.Member, Text: text})
}

// SystemClock is the system's clock.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return measure.Now() }

// SleepUntil implements Clock.
func (SystemClock) SleepUntil(ctx context.Context, at time.Time) bool {
	// If another process reported the time, it contains no reading of the monotonic clock. Then the
	// result of time.Until would depend on changes of the wall clock.
	return measure.Pause(ctx, at.Sub(measure.Now()))
}
