// Package runner conducts a run. It runs the trials in order, lets trials share a cluster, and
// computes rates that depend on the throughput of earlier trials.
package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// run is a run in progress.
type run struct {
	Options
	host           host.Host // host of the generator
	descriptions   map[host.Host]host.Description
	connectedHosts []*connectedHost // the scenario's hosts; if empty, members are placed on the generator's host
	out            *record.Writer
	resumed        *resumed // nil unless the run is resumed
	rates          rates
	began          time.Time
	plan           []scenario.Trial // all trials, or the trials of the rounds that have begun
	begunTrials    int              // number of trials that have begun
	endedTrials    int              // number of trials that have finished or will no longer run
	current        *currentCluster
	trialBegan     time.Time
	pace           pace
	overhead       trialOverhead
	started        int                     // number of clusters started
	createdFolders []host.CreatedFolder    // folders created for the clusters' data
	guards         map[string]*guard.Guard // guards of running clusters, by cluster key
}

// currentCluster is the cluster that the trials currently use. Only one cluster runs at a time, so
// that clusters do not compete for resources.
type currentCluster struct {
	key         string
	name        string // for display
	trial       trial.Cluster
	mustReplace bool           // set if a member was lost in the last trial, or if an injected fault changed the cluster or was not healed
	description record.Cluster // description of a cluster that the run started; the ID is set once the description has been recorded
}

// allRunning reports whether all members are running and none is suspended. It always returns true
// for a cluster that the run did not start.
func (n *currentCluster) allRunning() bool {
	return n.trial.Started == nil || !n.mustReplace && n.trial.Started.AllRunning()
}
