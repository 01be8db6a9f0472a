package runner

import (
	"context"
	"maps"
	"slices"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// guard returns the guard for a running cluster. All trials of the run that use this cluster share
// one guard.
func (r *run) guard(st store.Store, access store.Access, spec *scenario.Trial) *guard.Guard {
	if g := r.guards[spec.Cluster.Key]; g != nil {
		return g
	}
	say := r.Notify
	if say == nil {
		say = func(string) {}
	}
	if access.Dial == nil {
		access.Dial = store.NewRememberingDial() // so that keys can still be removed if host names can no longer be resolved
	}
	flags := r.CleanupFlags
	if flags == "" {
		flags = "--store " + st.Name() + spec.Cluster.RunningCluster.SelectionFlags()
	}
	g := guard.New(guard.Options{
		Client: guard.Client{Store: st, Access: access}, Tool: r.Tool.Version, Flags: flags, InPod: r.CleanupFlags != "", Notify: say, Now: measure.Now, DefaultPrefixes: scenario.RunningClusterPrefixes(load.Applications()),
		Siblings: func() []*guard.Guard { return slices.Collect(maps.Values(r.guards)) },
	})
	if r.guards == nil {
		r.guards = map[string]*guard.Guard{}
	}
	r.guards[spec.Cluster.Key] = g
	return g
}

// release removes everything that the run wrote to running clusters.
func (r *run) release(ctx context.Context) (failed error) {
	for _, g := range r.guards {
		if !g.HasClaims() {
			continue
		}
		r.report(Progress{Stage: CleaningUp, Name: "running cluster"})
		if err := g.Release(ctx); err != nil {
			failed = joinErrors(failed, &trial.KeysLeftError{Cause: err})
		}
	}
	return failed
}
