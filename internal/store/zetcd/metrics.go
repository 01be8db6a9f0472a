package zetcd

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcdproxy"
)

var _ store.Metered = (*Store)(nil)

// Metrics implements store.Metered: those of the etcd behind.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	return etcdproxy.Metrics(a, endpoint)
}
