package etcdv2

import (
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

var (
	_ store.Metered    = (*Store)(nil)
	_ store.DiskJudge  = (*Store)(nil)
	_ store.KeyRemover = (*Store)(nil)
)

// Metrics implements store.Metered: the server is etcd's own.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	return etcd.New().Metrics(a, endpoint)
}

// DiskRule implements store.DiskJudge: the log is etcd's own.
func (*Store) DiskRule() store.DiskRule { return etcd.New().DiskRule() }

// RemoveCommand implements store.KeyRemover.
func (*Store) RemoveCommand(prefix string) string {
	return "etcdctl rm --recursive " + strings.TrimSuffix(prefix, "/")
}
