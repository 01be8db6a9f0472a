// Package runner conducts a run. It runs the trials in order, lets trials share a cluster, and
// computes rates that depend on the throughput of earlier trials.
package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// run is a run in progress.
type run struct {
	Options
	host       host.Host // host of the generator
	about      map[host.Host]host.Description
	reached    []*reached // the scenario's hosts
	out        *record.Writer
	before     *resumed // nil unless the run is resumed
	rates      rates
	began      time.Time
	plan       []scenario.Trial // all trials, or the trials of the rounds that have begun
	at         int              // number of trials that have begun
	ended      int              // number of trials that have finished or will no longer run
	now        *running
	trialBegan time.Time
	pace       pace
	around     around
	started    int                     // number of clusters started
	made       []host.Made             // folders created for the clusters' data
	guards     map[string]*guard.Guard // guards of running clusters, by cluster key
}

// running is the cluster that the trials currently use. Only one cluster runs at a time, so that
// clusters do not compete for resources.
type running struct {
	key   string
	name  string           // for display
	own   *cluster.Cluster // nil if the run did not start the cluster
	trial trial.Cluster
	lost  bool           // set if a member was lost in the last trial, or if an injected fault changed the cluster or was not healed
	about record.Cluster // description of our own cluster; its ID is set once it has been recorded
}

// allRunning reports whether all members are running and none is suspended. It always returns true
// for a cluster that the run did not start.
func (n *running) allRunning() bool { return n.own == nil || !n.lost && n.own.AllRunning() }
