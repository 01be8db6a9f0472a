package kubernetes

import (
	"time"
)

// Options describe the pods to create.
type Options struct {
	Kubeconfig string // path of the kubeconfig file; if empty, found in the same way as kubectl, or in the pod in which we run
	Context    string // context in the kubeconfig; if empty, the current context
	Namespace  string // if empty, the namespace of the context
	Image      string // container image that contains quorumbench in the same version
	Members    int    // number of pods for members; may be 0
	Workers    int    // number of pods for workers; at least 1
	CPU        Share  // for each pod
	Memory     Share  // for each pod
	// StorageClass and Storage are the class and the size of a volume for each member's data. If
	// StorageClass is empty, the data is in a folder on the pod's node.
	StorageClass, Storage string
	Ready                 time.Duration // how long pods may take to become ready
	outside               bool          // set if we run outside the pods' network, so that agents must open connections for us
	Say                   func(format string, args ...any)
}
