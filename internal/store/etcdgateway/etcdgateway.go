// Package etcdgateway implements the store etcd-gateway: etcd's v3 API as JSON over HTTP/1.1.
// Each etcd member has such a gateway, for clients without gRPC such as Patroni. This package
// implements only the protocol codec; package etcd implements everything else.
package etcdgateway

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Name is the store's name in --store and in scenario files.
const Name = "etcd-gateway"

// Store implements store.Store for etcd's gateway.
type Store struct{ server *etcd.Store }

// New returns the store for etcd's gateway.
func New() *Store { return &Store{etcd.New()} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// fromEtcd lists the features that use etcd's administrative API. This API does not depend on the
// load's protocol, so these features are the same as in the store etcd.
var fromEtcd = []kv.Feature{
	kv.TLS, kv.RoleQuery, kv.Compaction, kv.Defragmentation, kv.LeaderTransfer, kv.PrefixDelete, kv.Hashes, kv.Leases, kv.Metrics, kv.LogSignals,
	kv.Snapshots, kv.Alarms, kv.SpaceQuota, kv.Replacement, kv.Learners, kv.Certificates,
}

// Capabilities implements store.Store.
func (s *Store) Capabilities() kv.Capabilities {
	can := s.server.Capabilities()
	can.Hosts = nil // the machines are those of etcd
	features := map[kv.Feature]string{
		kv.WriteOrder:       "the revision in each response's header, and each key's mod_revision",
		kv.ApplicationCalls: "POST /v3/kv/txn with any guard, /v3/lease/grant, /v3/kv/compaction, /v3/maintenance/status and /v3/watch",
	}
	for _, f := range fromEtcd {
		features[f] = can.Features[f]
	}
	can.Operations = map[kv.Kind]string{
		kv.Put:       "POST /v3/kv/put",
		kv.Get:       "POST /v3/kv/range for one key",
		kv.Range:     "POST /v3/kv/range for an interval",
		kv.Delete:    "POST /v3/kv/deleterange for one key",
		kv.CAS:       "POST /v3/kv/txn that compares the key's mod_revision",
		kv.Txn:       "POST /v3/kv/txn with several puts",
		kv.KeepAlive: "POST /v3/lease/keepalive",
		kv.Watch:     "POST /v3/watch, one watcher per connection",
	}
	can.Features = features
	can.NoFeatures = map[kv.Feature]string{
		kv.Users: "quorumbench cannot log in through etcd's gateway; use the store \"etcd\", which supports users",
	}
	can.Watches.Modes = map[kv.WatchMode]string{kv.StreamWatch: "POST /v3/watch, whose response does not end"}
	can.MaxInFlight, can.ALPN = 1, []string{"http/1.1"}
	return can
}

// DecodeSettings implements store.Store. The settings are etcd's settings.
func (s *Store) DecodeSettings(decode func(into any) error) (any, error) {
	return s.server.DecodeSettings(decode)
}

// Launch implements store.Store. It launches etcd, because every member contains the gateway.
func (s *Store) Launch(spec store.LaunchSpec) (store.Launch, error) { return s.server.Launch(spec) }

// Server implements store.Store.
func (s *Store) Server(requested string) (store.ServerSource, error) {
	source, err := s.server.Server(requested)
	source.Store = Name
	return source, err
}

// Admin implements store.Store.
func (s *Store) Admin(a store.Access) (store.Admin, error) { return s.server.Admin(a) }

// Codecs implements store.Store.
func (*Store) Codecs(a store.Access) store.Codecs {
	return func(d store.ConnectionInfo) store.Codec {
		c := newCodec(d)
		c.grants = a.Grants
		return c
	}
}

// Metrics implements store.Store.
func (s *Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	return s.server.Metrics(a, endpoint)
}

// Signal implements store.Store.
func (s *Store) Signal(line []byte) (store.Signal, bool) { return s.server.Signal(line) }

// CertificateFiles implements store.Embedded.
func (s *Store) CertificateFiles(place kv.MemberPlace) (certificate, key string) {
	return s.server.CertificateFiles(place)
}

// RunMember implements store.Embedded. Members that Launch starts do not use this method, because
// their command is `member etcd`.
func (s *Store) RunMember(ctx context.Context, configFile string) error {
	return s.server.RunMember(ctx, configFile)
}

// Guarantees implements store.Store.
func (s *Store) Guarantees() store.Guarantees { return s.server.Guarantees() }

// Size implements store.Sizer. It returns the sizes and the advice of the store etcd.
func (s *Store) Size(l store.SizingInput) ([]store.ResourceUsage, []store.Advice, error) {
	return s.server.Size(l)
}
