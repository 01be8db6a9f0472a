// Package runner conducts a run: it orders the trials, lets trials share a cluster, and
// derives rates from the throughput of earlier trials.
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
	host       host.Host // of the generator
	about      map[host.Host]host.Description
	reached    []*reached // the scenario's hosts
	out        *record.Writer
	before     *resumed // nil unless the run is continued
	rates      rates
	began      time.Time
	plan       []scenario.Trial // all trials, or those of the rounds that have begun
	at         int              // trials begun
	ended      int              // trials that ended or will not run any more
	now        *running
	trialBegan time.Time
	pace       pace
	around     around
	started    int                     // number of clusters started
	made       []host.Made             // folders made for their data
	guards     map[string]*guard.Guard // of running clusters, by their keys
}

// running is the cluster that the trials use now. Only one runs at a time, so that clusters
// do not compete for resources.
type running struct {
	key   string
	name  string           // for display
	own   *cluster.Cluster // nil: the cluster ran before
	trial trial.Cluster
	lost  bool           // a member did not respond after the last trial, or an injected fault changed it or was not healed
	about record.Cluster // the recorded description of our own cluster; it has an ID once it is recorded
}

// whole reports whether no member has ended or is paused. A cluster that ran before is used
// as it is.
func (n *running) whole() bool { return n.own == nil || !n.lost && n.own.Whole() }
