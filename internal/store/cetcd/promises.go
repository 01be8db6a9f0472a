package cetcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The sources of the guarantees. cetcd itself documents only that it serves Consul's requests with
// transactions in etcd.
const (
	readme = "cetcd's README (https://github.com/etcd-io/cetcd): it serves Consul's requests from etcd"
	txns   = "etcd API guarantees (https://etcd.io/docs/v3.6/learning/api_guarantees/), by one transaction of the etcd behind it for each request: "
)

// Promises implements store.Store. A ModifyIndex is an etcd revision. The response to a write
// contains no ModifyIndex, and the response false may hide an etcd error.
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
		Own:              kv.Linearizable, // a local read after a quorum read
		Unsure:           true,
		NoWriteRevisions: true,
	}
}
