package cetcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Where it is said what cetcd guarantees: nowhere but in that it serves Consul's
// requests by etcd's transactions.
const (
	readme = "cetcd's README (https://github.com/etcd-io/cetcd): it serves Consul's requests from etcd"
	txns   = "etcd API guarantees (https://etcd.io/docs/v3.6/learning/api_guarantees/), by one transaction of the etcd behind it for each request: "
)

// Promises implements store.Store. A ModifyIndex is etcd's revision; the answer
// to a write has none, and one that says false may stand for an error of etcd's.
func (*Store) Promises() store.Promises {
	return store.Promises{
		Of: map[history.Promise]string{
			history.Order:        txns + "operations \"occur in a total order, consistent with real-time order of those operations\", which the revisions imply",
			history.Linearizable: txns + "\"strict serializability for all KV api calls\", but for reads that ask for less",
			history.Snapshot:     readme + ", whose ModifyIndex is the revision of the key's last change",
			history.Durable:      txns + "\"Any completed operations are durable\"",
			history.Once:         txns + "\"KV Service operations are atomic\"",
			history.Compare:      readme + ", where a write with cas is done if the index is the key's ModifyIndex",
		},
		Own:    kv.Linearizable, // a quorum is asked, and then the member behind it answers
		Unsure: true,
		Untold: true,
	}
}
