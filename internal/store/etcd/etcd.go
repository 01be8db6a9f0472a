// Package etcd is etcd with its v3 gRPC API: what it can do, how its members
// are started, how they are asked and maintained, and how its protocol looks on
// a connection.
package etcd

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Name is what --store and scenario files call etcd.
const Name = "etcd"

// Store is etcd, as the rest of the program sees it.
type Store struct{}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Embedded = (*Store)(nil)
)

// New returns etcd.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Semantics implements store.Store.
func (*Store) Semantics() store.Semantics {
	return store.Semantics{
		Operations: map[kv.Kind]string{
			kv.Put:    "KV.Put",
			kv.Get:    "KV.Range of one key",
			kv.Range:  "KV.Range of an interval",
			kv.Delete: "KV.DeleteRange of one key",
			kv.CAS:    "KV.Txn that compares the key's mod_revision",
			kv.Txn:    "KV.Txn of several puts",

			kv.TxnGet:    "KV.Txn of one range",
			kv.STM:       "KV.Range of each key, then KV.Txn that compares and puts, again until it holds, as package concurrency of etcd's client does",
			kv.KeepAlive: "Lease.LeaseKeepAlive, one stream for each lease",
			kv.Watch:     "Watch.Watch, many watchers on a stream",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "ReadIndex: a quorum confirms the leader, then the contacted member answers from its applied state",
			kv.Local:        "serializable: the contacted member answers from its applied state, which may be stale",
		},
		RangeForms: true,
		Ascending:  true,
		InFlight:   0,
		ALPN:       []string{"h2"},
		Durability: "a write is acknowledged when a majority of the members have it in a write-ahead log that was synced (fdatasync), unless unsafe-no-fsync is set",
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
	return nil, fmt.Errorf("these are not etcd's settings but %T", v)
}

// Codecs implements store.Store.
func (*Store) Codecs(a store.Access) store.Codecs { return newCodecs(a) }

// BuiltInVersion implements store.BuiltIn.
func (*Store) BuiltInVersion() string { return version.Version }
