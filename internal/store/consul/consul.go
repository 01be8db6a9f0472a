// Package consul implements the store HashiCorp Consul. It describes Consul's capabilities and how
// to launch its servers, administers the servers, and contains the codec for Consul's HTTP API.
package consul

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// Name identifies Consul in --store and in scenario files.
const Name = "consul"

// Store implements store.Store for Consul.
type Store struct{}

// New returns a Store.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Capabilities implements store.Store.
func (*Store) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		Operations: map[kv.Kind]string{
			kv.Put:       "PUT /v1/kv/KEY",
			kv.Get:       "GET /v1/kv/KEY?raw",
			kv.Range:     "GET /v1/kv/PREFIX?recurse; of the returned keys, quorumbench counts those in the interval",
			kv.Delete:    "DELETE /v1/kv/KEY",
			kv.CAS:       "PUT /v1/kv/KEY?cas=MODIFYINDEX",
			kv.Txn:       "PUT /v1/txn with a set operation for each key",
			kv.STM:       "PUT /v1/txn with a get-or-empty for each key, then PUT /v1/txn with check-index and set; with a lock (client or service), also PUT /v1/kv/LOCK?acquire=SESSION and ?release=SESSION",
			kv.KeepAlive: "PUT /v1/session/renew/ID",
			kv.Watch:     "a repeated blocking query: GET /v1/kv/KEY?raw&index=INDEX or /v1/kv/PREFIX?recurse&index=INDEX",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "?consistent: the leader responds after a quorum has confirmed its leadership; other members forward the read to the leader",
			kv.Local:        "?stale: the contacted member responds from its own state, which may be arbitrarily old",
			kv.LeaderLease:  "the default mode: the leader responds as long as its lease lasts, so just after an election a deposed leader may return an old value; other members forward the read to the leader",
		},
		Features: map[kv.Feature]string{
			kv.TLS:            "the HTTPS port",
			kv.Users:          "an ACL token, X-Consul-Token",
			kv.RoleQuery:      "/v1/status/leader of the member",
			kv.LeaderTransfer: "/v1/operator/raft/transfer-leader",
			kv.Snapshots:      "/v1/snapshot?stale of the member, which returns an archive of the member's whole state",
			kv.Replacement:    "DELETE /v1/operator/raft/peer and /v1/agent/force-leave?prune; the new member joins on its own",
			kv.PrefixDelete:   "DELETE /v1/kv/PREFIX?recurse",
			kv.Leases:         "/v1/session/create and /v1/session/destroy: sessions with a TTL and no health checks",
			kv.Services:       "/v1/catalog/register, /v1/catalog/deregister, /v1/catalog/node-services/NODE and /v1/health/service/NAME?passing",
			kv.SessionLocks:   "/v1/session/create with a TTL, the behavior delete and a lock delay; PUT /v1/kv/KEY?acquire=SESSION and ?release=SESSION; and a blocking query with ?wait on the key",
			kv.Metrics:        "/v1/agent/metrics?format=prometheus, if prometheus_retention_time is set in the agent's telemetry configuration",
			kv.LogSignals:     "the agent's log",
			kv.NullServer:     "the HTTP requests that operations send",
			kv.WriteOrder:     "a read returns the key's ModifyIndex as X-Consul-Index; a write returns no index",
		},
		NoFeatures: map[kv.Feature]string{
			kv.Compaction:      "Consul keeps no history of its keys, so there is nothing to compact",
			kv.Defragmentation: "Consul holds its keys in memory, so there is nothing to defragment",
			kv.AuthSwitch:      "Consul's ACLs are enabled in the members' configuration and cannot be switched while members run",
		},
		Watches: kv.Watches{
			Modes: map[kv.WatchMode]string{
				kv.QueryWatch: "a blocking query in the default consistency mode, repeated with each response's index",
			},
			Default: kv.QueryWatch,
		},
		Ascending:   true,
		MaxInFlight: 1,
		ALPN:        []string{"http/1.1"},
		NonVoters:   kv.NonVoters{Name: "server without a vote", ForwardsRequests: true},
		Durability:  "a write is acknowledged once a majority of the servers have synced it to their Raft logs (a write-ahead log, or BoltDB) and the leader has applied it",
		Disk:        &diskRule,
		Hosts:       hostRules(diskRule),
		EnvironmentVariables: map[string]string{
			"endpoints": "CONSUL_HTTP_ADDR", "tls": "CONSUL_HTTP_SSL", "cacert": "CONSUL_CACERT",
			"cert": "CONSUL_CLIENT_CERT", "key": "CONSUL_CLIENT_KEY", "password": "CONSUL_HTTP_TOKEN",
		},
	}
}

// DecodeSettings implements store.Store. It returns a *Settings.
func (*Store) DecodeSettings(decode func(into any) error) (any, error) {
	return store.DecodeSettings[Settings](decode)
}

// Codecs implements store.Store.
func (st *Store) Codecs(a store.Access) store.Codecs { return st.dialect().Codecs(a) }

// dialect returns the Dialect of Consul itself.
func (st *Store) dialect() *Dialect {
	return &Dialect{FailureOutcome: failureOutcome, StoreInfo: httpkv.StoreInfo{
		Operations: st.Capabilities().Operations, Name: "Consul", HTTP2: "is this Consul's HTTP port, and not its gRPC port?",
	}}
}
