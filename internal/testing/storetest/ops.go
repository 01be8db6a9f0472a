package storetest

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The operations that Conform and the stores' own tests submit are made here and
// nowhere else.

// Unknown is the version of a CAS that is to read it first.
const Unknown = -1

// Put is a put of one key.
func Put(key string, value []byte) store.Op {
	return store.Op{Kind: kv.Put, Key: []byte(key), Value: value}
}

// Get is a read of one key.
func Get(key string, level kv.Consistency) store.Op {
	return store.Op{Kind: kv.Get, Key: []byte(key), Consistency: level}
}

// Exists asks whether one key is there.
func Exists(key string, level kv.Consistency) store.Op {
	return store.Op{Kind: kv.Exists, Key: []byte(key), Consistency: level}
}

// Delete removes one key.
func Delete(key string) store.Op { return store.Op{Kind: kv.Delete, Key: []byte(key)} }

// CAS writes a key that has the version: 0 for none at all, or Unknown.
func CAS(key string, value []byte, version int64) store.Op {
	return store.Op{Kind: kv.CAS, Key: []byte(key), Value: value, Revision: version}
}

// Range reads the keys from key to before end, or key alone where end is empty, as of says.
// Its End is set.
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

// Ephemeral makes a key that ends with its session.
func Ephemeral(key string, value []byte) store.Op {
	return store.Op{Kind: kv.Ephemeral, Key: []byte(key), Value: value}
}

// KeepAlive prolongs a lease.
func KeepAlive(lease int64) store.Op { return store.Op{Kind: kv.KeepAlive, Lease: lease} }

// Watch begins to watch a key, perhaps with what was there before each event.
func Watch(watcher, stream uint32, key string, before bool) store.Op {
	return store.Op{Kind: kv.Watch, Key: []byte(key), Watch: &store.WatchOp{Watcher: watcher, Stream: stream, PrevKV: before}}
}
