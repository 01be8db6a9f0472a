package zetcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// txns is the source of the guarantees: zetcd documents none, but each request is
// one etcd transaction.
const txns = "etcd API guarantees (https://etcd.io/docs/v3.6/learning/api_guarantees/), by the etcd behind it: "

// Promises implements store.Store. A zxid is the revision of the request's etcd
// transaction minus 1. Reads are not promised to be linearizable, because they
// are local to the etcd member of the proxy, as in ZooKeeper.
//
// Neither is it promised that a write is executed once, or not executed if it
// fails: zetcd v0.0.5 retries a transaction that another write overtook, and
// returns the error of the first try even if the retry succeeded (wrapErr in
// zketcd.go). The codec repeats such a put, as that error requires.
func (*Store) Promises() store.Promises {
	return store.Promises{
		Of: map[history.Promise]string{
			history.Order:    txns + "operations \"occur in a total order, consistent with real-time order of those operations\", which the revisions imply",
			history.Snapshot: txns + "an answer's header has the revision of the store at which it was made",
			history.Durable:  txns + "\"Any completed operations are durable\"",
		},
		Own:     kv.Linearizable, // sync reads at etcd's leader, then the read returns its member's state
		Counted: true,
		Unsure:  true,
	}
}
