package zetcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Where it is said what zetcd guarantees: nowhere but in that it serves ZooKeeper's
// requests by etcd's transactions.
const (
	readme = "zetcd's README (https://github.com/etcd-io/zetcd): it serves ZooKeeper's clients by \"the operations on an etcd cluster\""
	txns   = "etcd API guarantees (https://etcd.io/docs/v3.6/learning/api_guarantees/), by one transaction of the etcd behind it for each request: "
)

// Promises implements store.Promising. A zxid is etcd's revision less one, of the
// transaction that is the request. Reads are not promised to be linearizable, for
// they are local to the member behind it, as they are to ZooKeeper's members.
func (*Store) Promises() store.Promises {
	return store.Promises{
		Of: map[history.Promise]string{
			history.Order:    txns + "operations \"occur in a total order, consistent with real-time order of those operations\", which the revisions imply",
			history.Snapshot: txns + "an answer's header has the revision of the store at which it was made",
			history.Durable:  txns + "\"Any completed operations are durable\"",
			history.Once:     txns + "\"KV Service operations are atomic\"",
			history.Compare:  readme + ", where an update fails whose version is another than that of the node",
		},
		Own:     kv.Linearizable, // sync reads at etcd's leader, and then what its member has
		Counted: true,
	}
}
