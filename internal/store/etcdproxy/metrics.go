package etcdproxy

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Metrics is where the figures of the etcd behind a proxy are, for a store's
// store.Metered: the proxies report none of their own. None where it is not known
// what is behind.
func Metrics(a store.Access, endpoint string) []store.MetricSource {
	server := a.Behind[endpoint]
	if server == "" {
		return nil
	}
	return etcd.New().Metrics(store.Access{}, server)
}
