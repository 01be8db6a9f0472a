package storetest

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Constructors of the operations that Conform and the stores' own tests submit.

// Unknown is the version of a CAS that must read the version first.
const Unknown = -1

// Put is a put of one key.
func Put(key string, value []byte) store.Op {
	return store.Op{Kind: kv.Put, Key: []byte(key), Value: value}
}

// Get is a read of one key.
func Get(key string, level kv.Consistency) store.Op {
	return store.Op{Kind: kv.Get, Key: []byte(key), Consistency: level}
}

// Exists checks whether one key exists.
func Exists(key string, level kv.Consistency) store.Op {
	return store.Op{Kind: kv.Exists, Key: []byte(key), Consistency: level}
}

// Delete removes one key.
func Delete(key string) store.Op { return store.Op{Kind: kv.Delete, Key: []byte(key)} }

// CAS writes a key if it has the version: 0 for a missing key, or Unknown.
func CAS(key string, value []byte, version int64) store.Op {
	return store.Op{Kind: kv.CAS, Key: []byte(key), Value: value, Revision: version}
}

// Range reads the keys in [key, end), or only key if end is empty, with the settings of. It
// sets of.End.
func Range(kind kv.Kind, key, end string, level kv.Consistency, of store.RangeOp) store.Op {
	if end != "" {
		of.End = []byte(end)
	}
	return store.Op{Kind: kind, Key: []byte(key), Consistency: level, Range: &of}
}

// Txn writes pairs, all or none.
func Txn(pairs ...store.Pair) store.Op { return store.Op{Kind: kv.Txn, Pairs: pairs} }

// STM reads the pairs' keys and writes their values.
func STM(isolation kv.Isolation, pairs ...store.Pair) store.Op {
	return store.Op{Kind: kv.STM, STM: &store.STMOp{Isolation: isolation, Pairs: pairs}}
}

// Ephemeral creates a key that ends with its session.
func Ephemeral(key string, value []byte) store.Op {
	return store.Op{Kind: kv.Ephemeral, Key: []byte(key), Value: value}
}

// KeepAlive renews a lease.
func KeepAlive(lease int64) store.Op { return store.Op{Kind: kv.KeepAlive, Lease: lease} }

// Watch creates a watcher of a key, with previous values in its events if before is set.
func Watch(watcher, stream uint32, key string, before bool) store.Op {
	return store.Op{Kind: kv.Watch, Key: []byte(key), Watch: &store.WatchOp{Watcher: watcher, Stream: stream, PrevKV: before}}
}
