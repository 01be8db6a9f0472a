// Package runner conducts a whole run: the order of trials, which of them share
// a cluster, rates taken from an earlier trial's throughput.
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

// run is a run under way.
type run struct {
	Options
	host       host.Host // the generator's
	about      map[host.Host]host.Description
	reached    []*reached // the scenario's hosts
	out        *record.Writer
	before     *resumed // nil: the run begins
	rates      rates
	began      time.Time
	plan       []scenario.Trial // all, or those of the rounds that have begun
	at         int              // trials begun
	ended      int              // trials ended, or not to be run any more
	now        *running
	trialBegan time.Time
	pace       pace
	around     around
	started    int                     // clusters
	made       []host.Made             // folders for their data
	guards     map[string]*guard.Guard // of clusters that ran before, by their keys
}

// running is the cluster that the trials use now. One runs at a time, so that
// none takes from another.
type running struct {
	key   string
	name  string           // for people
	own   *cluster.Cluster // nil: attached
	trial trial.Cluster
	lost  bool           // a member did not answer after the last trial, or a fault changed it or was not healed
	about record.Cluster // of our own, as it is recorded; without an ID before that
}

// whole reports whether no member has ended or stands still. A cluster that is
// not ours is taken as it is.
func (n *running) whole() bool { return n.own == nil || !n.lost && n.own.Whole() }
