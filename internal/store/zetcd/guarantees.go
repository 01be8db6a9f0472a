package zetcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// txns is the source of the guarantees. zetcd's documentation contains no guarantees, but zetcd
// executes each request as one etcd transaction.
const txns = "etcd API guarantees (https://etcd.io/docs/v3.6/learning/api_guarantees/), which apply to the etcd cluster behind zetcd: "

// Guarantees implements store.Store. A zxid is the revision of the request's etcd transaction minus
// 1. Guarantees does not include linearizable reads, because a read is local to the proxy's etcd
// member, as in ZooKeeper.
//
// Guarantees also omits two other guarantees: that a write is executed only once, and that a failed
// write is not executed. If another write overtakes a transaction, zetcd v0.0.5 retries the
// transaction and returns the error of the first attempt, even if the retry succeeds (wrapErr in
// zketcd.go). The codec then repeats a put, as that error requires.
func (*Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Sources: map[history.Guarantee]string{
			history.RevisionOrder: txns + "operations \"occur in a total order, consistent with real-time order of those operations\"; the revisions show this order",
			history.Snapshot:      txns + "the header of a response contains the revision of the store at which the response was created",
			history.Durable:       txns + "\"Any completed operations are durable\"",
		},
		MemberReadLevel:     kv.Linearizable, // sync is a linearizable read in etcd; the read after it is local
		VersionsCountWrites: true,
		AmbiguousResults:    true,
	}
}
