package kubernetes

import (
	"time"
)

// Options describe the pods to make.
type Options struct {
	Kubeconfig string // empty: as kubectl finds it, or that of the pod that we run in
	Context    string // of the kubeconfig; empty: the current one
	Namespace  string // empty: that of the context
	Image      string // of our binary, in our version
	Members    int    // number of pods for members; may be 0
	Workers    int    // number of pods for workers; at least 1
	CPU        Share  // of each pod
	Memory     Share  // of each pod
	// StorageClass is the class of a volume of size Storage for each member's data; empty
	// means a folder on the pod's node.
	StorageClass, Storage string
	Ready                 time.Duration // how long pods may take to be ready
	outside               bool          // we are outside the pods' network, so agents open connections for us
	Say                   func(format string, args ...any)
}
