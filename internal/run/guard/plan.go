package guard

import (
	"strings"
)

// Plan is what a load is about to do to a cluster.
type Plan struct {
	Prefix string
	Names  // of its keys after the prefix
	// Keys and Bytes are about how many are there at once; 0: it is not known.
	Keys, Bytes uint64
	Leases      bool // keys are bound to leases or sessions of the load
	Services    bool // it registers services whose names begin with the prefix
	Overwrite   bool // below a prefix that has keys which no run of ours wrote
	Keep        bool // the keys stay when the run has ended
	// ClusterWide are phrases for what the load does to the whole cluster.
	ClusterWide []string
}

// Prefixed reports whether a prefix tells a run's keys from those of others.
func Prefixed(prefix string) bool { return strings.Trim(prefix, "/") != "" }
