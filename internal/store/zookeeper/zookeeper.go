// Package zookeeper describes ZooKeeper to the rest of the program: its capabilities, how its
// members are started, queried and maintained, and how a connection encodes its protocol.
package zookeeper

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper/nullserver"
)

// Name identifies ZooKeeper in --store and scenario files.
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
		SlowAtFirst: "its Java virtual machine interprets the server's code at first and compiles beside the load what is used most, and its heap grows to its size",
		Operations: map[kv.Kind]string{
			kv.Put:       "setData, and create when the node is not there (a second request, inside the operation's time)",
			kv.Get:       "getData",
			kv.Exists:    "exists: the node's stat, without its data",
			kv.Range:     "getChildren2 of the key's parent: names without values, the whole list whatever the interval; those in the interval are counted",
			kv.Delete:    "delete of any version",
			kv.CAS:       "setData with the version that the node must have; create when there must be none. A node made anew counts its versions from the start again",
			kv.KeepAlive: "ping of the connection's session, which the server answers and counts as a sign of life; a client's lease is the session of its connection",
			kv.Ephemeral: "create of an ephemeral node, which ends with its connection's session; a node that is there already is a conflict",
			kv.Watch:     "getData with a watch, set again by a read; or addWatch, persistent and recursive (ZooKeeper 3.9 and newer)",
			kv.Txn:       "multi of setData, repeated with create for each node that is not there",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: a follower first catches up with its leader. Sync alone is not a quorum read: no quorum confirms the leader, so a deposed one that does not know it yet can serve an old value; and at the leader sync does nothing, so that a write which a follower has just acknowledged may be missed there",
			kv.Local:        "getData: the contacted member answers from what it has applied, which may be stale",
		},
		ShortOf: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData, and no quorum read: no quorum confirms the leader, so that one which was deposed and does not know it yet can serve an old value",
		},
		Watches: watchesOf(),
		Features: map[kv.Feature]string{
			kv.TLS:          "of the secure client port",
			kv.Users:        "the digest scheme; nodes are made for their creator alone",
			kv.RoleQuery:    "the word srvr of the member",
			kv.PrefixDelete: "getChildren, and multi of delete from the lowest nodes up",
			kv.Metrics:      "the word mntr, or the Prometheus provider's port",
			kv.LogSignals:   "the server's log, and Java's garbage collection log",
			kv.NullServer:   "sessions, and the requests of the operations",
			kv.SessionNodes: "create of ephemeral and of sequential nodes, getChildren, and getData with a watch that fires once",
			kv.Order:        "the zxid of each answer, and each node's mzxid and version",
			kv.Replacement:  "nothing is asked: a member with the same number and no data gets them from the leader",
		},
		NoFeatures: map[kv.Feature]string{
			kv.Compaction:      "ZooKeeper has no compaction: it keeps one version of each node, and its snapshots replace its logs",
			kv.Defragmentation: "ZooKeeper has no defragmentation: its data is in memory, and each snapshot is written anew",
			kv.LeaderTransfer:  "ZooKeeper's leadership cannot be moved: stop or restart the leader, and another member is elected",
			kv.Snapshots:       "ZooKeeper's members write snapshots by themselves (snap-count), and on request of an admin server alone, which is off here",
		},
		InFlight:    0,
		Ordered:     true,
		OwnSessions: true,
		NonVoters:   kv.NonVoters{Name: "observer", Forwards: true},
		Durability:  "a write is acknowledged when a majority of the members have it in a transaction log that was synced (fdatasync), unless forceSync is no",
		Disk: &kv.DiskRule{
			Percentile: 100, Limit: time.Second,
			Source: "ZooKeeper warns of each sync of its log above 1 s (fsync.warningthresholdms), because every write waits for it",
		},
	}
}

// usualWatch is the default watch mode.
const usualWatch = kv.PersistentWatch

// watchesOf describes the watches of a session.
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

// DecodeSettings implements store.Store; the result is a *Settings.
func (*Store) DecodeSettings(decode func(into any) error) (any, error) {
	return store.DecodeSettings[Settings](decode)
}

// Codecs implements store.Store.
func (*Store) Codecs(a store.Access) store.Codecs { return newCodecs(a, Dialect{}) }

// Codecs returns the codecs for a server that speaks the dialect.
func (d Dialect) Codecs(a store.Access) store.Codecs { return newCodecs(a, d) }

// NullServer implements store.NullServed. It ignores MaxStreams because the protocol cannot
// announce a limit.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) { return nullserver.New(o) }
