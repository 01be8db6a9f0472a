package kubernetes

import (
	"regexp"
	"strings"
	"sync"
)

// Resource is a kind of object in the API server, such as pods.
type Resource uint8

// These resources have objects in this load. The API server also watches and counts other resources
// (see idleResources).
const (
	Nodes Resource = iota
	Leases
	ReplicaSets
	EndpointSlices
	Endpoints
	MasterLeases
	Pods
	Events
	NumResources
)

// resource holds the properties of a Resource.
type resource struct {
	name string
	// path is the part of an object's key between the prefix and the namespace or name.
	path string
	size int // size of a value in bytes
	// watched is set if the API server's cache watches the resource. The cache does not contain
	// events.
	watched bool
}

// resources describes each resource. The paths are those in kube-apiserver's storage, where nodes
// are called minions. The sizes are medians that TestSizes (internal/testing/e2e/kubernetes)
// measured in the etcd of a real API server of Kubernetes 1.36.3. docs/explanation/applications.md
// lists the sizes, explains the method, and describes the differences from production clusters.
var resources = [NumResources]resource{
	Nodes:          {name: "nodes", path: "minions/", size: 10_548, watched: true},
	Leases:         {name: "leases", path: "leases/", size: 463, watched: true},
	ReplicaSets:    {name: "replicasets", path: "replicasets/", size: 2454, watched: true},
	EndpointSlices: {name: "endpointslices", path: "endpointslices/", size: 4191, watched: true},
	Endpoints:      {name: "endpoints", path: "services/endpoints/", size: 3668, watched: true},
	MasterLeases:   {name: "masterleases", path: "masterleases/", size: 63},
	Pods:           {name: "pods", path: "pods/", size: 3808, watched: true},
	Events:         {name: "events", path: "events/", size: 600},
}

// String returns the resource's name.
func (r Resource) String() string { return resources[r].name }

// Path returns the part of the resource's keys between the prefix and the namespace or name.
func (r Resource) Path() string { return resources[r].path }

// ValueSize returns the size of the resource's values in bytes.
func (r Resource) ValueSize() int { return resources[r].size }

// idleResources lists the paths of built-in resources that have no objects in this load. The API
// server still watches and counts them.
var idleResources = []string{
	"admissionregistration.k8s.io/mutatingwebhookconfigurations/", "admissionregistration.k8s.io/validatingwebhookconfigurations/",
	"apiextensions.k8s.io/customresourcedefinitions/", "apiregistration.k8s.io/apiservices/",
	"certificatesigningrequests/", "clusterrolebindings/", "clusterroles/", "configmaps/", "controllerrevisions/",
	"controllers/", "cronjobs/", "csidrivers/", "csinodes/", "csistoragecapacities/", "daemonsets/", "deployments/", "flowschemas/",
	"horizontalpodautoscalers/", "ingress/", "ingressclasses/", "jobs/", "limitranges/", "namespaces/", "networkpolicies/",
	"persistentvolumeclaims/", "persistentvolumes/", "poddisruptionbudgets/", "podtemplates/", "priorityclasses/",
	"prioritylevelconfigurations/", "resourcequotas/", "rolebindings/", "roles/", "runtimeclasses/", "secrets/",
	"serviceaccounts/", "services/specs/", "statefulsets/", "storageclasses/", "volumeattachments/",
}

// WatchedPaths returns the path of each watcher. The first paths belong to the resources that have
// objects in this load. The result `watchedResources` lists these resources in the same order, so
// its length is the number of these paths.
func WatchedPaths() (paths []string, watchedResources []Resource) {
	for r := range NumResources {
		if resources[r].watched {
			paths, watchedResources = append(paths, resources[r].path), append(watchedResources, r)
		}
	}
	return append(paths, idleResources...), watchedResources
}

// countedPaths returns the paths below which the API server periodically counts the objects.
func countedPaths() (paths []string) {
	for r := range NumResources {
		paths = append(paths, resources[r].path)
	}
	return append(paths, idleResources...)
}

// keyNames returns a regular expression that matches the application's keys without their prefix:
// keys below a resource's path, and the compaction key. The expression is compiled only once,
// because every command uses the definition many times when it starts.
var keyNames = sync.OnceValue(func() *regexp.Regexp {
	paths := countedPaths()
	for i := range paths {
		paths[i] = regexp.QuoteMeta(paths[i])
	}
	return regexp.MustCompile("^(compact_rev_key$|" + strings.Join(paths, "|") + ")")
})
