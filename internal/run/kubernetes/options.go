package kubernetes

import (
	"time"
)

// Options describe the pods to create.
type Options struct {
	Kubeconfig string // path of the kubeconfig file; if empty, we search for it as kubectl does, or use the access of the pod in which we run
	Context    string // context in the kubeconfig; if empty, the current context
	Namespace  string // if empty, the namespace of the context
	Image      string // container image that contains the same version of quorumbench
	// Program is the path of a static quorumbench binary. If it is set, a check copies the binary
	// into its pod, and Image needs only the programs sh, head, wc, chmod and uname.
	Program string
	Members int   // number of pods for members; may be 0
	Workers int   // number of pods for workers; at least 1 if Members is 0
	CPU     Share // for each pod
	Memory  Share // for each pod
	// StorageClass is the class of a volume for each member's data, and Storage is the size of this
	// volume. If StorageClass is empty, the data is in a folder on the pod's node.
	StorageClass, Storage string
	ReadyTimeout          time.Duration // maximum time until all pods are ready
	outsidePodNetwork     bool          // whether we run outside the pods' network, so that agents must open connections for us
	Logf                  func(format string, args ...any)
}
