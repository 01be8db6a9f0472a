// Package zookeeper is ZooKeeper: what it can do, how its members are started,
// how they are asked and maintained, and how its protocol looks on a
// connection.
package zookeeper

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Name is what --store and scenario files call ZooKeeper.
const Name = "zookeeper"

// Store is ZooKeeper, as the rest of the program sees it.
type Store struct{}

var _ store.Store = (*Store)(nil)

// New returns ZooKeeper.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Semantics implements store.Store.
func (*Store) Semantics() store.Semantics {
	return store.Semantics{
		Operations: map[kv.Kind]string{
			kv.Put:    "setData, and create when the node is not there (a second request, inside the operation's time)",
			kv.Get:    "getData",
			kv.Range:  "getChildren2 of the key's parent: names without values, the whole list whatever the interval; those in the interval are counted",
			kv.Delete: "delete of any version",
			kv.CAS:    "setData with the version that the node must have; create when there must be none. A node made anew counts its versions from the start again",
			kv.Txn:    "multi of setData, repeated with create for each node that is not there",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData: a follower first catches up with its leader. Sync alone is not a quorum read: no quorum confirms the leader, so a deposed one that does not know it yet can serve an old value; and at the leader sync does nothing, so that a write which a follower has just acknowledged may be missed there",
			kv.Local:        "getData: the contacted member answers from what it has applied, which may be stale",
		},
		ShortOf: map[kv.Consistency]string{
			kv.Linearizable: "sync, then getData, and no quorum read: no quorum confirms the leader, so that one which was deposed and does not know it yet can serve an old value",
		},
		InFlight:   0,
		Ordered:    true,
		Durability: "a write is acknowledged when a majority of the members have it in a transaction log that was synced (fdatasync), unless forceSync is no",
	}
}

// DecodeSettings implements store.Store; the result is a *Settings.
func (*Store) DecodeSettings(decode func(into any) error) (any, error) {
	s := &Settings{}
	if decode == nil {
		return s, nil
	}
	if err := decode(s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// settings takes what a LaunchSpec carries; nil is the defaults.
func settings(v any) (*Settings, error) {
	switch s := v.(type) {
	case nil:
		return &Settings{}, nil
	case *Settings:
		return s, s.check()
	}
	return nil, fmt.Errorf("these are not ZooKeeper's settings but %T", v)
}

// Codecs implements store.Store.
func (*Store) Codecs(a store.Access) store.Codecs { return newCodecs(a, Dialect{}) }

// Codecs are those for a server that speaks the dialect.
func (d Dialect) Codecs(a store.Access) store.Codecs { return newCodecs(a, d) }
