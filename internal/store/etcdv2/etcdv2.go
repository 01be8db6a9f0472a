// Package etcdv2 implements the store etcdv2: etcd with its old v2 HTTP API, which exists up to
// etcd 3.5. The package contains the store's capabilities and the API's codec, and it launches
// and administers members.
package etcdv2

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Name is the store's name in --store and in scenario files.
const Name = "etcdv2"

// Store implements store.Store for etcd's v2 API.
type Store struct{}

// New returns the store for etcd's v2 API.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Capabilities implements store.Store.
func (*Store) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		Operations: map[kv.Kind]string{
			kv.Put:    "PUT /v2/keys/KEY?noValueOnSuccess=true",
			kv.Get:    "GET /v2/keys/KEY",
			kv.Range:  "GET /v2/keys/FOLDER?recursive=true, counting the keys in the interval",
			kv.Delete: "DELETE /v2/keys/KEY",
			kv.CAS:    "PUT /v2/keys/KEY?prevIndex=MODIFIEDINDEX",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "?quorum=true: the read passes through the Raft log like a write, and the contacted member responds once it has applied the read",
			kv.Local:        "the contacted member responds from its own state, which may be arbitrarily old",
		},
		Features: map[kv.Feature]string{
			kv.TLS:          "TLS at the client URL",
			kv.Users:        "HTTP basic authentication",
			kv.RoleQuery:    "/v2/stats/self at the member",
			kv.PrefixDelete: "one DELETE request for each key and folder",
			kv.Metrics:      "/metrics at the client URL, in Prometheus's format",
			kv.LogSignals:   "the members' JSON logs",
			kv.NullServer:   "the HTTP API for the operations",
			kv.WriteOrder:   "X-Etcd-Index in each response, and each key's modifiedIndex",
		},
		NoFeatures: map[kv.Feature]string{
			kv.Compaction:      "etcd's v2 API keeps the last 1000 events and no other history, so there is nothing to compact",
			kv.Defragmentation: "etcd's v2 API holds its keys in memory, so there is nothing to defragment",
			kv.LeaderTransfer:  "etcd's v2 API cannot transfer leadership",
		},
		MaxInFlight:       1,
		ALPN:              []string{"http/1.1"},
		NonVoters:         kv.NonVoters{Name: "learner", ForwardsRequests: true}, // unlike in the v3 API, a learner refuses no requests
		Durability:        "a write is acknowledged once a majority of the members have synced it to their write-ahead logs (with fdatasync, unless unsafe-no-fsync is set) and the contacted member has applied it in memory",
		Disk:              etcd.New().Capabilities().Disk, // etcd uses the same log for both APIs
		UpgradeConditions: etcd.UpgradeConditions,
		EnvironmentVariables: map[string]string{
			"endpoints": "ETCDCTL_ENDPOINTS", "cacert": "ETCDCTL_CA_FILE", "cert": "ETCDCTL_CERT_FILE", "key": "ETCDCTL_KEY_FILE",
			"user": "ETCDCTL_USERNAME",
		},
	}
}

// DecodeSettings implements store.Store; the result is a *Settings.
func (*Store) DecodeSettings(decode func(into any) error) (any, error) {
	return store.DecodeSettings[Settings](decode)
}

// Codecs implements store.Store.
func (*Store) Codecs(a store.Access) store.Codecs { return newCodecs(a) }

// Metrics implements store.Store. It returns the same metrics as the store etcd.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	return etcd.New().Metrics(a, endpoint)
}

// Signal implements store.Store. The messages in etcd 3.5 and 3.7 differ only slightly, and the
// store etcd recognizes both.
func (*Store) Signal(line []byte) (store.Signal, bool) { return etcd.New().Signal(line) }
