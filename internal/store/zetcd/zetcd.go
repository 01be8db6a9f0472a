// Package zetcd is zetcd, a proxy that speaks ZooKeeper's protocol in front of
// etcd: what of that protocol works there, how its members are started, and how
// they are asked.
package zetcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdproxy"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// Name is what --store and scenario files call zetcd.
const Name = "zetcd"

// Store is zetcd, as the rest of the program sees it.
type Store struct{}

var _ store.Store = (*Store)(nil)

// New returns zetcd.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Capabilities implements store.Store. They are zetcd's own: the same requests as
// ZooKeeper's, which mean something else here.
func (*Store) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		Operations: map[kv.Kind]string{
			kv.Put:    "setData: an etcd transaction that reads and writes the node's version, time and data, retried by zetcd when others were in between; create when the node is not there (a second request, inside the operation's time)",
			kv.Get:    "getData: one etcd transaction of six ranges",
			kv.Exists: "exists: the same etcd transaction",
			kv.Range:  "getChildren2 of the key's parent: names without values, the whole list whatever the interval; those in the interval are counted",
			kv.Delete: "delete of any version",
			kv.CAS:    "setData with the version that the node must have; create when there must be none",
			kv.Txn:    "multi of setData, for keys that are there: a multi that fails answers \"api error\" and not what was in its way, so that no create can follow",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: zetcd's sync is a linearizable read (ReadIndex) of the etcd member behind it, from whose applied state getData is then answered; a zetcd that somebody started with several etcd endpoints may ask another one",
			kv.Local:        "getData: a serializable transaction of the etcd member behind the proxy, which answers from its applied state and may be stale",
		},
		ShortOf: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: the sync is a quorum read of the member behind the proxy, and the getData after it is none; it is answered from what that member has applied",
		},
		Features:   etcdproxy.Features(map[kv.Feature]string{kv.RoleQuery: "the word ruok of the proxy, and Maintenance.Status of the etcd behind it"}),
		NoFeatures: etcdproxy.NoFeatures(Name),
		InFlight:   0,
		Ordered:    true,
		Durability: "that of the etcd behind it: a write is acknowledged when a majority of the members have it in a write-ahead log that was synced (fdatasync), unless unsafe-no-fsync is set",
		Disk:       etcd.New().Capabilities().Disk,
	}
}

// DecodeSettings implements store.Store: a member's settings are those of the
// etcd behind it, for zetcd has none.
func (*Store) DecodeSettings(decode func(into any) error) (any, error) {
	return etcd.New().DecodeSettings(decode)
}

// launch is what Launch says, with zetcd's binary at path.
func launch(spec store.LaunchSpec, path string) (store.Launch, error) {
	return etcdproxy.Launch(Name, spec, func(address, etcdURL string) (string, []string) {
		return path, []string{"-zkaddr", address, "-endpoints", etcdURL, "-logtostderr"}
	})
}

// Admin implements store.Store.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	return etcdproxy.NewAdmin(Name, a, probe)
}

// Codecs implements store.Store: ZooKeeper's. What zetcd cannot take (setACL
// and getACL, users, TTL nodes, the watches that stay) they do not send.
func (*Store) Codecs(a store.Access) store.Codecs { return dialect.Codecs(a) }

// dialect is what zetcd promises less than ZooKeeper (seen in its v0.0.5). A read
// has the revision of the etcd that answers it, and a zetcd with several may ask
// one that is behind. The root's Stat counts a child more, as ZooKeeper has one of
// its own there. The Stats in the answer to a multi are read when it is done.
var dialect = zookeeper.Dialect{GoesBack: true, HidesChild: true, LateStats: true}
