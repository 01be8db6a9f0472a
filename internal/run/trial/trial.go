// Package trial conducts one trial: preload, warm up, measure, drain, record.
//
// It does not know whether the cluster was started by us or ran already, nor
// on which machine.
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

// Trial is one trial to be conducted.
type Trial struct {
	Spec    scenario.Trial // its rate is known by now
	Cluster Cluster
	Worker  load.Worker
	Writer  *record.Writer
	Host    host.Host        // on which the generator runs, which is this process
	Machine *measure.Machine // the generator's
	Sources []Source         // the scenario's hosts that it uses, where some have clocks of their own
	Tool    string           // version
	// Server is what members of a rolling upgrade to a server are started from.
	Server func(to string) (cluster.Server, error)
	// Progress gets how the trial goes, from one goroutine at a time.
	Progress func(Progress)
	// Second gets every second that is recorded, which it only reads, from
	// one goroutine. Nil for nobody.
	Second func(*measure.Second)
	// Replayed is asked after the load what came of a recording that it replays; nil
	// where it replays none.
	Replayed func() *record.Replay
	// CheckAnswers checks the answers where the load asks for it.
	CheckAnswers CheckAnswers
	// NoSpace is set by Run where a load on a running cluster was stopped because the store
	// had no space left.
	NoSpace error
	// Unrecorded is set by Run to what was measured where the record of it could not be
	// written.
	Unrecorded *record.Trial

	logs  logs // followed while it runs
	loops int  // event loops of the worker
	// userNotes say that the cluster does not check the user that was given.
	userNotes []string
}

// Cluster is what is under test.
type Cluster struct {
	ID    string // in the record
	Store store.Store
	cluster.Running
	Durability *record.Durability
	// Guard protects what is in a cluster that ran before; nil for one that we started.
	Guard *guard.Guard
	// Shared says whether members run on the generator's machine; nil if that
	// is not known.
	Shared *bool
	// Beside are the processes of members of a cluster that ran before, which were found
	// on the generator's machine. Unfound says why those of some are not known.
	Beside  []int
	Unfound string
}

// attached reports whether the cluster ran before: it may have more members than
// its Access names, and its own word for where they are is asked when the target
// needs it.
func (c *Cluster) attached() bool { return len(c.Members()) == 0 }

// names are the members' names by endpoint, where we gave them: logs and
// processes have them, whatever the store calls its members.
func (c *Cluster) names() map[string]string {
	out := map[string]string{}
	for _, m := range c.Members() {
		out[m.Endpoint] = m.Name
	}
	return out
}

// Progress is how a trial goes.
type Progress struct {
	Stage     string // preloading, connecting, warmup, measured, draining, cleaning up
	PerSecond float64
	P99       float64 // nanoseconds; 0: not supported
	Errors    uint64
	InFlight  int64
	Ended     uint64 // operations ended since the window was seen open
	Done      uint64 // of those, succeeded
	// InWindow is how long ago that was; it stops when the window closes.
	InWindow time.Duration
}

func (t *Trial) report(p Progress) {
	if t.Progress != nil {
		t.Progress(p)
	}
}

// assigned is the load at the given endpoints. Certificates and passwords stay
// where the scenario says they are; of a cluster that we started there is that of its
// authority, if its members speak TLS.
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

// CheckAnswers checks the history in the given files. progress gets, from one
// goroutine, how many operations were read in how manieth reading.
type CheckAnswers func(ctx context.Context, paths []string, progress func(reading int, operations uint64)) (*record.Answers, error)
