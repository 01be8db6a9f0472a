package storetest

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// This file contains constructors for the operations that Conform and the stores' own tests submit.

// UnknownVersion is the version for a CAS that must read the version first.
const UnknownVersion = -1

// Put returns an operation that writes one key.
func Put(key string, value []byte) store.Op {
	return store.Op{Kind: kv.Put, Key: []byte(key), Value: value}
}

// Get returns an operation that reads one key.
func Get(key string, level kv.Consistency) store.Op {
	return store.Op{Kind: kv.Get, Key: []byte(key), Consistency: level}
}

// Exists returns an operation that checks whether a key exists.
func Exists(key string, level kv.Consistency) store.Op {
	return store.Op{Kind: kv.Exists, Key: []byte(key), Consistency: level}
}

// Delete returns an operation that deletes one key.
func Delete(key string) store.Op { return store.Op{Kind: kv.Delete, Key: []byte(key)} }

// CAS returns an operation that writes a key only if it has the given version: 0 for a missing key,
// or UnknownVersion.
func CAS(key string, value []byte, version int64) store.Op {
	return store.Op{Kind: kv.CAS, Key: []byte(key), Value: value, Revision: version}
}

// Range returns an operation that reads the keys in the interval [key, end), or only key if end is
// empty. The parameter `options` contains the other settings; Range sets its field End.
func Range(kind kv.Kind, key, end string, level kv.Consistency, options store.RangeOp) store.Op {
	if end != "" {
		options.End = []byte(end)
	}
	return store.Op{Kind: kind, Key: []byte(key), Consistency: level, Range: &options}
}

// Txn returns an operation that writes either all pairs or none.
func Txn(pairs ...store.Pair) store.Op { return store.Op{Kind: kv.Txn, Pairs: pairs} }

// STM returns an operation that reads the pairs' keys and writes their values.
func STM(isolation kv.Isolation, pairs ...store.Pair) store.Op {
	return store.Op{Kind: kv.STM, STM: &store.STMOp{Isolation: isolation, Pairs: pairs}}
}

// Ephemeral returns an operation that creates a key bound to the client's session.
func Ephemeral(key string, value []byte) store.Op {
	return store.Op{Kind: kv.Ephemeral, Key: []byte(key), Value: value}
}

// KeepAlive returns an operation that renews a lease.
func KeepAlive(lease int64) store.Op { return store.Op{Kind: kv.KeepAlive, Lease: lease} }

// Watch returns an operation that creates a watcher for a key. If withPrevious is true, the
// watcher's events contain the previous values.
func Watch(watcher, stream uint32, key string, withPrevious bool) store.Op {
	return store.Op{Kind: kv.Watch, Key: []byte(key), Watch: &store.WatchOp{Watcher: watcher, Stream: stream, PrevKV: withPrevious}}
}
