package cetcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The sources of the guarantees. cetcd itself documents only that it serves Consul's requests with
// transactions in etcd.
const (
	readme = "cetcd's README (https://github.com/etcd-io/cetcd): cetcd serves Consul's requests from etcd"
	txns   = "etcd API guarantees (https://etcd.io/docs/v3.6/learning/api_guarantees/), which apply because cetcd executes each request as one etcd transaction: "
)

// Guarantees implements store.Store. A ModifyIndex is an etcd revision. The response to a write
// contains no ModifyIndex, and the response "false" may also mean an etcd error.
func (*Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Sources: map[history.Guarantee]string{
			history.RevisionOrder: txns + "operations \"occur in a total order, consistent with real-time order of those operations\", and the revisions show this order",
			history.Linearizable:  txns + "\"strict serializability for all KV api calls\", except for reads that request a weaker consistency",
			history.Snapshot:      readme + "; a ModifyIndex is the etcd revision of the key's latest change",
			history.Durable:       txns + "\"Any completed operations are durable\"",
			history.AtMostOnce:    txns + "\"KV Service operations are atomic\"",
			history.CompareAndSet: readme + "; a write with cas is executed only if the given index is the key's ModifyIndex",
		},
		MemberReadLevel:  kv.Linearizable, // a quorum read, then a read of the member's own state
		AmbiguousResults: true,
		NoWriteRevisions: true,
	}
}
