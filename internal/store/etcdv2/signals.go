package etcdv2

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

var _ store.Signalling = (*Store)(nil)

// Signal implements store.Signalling: etcd 3.5 writes the log that etcd 3.7 writes,
// but for a few words that both are looked for.
func (*Store) Signal(line []byte) (store.Signal, bool) { return etcd.New().Signal(line) }
