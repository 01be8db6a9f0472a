package kubernetes

import (
	"regexp"
	"strings"
	"sync"
)

// Resource is a kind of object.
type Resource uint8

// The resources that have objects here. The API server has others (idleResources),
// which it watches and counts.
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

// resource is what the code knows of a resource.
type resource struct {
	name string
	// path is what its keys have behind the prefix, up to the namespace or the name.
	path string
	size int // bytes of a value
	// watched: a watcher of the API server's cache is on it. Events have no cache.
	watched bool
}

// resources is the table of them. Paths are those of kube-apiserver's storage, where
// nodes are called minions. Sizes are the medians that TestSizes (internal/testing/e2e/kubernetes)
// measured in the etcd of a real API server, of Kubernetes 1.36.3; docs/explanation/applications.md
// has them with their method, and what production's differ by.
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

// Path is what its keys have behind the prefix.
func (r Resource) Path() string { return resources[r].path }

// ValueSize is the size of its values in bytes.
func (r Resource) ValueSize() int { return resources[r].size }

// idleResources are the paths of built-in resources in which nothing happens here: the
// API server watches and counts them all the same.
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

// Watched are the paths that have a watcher each: first those of resources that have
// objects here, in their order.
func Watched() (paths []string, of []Resource) {
	for r := range NumResources {
		if resources[r].watched {
			paths, of = append(paths, resources[r].path), append(of, r)
		}
	}
	return append(paths, idleResources...), of
}

// counted are the paths whose objects are counted now and then.
func counted() (paths []string) {
	for r := range NumResources {
		paths = append(paths, resources[r].path)
	}
	return append(paths, idleResources...)
}

// keyNames matches the names of its keys after the prefix: what is below a resource, and
// the key that says who compacts. It is compiled once, for every command asks for the
// definition many times when it starts.
var keyNames = sync.OnceValue(func() *regexp.Regexp {
	paths := counted()
	for i := range paths {
		paths[i] = regexp.QuoteMeta(paths[i])
	}
	return regexp.MustCompile("^(compact_rev_key$|" + strings.Join(paths, "|") + ")")
})
