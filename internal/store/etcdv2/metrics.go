package etcdv2

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

var _ store.Metered = (*Store)(nil)

// Metrics implements store.Metered: the server is etcd's own.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	return etcd.New().Metrics(a, endpoint)
}
