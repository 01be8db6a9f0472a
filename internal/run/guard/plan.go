package guard

import (
	"strings"
)

// Plan describes what a load will do to a cluster.
type Plan struct {
	Prefix string
	Names  // names of the load's keys, without the prefix
	// Keys is an estimate of the maximum number of keys that exist at the same time, and Bytes is
	// an estimate of their total size. They are 0 if unknown.
	Keys, Bytes uint64
	Leases      bool // whether keys are bound to the load's leases or sessions
	Services    bool // whether the load registers services whose names begin with the prefix
	Overwrite   bool // whether the load may write although other keys exist below the prefix
	Keep        bool // whether the keys remain after the run
	// ClusterWide contains phrases that describe the load's effects on the whole cluster.
	ClusterWide []string
}

// IsDistinct reports whether a prefix distinguishes a run's keys from other keys.
func IsDistinct(prefix string) bool { return strings.Trim(prefix, "/") != "" }
