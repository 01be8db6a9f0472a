package runner

import (
	"context"
	"maps"
	"slices"
	"strings"

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
		flags = connectionFlags(st, spec.Cluster.RunningCluster)
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

// connectionFlags returns the flags, without secrets, with which a command connects to the cluster.
func connectionFlags(st store.Store, a *scenario.RunningCluster) string {
	flags := []string{"--store", st.Name(), "--endpoints", strings.Join(a.Endpoints, ",")}
	for _, of := range [][2]string{{"--cacert", a.CACert}, {"--cert", a.Cert}, {"--key", a.CertKey}} {
		if of[1] != "" {
			flags = append(flags, of[0], of[1])
		}
	}
	if a.SkipVerify {
		flags = append(flags, "--insecure-skip-tls-verify")
	}
	if a.User != "" {
		user, _, _ := strings.Cut(a.User, ":")
		flags = append(flags, "--user", user+":...")
	}
	return strings.Join(flags, " ")
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
