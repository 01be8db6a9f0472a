package kubernetes

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Call is a kind of call: a row in the report.
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
	ListPods   // a page of all pods
	ListOne    // the list of one object by which the cache learns the store's revision
	ListKeys   // keys of all pods without values, in one answer
	Count      // of one resource's objects
	GrantLease // of events
	Health
	Status
	GetMasterLease // the API server's own entry among all API servers
	GrantMasterLease
	UpdateMasterLease
	ListMasterLeases
	MarkCompaction // the transaction that says who compacts
	Compact
	NumCalls
)

// shapes are what the kinds of calls are.
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

// Kind is what such calls count as among all operations.
func (c Call) Kind() (kv.Kind, kv.Consistency) { return shapes[c].Kind, shapes[c].Level }

// Resource is that of its objects; NumResources if it has none.
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

// How often things happen. docs/explanation/applications.md has the source of each.
const (
	leaseRenewal    = 10 * time.Second // kubelet, nodeLeaseDurationSeconds/4
	nodeStatus      = 5 * time.Minute  // kubelet, nodeStatusReportFrequency
	electionRetry   = 2 * time.Second  // scheduler and controller manager, retry-period
	identityRenewal = 10 * time.Second // the API server's own lease
	masterRenewal   = 10 * time.Second // DefaultEndpointReconcilerInterval
	countEvery      = time.Minute      // resourceCountPollPeriod
	statusEvery     = 30 * time.Second // etcd-db-metric-poll-interval
	readinessEvery  = time.Second      // kubeadm's probes of the API server
	livenessEvery   = 10 * time.Second
	compactEvery    = 5 * time.Minute // etcd-compaction-interval
	leaseReuse      = time.Minute     // of events' leases
	leaseObjects    = 1000            // and how many events one has
	oneListEvery    = time.Second     // ours: lists that must be as new as the store
	listEvery       = 5 * time.Minute // ours: of all pods past the cache
	listPage        = 500             // client-go's default limit
	betweenPages    = 50 * time.Millisecond

	// EventTTL is how long events' leases live, in seconds: event-ttl, and as long as one
	// is used again.
	EventTTL = 3600 + 60
	// MasterTTL is that of the lease of an API server's entry, which is granted anew for
	// each of its updates: DefaultEndpointReconcilerTTL.
	MasterTTL = 15
	// ListLimit is how many objects a page of a list has.
	ListLimit = listPage
)

// elected are the components that renew a lease by which they lead.
const elected = 2

// step is a call in the life of a pod.
type step struct {
	after time.Duration // since the life's event
	call  Call
}

// created are the calls from a pod's creation until it runs: the ReplicaSet's
// controller creates it, the scheduler binds it, its kubelet reports twice what its
// containers do (reading it before), four events are written, and the endpoints and
// the ReplicaSet take note of it. When they follow each other is ours.
var created = []step{
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

// removed are those of its end: marked as being deleted, stopped by its kubelet, which
// reports that, and removed.
var removed = []step{
	{0, UpdatePod}, // deletionTimestamp
	{30 * time.Millisecond, CreateEvent},
	{50 * time.Millisecond, UpdateEndpointSlice},
	{60 * time.Millisecond, UpdateEndpoints},
	{80 * time.Millisecond, UpdateReplicaSet},
	{1500 * time.Millisecond, GetPod},
	{1520 * time.Millisecond, UpdatePod}, // status: terminated
	{2000 * time.Millisecond, DeletePod},
}

// masterCalls are how an API server renews its entry among all API servers.
var masterCalls = []Call{GetMasterLease, GrantMasterLease, UpdateMasterLease, ListMasterLeases}

// longestLife is how long either takes at most.
const longestLife = 2 * time.Second

// perPod is how many calls of a kind a churn of one pod a second makes.
func perPod(c Call) (n float64) {
	for _, life := range [][]step{created, removed} {
		for _, s := range life {
			if s.call == c {
				n++
			}
		}
	}
	return n
}

// Rates is how many calls of each kind become due a second, over a time that is long
// against the periods above.
func (c *Config) Rates() (r [NumCalls]float64) {
	nodes := float64(c.Nodes)
	for call := range NumCalls {
		r[call] = c.Churn * perPod(call)
	}
	r[UpdateLease] += nodes/leaseRenewal.Seconds() + elected/electionRetry.Seconds() + 1/identityRenewal.Seconds()
	r[UpdateNode] += nodes / nodeStatus.Seconds()
	r[Count] = float64(len(counted())) / countEvery.Seconds()
	r[Health] = 1/readinessEvery.Seconds() + 1/livenessEvery.Seconds()
	r[Status] = 1 / statusEvery.Seconds()
	r[ListOne] = 1 / oneListEvery.Seconds()
	r[ListPods] = float64(pages(c.pods(), listPage)) / c.listEvery().Seconds()
	r[ListKeys] = 1 / c.listEvery().Seconds()
	for _, call := range masterCalls {
		r[call] = 1 / masterRenewal.Seconds()
	}
	if events := r[CreateEvent]; events > 0 {
		r[GrantLease] = max(1/leaseReuse.Seconds(), events/leaseObjects)
	}
	r[MarkCompaction] = 1 / c.compactEvery().Seconds()
	r[Compact] = r[MarkCompaction]
	return r
}

// pages is how many pages a list has.
func pages(objects, page int) int { return max((objects+page-1)/page, 1) }

// There is how many objects are there when the load begins.
func (c *Config) There() (n uint64) {
	s := NewSchedule(Config{Nodes: c.Nodes, PodsPerNode: c.PodsPerNode}, 0)
	for _, there := range s.Before {
		n += uint64(there)
	}
	return n
}

// MeanValue is the mean size of the values that are written in the load, in bytes.
func (c *Config) MeanValue() int {
	bytes, writes := 0.0, 0.0
	for call, rate := range c.Rates() {
		if r := Call(call).Resource(); r != NumResources && shapes[call].Kind == kv.CAS && Call(call) != DeletePod {
			bytes, writes = bytes+rate*float64(r.ValueSize()), writes+rate
		}
	}
	return int(bytes / writes)
}

// keySize is about how many bytes a key has behind its prefix.
const keySize = 36
