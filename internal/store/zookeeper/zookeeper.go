// Package zookeeper describes ZooKeeper to the rest of the program: its capabilities, how to start,
// query and maintain its members, and how to encode requests on a connection.
package zookeeper

import (
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
		SlowStartReason: "its Java virtual machine interprets the server's code at first, and needs some load before it has compiled frequently executed code and enlarged its heap",
		Operations: map[kv.Kind]string{
			kv.Put:       "setData; if the node does not exist, create follows (a second request, which the operation's time includes)",
			kv.Get:       "getData",
			kv.Exists:    "exists: the node's Stat without its data",
			kv.Range:     "getChildren2 of the key's parent, which always returns all names, without values; quorumbench counts the names in the interval",
			kv.Delete:    "delete, whatever the node's version is",
			kv.CAS:       "setData with the version that the node must have; create if the node must not exist. The versions of a re-created node start at 0 again",
			kv.KeepAlive: "ping, which renews the connection's session; a client's lease is the session of its connection",
			kv.Ephemeral: "create of an ephemeral node, which ZooKeeper deletes when the connection's session ends; if the node already exists, the result is a conflict",
			kv.Watch:     "getData with a one-shot watch, which another getData sets again after each event; or addWatch with a persistent recursive watch (ZooKeeper 3.9 and newer)",
			kv.Txn:       "multi of setData; if a node is missing, the multi is sent again with create for this node",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: a follower first catches up with its leader. This is not a quorum read: no quorum confirms the leader, so a leader that was deposed but does not know it yet can return an old value. At the leader, sync does nothing, so a read may miss a write that a follower has just acknowledged",
			kv.Local:        "getData: the contacted member responds from its applied state, which may be stale",
		},
		WeakerReads: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: no quorum confirms the leader, so a leader that was deposed but does not know it yet can return an old value",
		},
		Watches: watchCapabilities(),
		Features: map[kv.Feature]string{
			kv.TLS:          "TLS at the secure client port",
			kv.Users:        "the digest scheme; nodes are accessible only to their creator",
			kv.RoleQuery:    "the four-letter word srvr, sent to the member",
			kv.PrefixDelete: "getChildren, and multi requests that delete the deepest nodes first",
			kv.Metrics:      "the four-letter word mntr, or the port of the Prometheus provider",
			kv.LogSignals:   "the server's log, and Java's garbage collection log",
			kv.NullServer:   "sessions, and the requests that operations send",
			kv.SessionNodes: "create of ephemeral and of sequential nodes, getChildren, and getData with a watch that fires once",
			kv.WriteOrder:   "the zxid in each response, and each node's mzxid and version",
			kv.Replacement:  "no request is needed: a member with the same number and no data gets the data from the leader",
		},
		NoFeatures: map[kv.Feature]string{
			kv.Compaction:      "ZooKeeper has no compaction: it keeps one version of each node, and its snapshots replace its logs",
			kv.Defragmentation: "ZooKeeper has no defragmentation: its data is in memory, and each snapshot is a new file",
			kv.LeaderTransfer:  "ZooKeeper cannot transfer leadership: stop or restart the leader, and another member is elected",
			kv.Snapshots:       "ZooKeeper's members write snapshots automatically (snap-count); they write a snapshot on request only through the admin server, which is disabled in clusters that quorumbench starts",
		},
		MaxInFlight:          0,
		OrderedResponses:     true,
		SessionPerConnection: true,
		NonVoters:            kv.NonVoters{Name: "observer", ForwardsRequests: true},
		Durability:           "a write is acknowledged once a majority of the members have synced it to their transaction logs (fdatasync), unless forceSync is no",
		Disk:                 &diskRule,
		Hosts:                hostRules(diskRule),
	}
}

// defaultWatch is the default watch mode.
const defaultWatch = kv.PersistentWatch

// watchCapabilities describes the kinds of watches that a session supports.
func watchCapabilities() kv.Watches {
	return kv.Watches{
		Modes: map[kv.WatchMode]string{
			kv.PersistentWatch: "persistent recursive watches: an event contains the key and the transaction of a change, but not the value (ZooKeeper 3.9 and newer)",
			kv.OnceWatch:       "one-shot watches: after each event, a read of the new data sets the watch again",
		},
		Default:     defaultWatch,
		SharedByKey: true,
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

// NullServer implements store.NullServerProvider. It ignores MaxStreams, because a server cannot
// announce a limit in ZooKeeper's protocol.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) { return nullserver.New(o) }
