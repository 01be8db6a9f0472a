package kubernetes

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Call is a kind of call. Each kind is a row in the report.
type Call uint8

// The kinds of calls.
const (
	CreatePod Call = iota
	UpdatePod
	DeletePod
	GetPod
	CreateEvent
	UpdateLease
	UpdateNode
	UpdateReplicaSet
	UpdateEndpointSlice
	UpdateEndpoints
	ListPods   // reads one page of the list of all pods
	ListOne    // a list with limit 1, which shows the API server's cache the store's revision
	ListKeys   // reads the keys of all pods in one response, without their values
	Count      // counts the objects of one resource
	GrantLease // requests a lease for events
	Health
	Status
	GetMasterLease // reads this API server's entry in the list of API servers
	GrantMasterLease
	UpdateMasterLease
	ListMasterLeases
	MarkCompaction // a transaction on the compaction key that elects the API server that compacts
	Compact
	NumCalls
)

// shapes describes each kind of call.
var shapes = [NumCalls]app.Shape{
	CreatePod:           {Name: "create pod", Kind: kv.CAS},
	UpdatePod:           {Name: "update pod", Kind: kv.CAS},
	DeletePod:           {Name: "delete pod", Kind: kv.CAS},
	GetPod:              {Name: "get pod", Kind: kv.Get, Level: kv.Linearizable},
	CreateEvent:         {Name: "create event", Kind: kv.CAS},
	UpdateLease:         {Name: "update lease", Kind: kv.CAS},
	UpdateNode:          {Name: "update node", Kind: kv.CAS},
	UpdateReplicaSet:    {Name: "update replicaset", Kind: kv.CAS},
	UpdateEndpointSlice: {Name: "update endpointslice", Kind: kv.CAS},
	UpdateEndpoints:     {Name: "update endpoints", Kind: kv.CAS},
	ListPods:            {Name: "list pods, a page", Kind: kv.Range, Level: kv.Linearizable},
	ListOne:             {Name: "list pods, limit 1", Kind: kv.Range, Level: kv.Linearizable},
	ListKeys:            {Name: "list pods' keys", Kind: kv.Range, Level: kv.Linearizable},
	Count:               {Name: "count", Kind: kv.Range, Level: kv.Linearizable},
	GrantLease:          {Name: "grant lease of events", Kind: kv.KeepAlive},
	Health:              {Name: "health", Kind: kv.Get, Level: kv.Linearizable},
	Status:              {Name: "status", Kind: kv.KeepAlive},
	GetMasterLease:      {Name: "get masterlease", Kind: kv.Get, Level: kv.Linearizable},
	GrantMasterLease:    {Name: "grant lease of masterlease", Kind: kv.KeepAlive},
	UpdateMasterLease:   {Name: "update masterlease", Kind: kv.CAS},
	ListMasterLeases:    {Name: "list masterleases", Kind: kv.Range, Level: kv.Linearizable},
	MarkCompaction:      {Name: "mark compaction", Kind: kv.CAS},
	Compact:             {Name: "compact", Kind: kv.KeepAlive},
}

// String returns the name of the kind of call.
func (c Call) String() string { return shapes[c].Name }

// Kind returns the operation kind and the consistency level under which calls of this kind are
// counted.
func (c Call) Kind() (kv.Kind, kv.Consistency) { return shapes[c].Kind, shapes[c].Level }

// Resource returns the resource of the objects that calls of this kind read or write. It returns
// NumResources if the calls have no resource.
func (c Call) Resource() Resource {
	switch c {
	case CreatePod, UpdatePod, DeletePod, GetPod, ListPods, ListOne, ListKeys:
		return Pods
	case CreateEvent:
		return Events
	case UpdateLease:
		return Leases
	case UpdateNode:
		return Nodes
	case UpdateReplicaSet:
		return ReplicaSets
	case UpdateEndpointSlice:
		return EndpointSlices
	case UpdateEndpoints:
		return Endpoints
	case GetMasterLease, UpdateMasterLease, ListMasterLeases:
		return MasterLeases
	}
	return NumResources
}

// These constants are the intervals of periodic calls. docs/explanation/applications.md gives the
// source of each value.
const (
	leaseRenewal      = 10 * time.Second // kubelet, nodeLeaseDurationSeconds/4
	nodeStatus        = 5 * time.Minute  // kubelet, nodeStatusReportFrequency
	electionRetry     = 2 * time.Second  // scheduler and controller manager, retry-period
	identityRenewal   = 10 * time.Second // lease of the API server itself
	masterRenewal     = 10 * time.Second // DefaultEndpointReconcilerInterval
	countInterval     = time.Minute      // resourceCountPollPeriod
	statusInterval    = 30 * time.Second // etcd-db-metric-poll-interval
	readinessInterval = time.Second      // kubeadm's probes of the API server
	livenessInterval  = 10 * time.Second
	compactInterval   = 5 * time.Minute // etcd-compaction-interval
	leaseReuse        = time.Minute     // how long new events use the same lease
	leaseObjects      = 1000            // maximum number of events that share a lease
	smallListInterval = time.Second     // assumed interval of lists that must be up to date
	listInterval      = 5 * time.Minute // assumed interval of uncached lists of all pods
	listPage          = 500             // client-go's default limit
	pageDelay         = 50 * time.Millisecond

	// EventTTL is the TTL of the leases for events, in seconds. It is event-ttl plus the time for
	// which new events use the same lease.
	EventTTL = 3600 + 60
	// MasterTTL is the TTL, in seconds, of the lease for an API server's entry. Each update of the
	// entry uses a new lease. The value is Kubernetes' DefaultEndpointReconcilerTTL.
	MasterTTL = 15
	// ListLimit is the number of objects on a full page of a listing.
	ListLimit = listPage
)

