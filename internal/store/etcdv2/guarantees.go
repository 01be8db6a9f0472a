package etcdv2

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Parts of etcd's documentation that state the guarantees of the v2 API.
const (
	v2     = "etcd API v2 (https://etcd.io/docs/v2.3/api/): "
	codes  = "etcd errors v2 (https://etcd.io/docs/v2.3/errorcode/): "
	design = "etcd's README of 2.3 (https://github.com/etcd-io/etcd/tree/release-2.3): "
)

// Guarantees implements store.Store. Reads without quorum may be stale, and a client may read
// older data after it has switched to another member.
func (*Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Sources: map[history.Guarantee]string{
			history.RevisionOrder: v2 + "an index is \"a unique, monotonically-incrementing integer created for each change to etcd\"",
			history.Linearizable:  v2 + "\"If you want a read that is fully linearized you can use a quorum=true GET\"",
			history.Snapshot:      v2 + "X-Etcd-Index is \"the current etcd index\", and modifiedIndex is the index of the key's last change",
			history.Durable:       design + "etcd is \"properly distributed using Raft\", and Raft commits an entry once a majority of the members have it",
			history.AtMostOnce:    v2 + "each change has its own index",
			history.CompareAndSet: v2 + "an atomic Compare-and-Swap \"will set the value of a key only if the client-provided conditions are equal to the current conditions\"; " + codes + "error 101 (\"Compare failed\") if they are not equal",
		},
		MemberReadLevel:  kv.Linearizable, // the contacted member responds after it has applied the read
		ConflictVersions: true,
	}
}
