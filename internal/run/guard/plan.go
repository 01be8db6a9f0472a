package guard

import (
	"strings"
)

// Plan describes what a load will do to a cluster.
type Plan struct {
	Prefix string
	Names  // of its keys, after the prefix
	// Keys and Bytes estimate how much exists at once; 0: unknown.
	Keys, Bytes uint64
	Leases      bool // keys are bound to leases or sessions of the load
	Services    bool // it registers services whose names begin with the prefix
	Overwrite   bool // permits a prefix with keys that no run of quorumbench wrote
	Keep        bool // the keys remain after the run
	// ClusterWide holds phrases for the load's effects on the whole cluster.
	ClusterWide []string
}

// Prefixed reports whether a prefix distinguishes a run's keys from others.
func Prefixed(prefix string) bool { return strings.Trim(prefix, "/") != "" }
