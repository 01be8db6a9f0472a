// Package etcdv2 is etcd with its old v2 HTTP API, which etcd has up to 3.5:
// what it can do, how its members are started, how they are asked, and how the
// API looks on a connection.
package etcdv2

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Name is what --store and scenario files call etcd with its v2 API.
const Name = "etcdv2"

// Store is etcd's v2 API, as the rest of the program sees it.
type Store struct{}

// New returns etcd's v2 API.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Capabilities implements store.Store.
func (*Store) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		Operations: map[kv.Kind]string{
			kv.Put:    "PUT /v2/keys/KEY?noValueOnSuccess=true",
			kv.Get:    "GET /v2/keys/KEY",
			kv.Range:  "GET /v2/keys/FOLDER?recursive=true, of which the keys in the interval are counted",
			kv.Delete: "DELETE /v2/keys/KEY",
			kv.CAS:    "PUT /v2/keys/KEY?prevIndex=MODIFIEDINDEX",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "?quorum=true: the read goes through the Raft log like a write, and the contacted member answers when it applies it",
			kv.Local:        "the contacted member answers from its own state, which may be old without bound",
		},
		Features: map[kv.Feature]string{
			kv.TLS:          "of the client's URL",
			kv.Users:        "HTTP basic authentication",
			kv.RoleQuery:    "/v2/stats/self of the member",
			kv.PrefixDelete: "DELETE of each key and folder",
			kv.Metrics:      "Prometheus's format at /metrics of the client's URL",
			kv.LogSignals:   "its JSON log",
			kv.NullServer:   "the HTTP API of the operations",
			kv.Order:        "X-Etcd-Index of each answer, and each key's modifiedIndex",
		},
		NoFeatures: map[kv.Feature]string{
			kv.Compaction:      "etcd's v2 API keeps the last 1000 events and no other history, so there is nothing to compact",
			kv.Defragmentation: "etcd's v2 API holds its keys in memory, so there is nothing to defragment",
			kv.LeaderTransfer:  "etcd's v2 API cannot move the leadership",
		},
		InFlight:   1,
		ALPN:       []string{"http/1.1"},
		NonVoters:  kv.NonVoters{Name: "learner", Forwards: true}, // its v2 API does not refuse as its v3 API does
		Durability: "a write is acknowledged when a majority of the members have it in a write-ahead log that was synced (fdatasync), unless unsafe-no-fsync is set, and the contacted member has applied it in memory",
		Disk:       etcd.New().Capabilities().Disk, // the log is etcd's own
		Upgrades:   etcd.UpgradeNeeds,
		Variables: map[string]string{
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

// Metrics implements store.Store: the server is etcd's own.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	return etcd.New().Metrics(a, endpoint)
}

// Signal implements store.Store: etcd 3.5 writes the log that etcd 3.7 writes,
// but for a few words that both are looked for.
func (*Store) Signal(line []byte) (store.Signal, bool) { return etcd.New().Signal(line) }
