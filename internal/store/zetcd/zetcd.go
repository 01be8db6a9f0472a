// Package zetcd implements the store zetcd, a proxy that translates ZooKeeper's protocol to etcd.
// It contains zetcd's capabilities and how to launch and administer its members.
package zetcd

import (
	"embed"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcdproxy"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// Name identifies zetcd in --store and in scenario files.
const Name = "zetcd"

// Store implements store.Store for zetcd.
type Store struct{ etcdproxy.Store }

// New returns a Store.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Capabilities implements store.Store. It does not use ZooKeeper's descriptions, because zetcd
// handles the same requests with other guarantees.
func (*Store) Capabilities() kv.Capabilities {
	can := etcdproxy.Capabilities(Name, "the four-letter word ruok, sent to the proxy", kv.Capabilities{
		Operations: map[kv.Kind]string{
			kv.Put:    "setData: an etcd transaction that reads and writes the node's version, time and data; zetcd retries the transaction after a conflict. If the node does not exist, create follows (a second request, which the operation's time includes)",
			kv.Get:    "getData: one etcd transaction with six ranges",
			kv.Exists: "exists: the same etcd transaction as getData",
			kv.Range:  "getChildren2 of the key's parent, which always returns all names, without values; quorumbench counts the names in the interval",
			kv.Delete: "delete, whatever the node's version is",
			kv.CAS:    "setData with the version that the node must have; create if the node must not exist",
			kv.Txn:    "multi of setData, only for existing keys: a failed multi returns \"api error\" without the reason, so quorumbench cannot create missing nodes",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: sync is a linearizable read (ReadIndex) on zetcd's etcd member, and that member responds to getData from its applied state. A zetcd process with several etcd endpoints may send getData to another member",
			kv.Local:        "getData: a serializable transaction on the proxy's etcd member, which responds from its applied state; the response may be stale",
		},
		WeakerReads: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: the proxy's etcd member executes the sync as a quorum read, but it responds to the getData from its applied state",
		},
		OrderedResponses: true,
	})
	can.Features[kv.WriteOrder] = "the zxid in each response, which is etcd's revision minus 1, and each node's mzxid and version"
	return can
}

// serverFiles are the input files for building the server. The replace directives in go.mod.txt
// are necessary. With newer versions of etcd's client and gRPC, zetcd would distribute its
// requests over the members, return "required revision is a future revision", and crash if a
// multi fails.
//
//go:embed server/*.txt
var serverFiles embed.FS

// Server implements store.Store.
func (*Store) Server(version string) (store.ServerSource, error) {
	return store.ServerSource{
		Store: Name, Versions: []string{"0.0.5"}, Kind: store.GoModule,
		Files: serverFiles, Package: "github.com/coreos/zetcd/cmd/zetcd", LDFlags: "-s -w",
		Check:   store.ServerCheck{Module: "github.com/coreos/zetcd@v{version}"},
		License: "Apache License 2.0",
	}.Pick(version)
}

// Launch implements store.Store. Each member consists of an embedded etcd member and a zetcd
// process in front of it. spec.Exec is the path of zetcd's binary.
func (s *Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	source, err := s.Server("")
	if err != nil {
		return store.Launch{}, err
	}
	path, err := install.ExecutableForLaunch(&spec, source)
	if err != nil {
		return store.Launch{}, err
	}
	return etcdproxy.Launch(Name, path, spec, func(address, etcdURL string) []string {
		return []string{"-zkaddr", address, "-endpoints", etcdURL, "-logtostderr"}
	})
}

// Admin implements store.Store.
func (*Store) Admin(a store.Access) (store.Admin, error) {
	proxies, err := etcdproxy.NewAdmin(Name, a, probe)
	if err != nil {
		return nil, err
	}
	return admin{proxies, zookeeper.Folders(a)}, nil
}

// admin queries the proxies. To find and remove parent nodes, it uses ZooKeeper's protocol.
type admin struct {
	*etcdproxy.Admin
	store.FolderKeeper
}

// Tap implements store.TapProvider.
func (*Store) Tap(cfg store.TapConfig) store.Tap { return zookeeper.NewTap(cfg) }

// CanReplay implements store.Replayer.
func (*Store) CanReplay(r *call.Call) bool { return zookeeper.CanReplay(r) }

// RequiredKey implements store.Replayer.
func (*Store) RequiredKey(p *call.Part) []byte { return zookeeper.RequiredKey(p) }

// Codecs implements store.Store. It returns ZooKeeper's codecs, restricted to the requests that
// zetcd supports (not setACL, getACL, users, TTL nodes and persistent watches).
func (*Store) Codecs(a store.Access) store.Codecs { return dialect.Codecs(a) }

// dialect describes which of ZooKeeper's guarantees zetcd v0.0.5 lacks. A read returns the state
// of one etcd member, and a zetcd process with several endpoints may choose a member that lags.
// The root's Stat counts an additional child, because in ZooKeeper the root contains ZooKeeper's
// own node. zetcd reads the Stats for the reply to a multi after the whole transaction.
var dialect = zookeeper.Dialect{MayReadOlderState: true, MayHideChild: true, StatsAfterMulti: true}
