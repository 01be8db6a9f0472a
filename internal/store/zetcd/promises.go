package zetcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Where it is said what zetcd guarantees: nowhere, but its requests are transactions
// of the etcd behind it.
const txns = "etcd API guarantees (https://etcd.io/docs/v3.6/learning/api_guarantees/), by the etcd behind it: "

// Promises implements store.Store. A zxid is etcd's revision less one, of the
// transaction that is the request. Reads are not promised to be linearizable, for
// they are local to the member behind it, as they are to ZooKeeper's members.
//
// That a write is done once, and not where it is refused, is not promised either: a
// transaction that another write overtook is tried again, and v0.0.5 then answers
// with the error of the first try though the second was done (wrapErr in zketcd.go).
// Such a put is sent once more, as the error asks for.
func (*Store) Promises() store.Promises {
	return store.Promises{
		Of: map[history.Promise]string{
			history.Order:    txns + "operations \"occur in a total order, consistent with real-time order of those operations\", which the revisions imply",
			history.Snapshot: txns + "an answer's header has the revision of the store at which it was made",
			history.Durable:  txns + "\"Any completed operations are durable\"",
		},
		Own:     kv.Linearizable, // sync reads at etcd's leader, and then what its member has
		Counted: true,
		Unsure:  true,
	}
}
