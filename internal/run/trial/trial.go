// Package trial conducts one trial: preload, warm-up, measurement, drain and recording.
//
// A trial is conducted in the same way on any machines, whether quorumbench started the cluster or
// the cluster was already running.
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
	Spec    scenario.Trial // a rate that depends on another trial has already been computed
	Cluster Cluster
	Worker  load.Worker
	Writer  *record.Writer
	Host    host.Host        // the host of the generator, which is this process
	Machine *measure.Machine // of the generator
	Sources []Source         // the scenario's hosts that the trial uses, if some have clocks of their own
	Tool    string           // quorumbench's version
	// Server returns the server with which the members are restarted in a rolling upgrade. The
	// parameter `version` is the version to which they are upgraded.
	Server func(version string) (cluster.Server, error)
	// Progress receives the trial's progress. It is not called concurrently.
	Progress func(Progress)
	// OnSecond receives every one-second record. It is not called concurrently. It must not modify
	// the record. OnSecond may be nil.
	OnSecond func(*measure.Second)
	// Replayed returns the results of replaying a recording. It is called after the load. It is nil
	// if the trial replays no recording.
	Replayed func() *record.Replay
	// VerifyResponses verifies the responses if the load requires it.
	VerifyResponses VerifyResponses
	// Run sets NoSpace if it stopped a load on a running cluster because the store was out of
	// space.
	NoSpace error
	// Run sets Unrecorded to the trial's result if it could not record the result.
	Unrecorded *record.Trial

	logs  logs // followed during the trial
	loops int  // number of event loops of the worker
	// userNotes contains a note if the cluster does not check the given user.
	userNotes []string
}

// Cluster is the cluster under test.
type Cluster struct {
	ID         string // ID in the record
	Store      store.Store
	Started    *cluster.Cluster // nil if the cluster was running before the run
	Given      store.Access     // access to a cluster that was running before the run
	Durability *measure.Durability
	// Guard protects the data in a running cluster. It is nil if quorumbench started the cluster.
	Guard *guard.Guard
	// Shared reports whether members run on the generator's machine. It is nil if this is unknown.
	Shared *bool
	// LocalPIDs contains the IDs of the processes on the generator's machine that were found to be
	// members of a running cluster. UnfoundReason is the reason why some of these processes are
	// unknown.
	LocalPIDs     []int
	UnfoundReason string
}

// attached reports whether the cluster was running before the trial. Such a cluster may have
// members other than those at the endpoints in Access. If the target needs all members, the members
// are asked for the addresses of all members.
func (c *Cluster) attached() bool { return c.Started == nil }

// Access returns the information that clients need to connect to the cluster.
func (c *Cluster) Access() store.Access {
	if c.attached() {
		return c.Given
	}
	return c.Started.Access()
}

// Members returns all members, including those that have exited. It returns nil if quorumbench did
// not start the cluster, because the members' hosts are then unknown.
func (c *Cluster) Members() []cluster.Member {
	if c.attached() {
		return nil
	}
	return c.Started.Members()
}

// notes returns sentences about how the cluster was started.
func (c *Cluster) notes() []string {
	if c.attached() {
		return nil
	}
	return c.Started.Notes()
}

// names returns the names that quorumbench gave to the members, by endpoint. The members' logs and
// processes have these names, even if the store uses other names.
func (c *Cluster) names() map[string]string {
	out := map[string]string{}
	for _, m := range c.Members() {
		out[m.Endpoint] = m.Name
	}
	return out
}

// Stages of a trial's progress that have a meaning for the caller.
const (
	StagePreloading = "preloading"
	StageConnecting = "connecting"
	StageCleaningUp = "cleaning up"
	StageVerifying  = "verifying the responses"
)

// Progress describes the progress of a trial.
type Progress struct {
	Stage     string // one of the stages above, another phrase that describes the activity, or the phase of the load
	PerSecond float64
	P99       float64 // nanoseconds, or 0 if unknown
	Errors    uint64
	InFlight  int64
	Ended     uint64 // number of operations that have ended in the window so far
	Succeeded uint64 // number of successful operations among Ended
	// WindowElapsed is the time since the window opened. It stops when the window closes.
	WindowElapsed time.Duration
}

func (t *Trial) report(p Progress) {
	if t.Progress != nil {
		t.Progress(p)
	}
}

// newAssignment returns the load, assigned to the given endpoints. The assignment contains no
// certificates or passwords; workers read them from the places that the scenario specifies. If
// quorumbench started the cluster and the cluster uses TLS, the assignment contains the certificate
// authority.
func (t *Trial) newAssignment(endpoints []string) *load.Assignment {
	a := &load.Assignment{Load: t.Spec.Load, Store: t.Spec.Cluster.Store, Endpoints: endpoints, Confined: t.Cluster.Guard != nil}
	if t.Spec.Cluster.RunningCluster != nil {
		a.Access = *t.Spec.Cluster.RunningCluster
	}
	access := t.Cluster.Access()
	if len(access.Authority) > 0 {
		a.Access.TLS, a.Access.Authority = true, string(access.Authority)
	}
	a.Access.Endpoints, a.Access.DialTimeout = access.Endpoints, access.DialTimeout
	return a
}

// VerifyResponses verifies the history in the files at the given paths. It calls progress with the
// number of the current pass over the history and with the number of operations read in this pass.
// It does not call progress concurrently.
type VerifyResponses func(ctx context.Context, paths []string, progress func(reading int, operations uint64)) (*record.Verification, error)
