// Package app has what the scripts of applications share. Each application has a package
// of its own below this one, and a line in package registry.
package app

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Setup is what a source is made from: one load of an application.
type Setup struct {
	Settings application.Settings
	Way      int // an index in the Definition's
	Seed     uint64
	Length   time.Duration // of the window, in which calls become due
	Prefix   string        // what its keys begin with
	// Connections is how many there are, by their numbers from 0.
	Connections int
	// Before is what the source learned before the load (load.Keeper); nil where that is
	// still to be done.
	Before []int64
	// Confined says that the cluster ran before: all keys have the prefix. What affects
	// the whole cluster is done if ClusterWide allows it.
	Confined, ClusterWide bool
}