// electedComponents is the number of components that renew a lease to remain leader.
const electedComponents = 2

// step is one of the calls in the life cycle of a pod.
type step struct {
	delay time.Duration // since the start of the pod's creation or removal
	call  Call
}

// createSteps lists the calls from the creation of a pod until it runs. The ReplicaSet controller
// creates the pod, and the scheduler binds it to a node. The kubelet of that node reports the state
// of the pod's containers twice, and reads the pod before each report. The components also write
// four events, and update the endpoints and the ReplicaSet. The delays are assumptions.
var createSteps = []step{
	{0, CreatePod},
	{20 * time.Millisecond, UpdatePod}, // binding
	{25 * time.Millisecond, CreateEvent},
	{50 * time.Millisecond, UpdateReplicaSet},
	{500 * time.Millisecond, GetPod},
	{520 * time.Millisecond, UpdatePod}, // status
	{1000 * time.Millisecond, CreateEvent},
	{1100 * time.Millisecond, CreateEvent},
	{1200 * time.Millisecond, CreateEvent},
	{1500 * time.Millisecond, GetPod},
	{1520 * time.Millisecond, UpdatePod}, // status: ready
	{1600 * time.Millisecond, UpdateEndpointSlice},
	{1610 * time.Millisecond, UpdateEndpoints},
	{1650 * time.Millisecond, UpdateReplicaSet},
}

// removeSteps lists the calls for the removal of a pod. First the pod is marked as being deleted.
// Then its kubelet stops it and reports this. Finally the pod is deleted.
var removeSteps = []step{
	{0, UpdatePod}, // deletionTimestamp
	{30 * time.Millisecond, CreateEvent},
	{50 * time.Millisecond, UpdateEndpointSlice},
	{60 * time.Millisecond, UpdateEndpoints},
	{80 * time.Millisecond, UpdateReplicaSet},
	{1500 * time.Millisecond, GetPod},
	{1520 * time.Millisecond, UpdatePod}, // status: terminated
	{2000 * time.Millisecond, DeletePod},
}

// masterCalls lists the calls with which an API server renews its entry in the list of API servers.
var masterCalls = []Call{GetMasterLease, GrantMasterLease, UpdateMasterLease, ListMasterLeases}

// maxStepsDuration is an upper bound for the delays in createSteps and in removeSteps.
const maxStepsDuration = 2 * time.Second

// callsPerPod returns the number of calls of a given kind for each pod that is created and removed.
func callsPerPod(c Call) (n float64) {
	for _, life := range [][]step{createSteps, removeSteps} {
		for _, s := range life {
			if s.call == c {
				n++
			}
		}
	}
	return n
}

// Rates returns the mean number of calls of each kind that become due per second, in a load that is
// much longer than the intervals above.
func (c *Config) Rates() (r [NumCalls]float64) {
	nodes := float64(c.Nodes)
	for call := range NumCalls {
		r[call] = c.Churn * callsPerPod(call)
	}
	r[UpdateLease] += nodes/leaseRenewal.Seconds() + electedComponents/electionRetry.Seconds() + 1/identityRenewal.Seconds()
	r[UpdateNode] += nodes / nodeStatus.Seconds()
	r[Count] = float64(len(countedPaths())) / countInterval.Seconds()
	r[Health] = 1/readinessInterval.Seconds() + 1/livenessInterval.Seconds()
	r[Status] = 1 / statusInterval.Seconds()
	r[ListOne] = 1 / smallListInterval.Seconds()
	r[ListPods] = float64(pages(c.pods(), listPage)) / c.listInterval().Seconds()
	r[ListKeys] = 1 / c.listInterval().Seconds()
	for _, call := range masterCalls {
		r[call] = 1 / masterRenewal.Seconds()
	}
	if events := r[CreateEvent]; events > 0 {
		r[GrantLease] = max(1/leaseReuse.Seconds(), events/leaseObjects)
	}
	r[MarkCompaction] = 1 / c.compactInterval().Seconds()
	r[Compact] = r[MarkCompaction]
	return r
}

// pages returns the number of pages in a listing.
func pages(objects, page int) int { return max((objects+page-1)/page, 1) }

// InitialObjects returns the number of objects that exist when the load begins.
func (c *Config) InitialObjects() (n uint64) {
	s := NewSchedule(Config{Nodes: c.Nodes, PodsPerNode: c.PodsPerNode}, 0)
	for _, count := range s.Before {
		n += uint64(count)
	}
	return n
}

// MeanValueSize returns the mean size of the values that the load writes, in bytes.
func (c *Config) MeanValueSize() int {
	bytes, writes := 0.0, 0.0
	for call, rate := range c.Rates() {
		if r := Call(call).Resource(); r != NumResources && shapes[call].Kind == kv.CAS && Call(call) != DeletePod {
			bytes, writes = bytes+rate*float64(r.ValueSize()), writes+rate
		}
	}
	return int(bytes / writes)
}

// keySize is the approximate size of a key without its prefix, in bytes.
const keySize = 36
