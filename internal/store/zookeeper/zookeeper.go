// Package zookeeper describes ZooKeeper to the rest of the program: its capabilities, how to start,
// query and maintain its members, and how to encode requests on a connection.
package zookeeper

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper/nullserver"
)

// Name identifies ZooKeeper in --store and in scenario files.
const Name = "zookeeper"

// Store implements store.Store for ZooKeeper.
type Store struct{}

// New returns a Store.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Capabilities implements store.Store.
func (*Store) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		SlowAtFirst: "its Java virtual machine interprets the server's code at first and compiles hot code during the load, and its heap still grows",
		Operations: map[kv.Kind]string{
			kv.Put:       "setData, and create if the node does not exist (a second request, within the operation's time)",
			kv.Get:       "getData",
			kv.Exists:    "exists: the node's Stat without its data",
			kv.Range:     "getChildren2 of the key's parent: names without values, always the whole list; the names in the interval are counted",
			kv.Delete:    "delete of any version",
			kv.CAS:       "setData with the version that the node must have; create if the node must not exist. A recreated node starts its versions again",
			kv.KeepAlive: "ping of the connection's session, which renews the session; a client's lease is its connection's session",
			kv.Ephemeral: "create of an ephemeral node, which is deleted with its connection's session; an existing node is a conflict",
			kv.Watch:     "getData with a watch, set again by a read; or addWatch, persistent and recursive (ZooKeeper 3.9 and newer)",
			kv.Txn:       "multi of setData, repeated with create for each missing node",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: a follower first catches up with its leader. This is not a quorum read: no quorum confirms the leader, so a deposed leader that has not noticed yet can return an old value; and at the leader sync does nothing, so a read may miss a write that a follower has just acknowledged",
			kv.Local:        "getData: the contacted member responds from its applied state, which may be stale",
		},
		ShortOf: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData, and no quorum read: no quorum confirms the leader, so that one which was deposed and does not know it yet can serve an old value",
		},
		Watches: watchesOf(),
		Features: map[kv.Feature]string{
			kv.TLS:          "of the secure client port",
			kv.Users:        "the digest scheme; nodes are accessible only to their creator",
			kv.RoleQuery:    "the word srvr of the member",
			kv.PrefixDelete: "getChildren, and multi of delete starting with the deepest nodes",
			kv.Metrics:      "the word mntr, or the Prometheus provider's port",
			kv.LogSignals:   "the server's log, and Java's garbage collection log",
			kv.NullServer:   "sessions, and the requests of the operations",
			kv.SessionNodes: "create of ephemeral and of sequential nodes, getChildren, and getData with a watch that fires once",
			kv.Order:        "the zxid of each response, and each node's mzxid and version",
			kv.Replacement:  "no request is needed: a member with the same number and no data gets the data from the leader",
		},
		NoFeatures: map[kv.Feature]string{
			kv.Compaction:      "ZooKeeper has no compaction: it keeps one version of each node, and its snapshots replace its logs",
			kv.Defragmentation: "ZooKeeper has no defragmentation: its data is in memory, and each snapshot is written anew",
			kv.LeaderTransfer:  "ZooKeeper cannot transfer leadership: stop or restart the leader, and another member is elected",
			kv.Snapshots:       "ZooKeeper's members write snapshots on their own (snap-count), and on request only through the admin server, which is off here",
		},
		InFlight:    0,
		Ordered:     true,
		OwnSessions: true,
		NonVoters:   kv.NonVoters{Name: "observer", Forwards: true},
		Durability:  "a write is acknowledged once a majority of the members have synced it to their transaction logs (fdatasync), unless forceSync is no",
		Disk: &kv.DiskRule{
			Percentile: 100, Limit: time.Second,
			Source: "ZooKeeper warns of each sync of its log above 1 s (fsync.warningthresholdms), because every write waits for it",
		},
	}
}

// usualWatch is the default watch mode.
const usualWatch = kv.PersistentWatch

// watchesOf describes the kinds of watches that a session supports.
func watchesOf() kv.Watches {
	return kv.Watches{
		Modes: map[kv.WatchMode]string{
			kv.PersistentWatch: "persistent recursive watches: each change by its key and transaction, without its value (ZooKeeper 3.9 and newer)",
			kv.OnceWatch:       "one-shot watches, each set again by a read of the new data",
		},
		Usual:  usualWatch,
		Shared: true,
	}
}

// DecodeSettings implements store.Store. It returns a *Settings.
func (*Store) DecodeSettings(decode func(into any) error) (any, error) {
	return store.DecodeSettings[Settings](decode)
}

// Codecs implements store.Store.
func (*Store) Codecs(a store.Access) store.Codecs { return newCodecs(a, Dialect{}) }

// Codecs returns the codecs for a server that speaks the dialect.
func (d Dialect) Codecs(a store.Access) store.Codecs { return newCodecs(a, d) }

// NullServer implements store.NullServed. It ignores MaxStreams, because a server cannot announce a
// limit in ZooKeeper's protocol.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) { return nullserver.New(o) }
