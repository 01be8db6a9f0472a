package kubernetes

import (
	"time"
)

// Options say what pods are made.
type Options struct {
	Kubeconfig string // empty: as kubectl finds it, or that of the pod that we are in
	Context    string // of the kubeconfig; empty: its current one
	Namespace  string // empty: the context's
	Image      string // of our binary, in our version
	Members    int    // pods for members, perhaps none
	Workers    int    // pods for workers, at least 1
	CPU        Share  // of each pod
	Memory     Share  // likewise
	// StorageClass is that of a volume of Storage bytes for each member's data; empty
	// for a folder on the pod's node.
	StorageClass, Storage string
	Ready                 time.Duration // how long pods may take until they are ready
	outside               bool          // of the pods' network, which agents then reach for us
	Say                   func(format string, args ...any)
}
