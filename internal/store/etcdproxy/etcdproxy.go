// Package etcdproxy is what the stores share that are proxies in front of etcd:
// each member is an etcd member of a cluster, and before it a proxy that is given
// this one alone. So a member has its etcd member's role, and one that is
// killed is killed as a whole.
package etcdproxy

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Store is all of a store.Store that is about the etcd behind a proxy, for the
// proxy's Store to embed.
type Store struct{}

// DecodeSettings implements store.Store: a member's settings are those of the
// etcd behind it, for the proxies have none.
func (Store) DecodeSettings(decode func(into any) error) (any, error) {
	return etcd.New().DecodeSettings(decode)
}

// Metrics implements store.Store: the proxies report no figures of their own.
// None where it is not known what is behind.
func (Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	server := a.Behind[endpoint]
	if server == "" {
		return nil
	}
	return etcd.New().Metrics(store.Access{}, server)
}

// Signal implements store.Store: what happens, happens in the etcd behind the
// proxy, whose own log reports nothing of the kind.
func (Store) Signal(line []byte) (store.Signal, bool) {
	s, ok := etcd.New().Signal(line)
	if s.Kind == store.Serving { // not the proxy yet
		return store.Signal{}, false
	}
	return s, ok
}

// Capabilities adds to what the named store's proxies can do by themselves what
// they have by the etcd behind them, and what they lack. roleQuery says how a
// proxy is asked whether it serves.
func Capabilities(name, roleQuery string, own kv.Capabilities) kv.Capabilities {
	own.Features = map[kv.Feature]string{
		kv.RoleQuery:  roleQuery + ", and Maintenance.Status of the etcd behind it",
		kv.Metrics:    "those of the etcd behind, where it is known",
		kv.LogSignals: "the log of the etcd behind",
	}
	own.NoFeatures = map[kv.Feature]string{kv.TLS: noTLS(name), kv.Users: noUsers(name)}
	own.NonVoters = kv.NonVoters{Name: "proxy of a learner"} // which grants no lease, and so no session
	own.Durability = "that of the etcd behind it: a write is acknowledged when a majority of the members have it in a write-ahead log that was synced (fdatasync), unless unsafe-no-fsync is set"
	own.Disk = etcd.New().Capabilities().Disk
	return own
}

func noTLS(name string) string {
	return name + " does not serve TLS; leave out the certificates and https://"
}

func noUsers(name string) string { return name + " knows no users; leave out the user" }

// proxyPort is the index of the proxy's port in a MemberPlace; etcd has those
// before it.
const proxyPort = 2

// Launch is an embedded etcd cluster with a proxy of the named store, the binary
// at path, before each member. args are those with which it listens at the
// address, HOST:PORT, for the etcd with the given URL.
func Launch(name, path string, spec store.LaunchSpec, args func(address, etcdURL string) []string) (store.Launch, error) {
	spec.Exec = ""
	l, err := etcd.New().Launch(spec)
	if err != nil {
		return l, err
	}
	for i, place := range spec.Members {
		server, proxy := l.Processes[i], store.ProcessAt(place, path)
		server.Name += "-etcd"
		server.LogFile = filepath.Join(server.Dir, server.Name+".log")
		proxy.Endpoint = place.Address(proxyPort)
		proxy.Args = args(proxy.Endpoint, "http://"+server.Endpoint)
		proxy.Behind = []store.Process{server}
		l.Processes[i] = proxy
	}
	l.Notes = slices.Insert(l.Notes, 0,
		fmt.Sprintf("each member is a %s in front of an etcd member of its own, and counts as one with it: its role is etcd's", name))
	return l, nil
}
