package etcdproxy

import (
	"maps"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Features are those that every proxy has by the etcd behind it, and its own.
func Features(own map[kv.Feature]string) map[kv.Feature]string {
	out := map[kv.Feature]string{
		kv.Metrics:    "those of the etcd behind, where it is known",
		kv.LogSignals: "the log of the etcd behind",
	}
	maps.Copy(out, own)
	return out
}

// NoFeatures says what the named store's proxies lack.
func NoFeatures(name string) map[kv.Feature]string {
	return map[kv.Feature]string{
		kv.TLS:   name + " does not serve TLS; leave out the certificates and https://",
		kv.Users: name + " knows no users; leave out the user",
	}
}
