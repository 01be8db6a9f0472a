// Package trial conducts one trial: preload, warm-up, measurement, drain, record.
//
// It does not depend on whether quorumbench started the cluster, nor on which machine it
// runs.
package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Trial is a trial to conduct.
type Trial struct {
	Spec    scenario.Trial // its rate is fixed by now
	Cluster Cluster
	Worker  load.Worker
	Writer  *record.Writer
	Host    host.Host        // runs the generator, which is this process
	Machine *measure.Machine // of the generator
	Sources []Source         // the scenario's hosts that it uses, if some have other clocks
	Tool    string           // version
	// Server returns the server that the members of a rolling upgrade are started from.
	Server func(to string) (cluster.Server, error)
	// Progress receives the trial's progress, from one goroutine at a time.
	Progress func(Progress)
	// Second receives every recorded second, from one goroutine, and must not modify it. It
	// may be nil.
	Second func(*measure.Second)
	// Replayed returns the results of replaying a recording; it is called after the load. It
	// is nil if nothing is replayed.
	Replayed func() *record.Replay
	// VerifyResponses verifies the responses if the load asks for it.
	VerifyResponses VerifyResponses
	// NoSpace is set by Run if a load on a running cluster was stopped because the store had
	// no space left.
	NoSpace error
	// Unrecorded is set by Run to the result if it could not be recorded.
	Unrecorded *record.Trial

	logs  logs // followed during the trial
	loops int  // number of the worker's event loops
	// userNotes report that the cluster does not check the given user.
	userNotes []string
}

// Cluster is the cluster under test.
type Cluster struct {
	ID    string // in the record
	Store store.Store
	cluster.Running
	Durability *record.Durability
	// Guard protects the data in a running cluster; nil if quorumbench started the cluster.
	Guard *guard.Guard
	// Shared reports whether members run on the generator's machine; nil if unknown.
	Shared *bool
	// Local holds the members' processes of a running cluster that were found on the
	// generator's machine. Unfound says why some of them are unknown.
	Local   []int
	Unfound string
}

// attached reports whether the cluster ran before the trial. It may have more members than
// Access names; they are asked for their addresses if the target needs them.
func (c *Cluster) attached() bool { return len(c.Members()) == 0 }

// names returns the members' names by endpoint as quorumbench gave them. Logs and processes
// have these names, whatever the store calls its members.
func (c *Cluster) names() map[string]string {
	out := map[string]string{}
	for _, m := range c.Members() {
		out[m.Endpoint] = m.Name
	}
	return out
}

// Progress describes the progress of a trial.
type Progress struct {
	Stage     string // preloading, connecting, warmup, measured, draining, cleaning up
	PerSecond float64
	P99       float64 // nanoseconds; 0: unknown
	Errors    uint64
	InFlight  int64
	Ended     uint64 // operations ended since the window was seen open
	Done      uint64 // of these, the successful ones
	// InWindow is the time since the window was seen open; it stops when the window closes.
	InWindow time.Duration
}

func (t *Trial) report(p Progress) {
	if t.Progress != nil {
		t.Progress(p)
	}
}

// assigned returns the load for the given endpoints. Certificates and passwords remain
// where the scenario says they are. For a cluster with TLS that quorumbench started, the
// assignment contains its certificate authority.
func (t *Trial) assigned(endpoints []string) *load.Assignment {
	a := &load.Assignment{Load: t.Spec.Load, Store: t.Spec.Cluster.Store, Endpoints: endpoints, Confined: t.Cluster.Guard != nil}
	if t.Spec.Cluster.Attach != nil {
		a.Access = *t.Spec.Cluster.Attach
	}
	access := t.Cluster.Access()
	if len(access.Authority) > 0 {
		a.Access.TLS, a.Access.Authority = true, string(access.Authority)
	}
	a.Access.Endpoints, a.Access.DialTimeout = access.Endpoints, access.DialTimeout
	return a
}

// VerifyResponses verifies the history in the given files. progress is called from one goroutine
// with the number of the reading pass and the operations read in it.
type VerifyResponses func(ctx context.Context, paths []string, progress func(reading int, operations uint64)) (*record.Answers, error)
