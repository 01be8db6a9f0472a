// Package etcdproxy contains what stores that are proxies for etcd have in common. Each member
// of such a store consists of an etcd member and a proxy that uses only this etcd member. So
// the member has the role of its etcd member, and both processes are killed together.
package etcdproxy

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// Store implements the methods of store.Store that apply to the etcd behind the proxies. The
// Store of a proxy embeds it.
type Store struct{}

// DecodeSettings implements store.Store. The settings are those of etcd, because the proxies
// have no settings. It refuses the settings for TLS, because the proxies cannot use it.
func (Store) DecodeSettings(decode func(into any) error) (any, error) {
	if decode == nil {
		return etcd.New().DecodeSettings(nil)
	}
	return etcd.New().DecodeSettings(func(into any) error {
		if err := decode(into); err != nil {
			return err
		}
		if s := into.(*etcd.Settings); s.TLS || s.PeerTLS {
			return errTLS
		}
		return nil
	})
}

var errTLS = errors.New("tls and peer-tls are not possible behind a proxy, because the proxy connects to its etcd member without TLS; remove them from the settings")

// Metrics implements store.Store. It returns the metrics of the proxy's etcd member if that
// member is known, because the proxies report no metrics.
func (Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	server := a.Backends[endpoint]
	if server == "" {
		return nil
	}
	return etcd.New().Metrics(store.Access{}, server)
}

// Signal implements store.Store. It recognizes the messages in etcd's log. The logs of the
// proxies contain no events.
func (Store) Signal(line []byte) (store.Signal, bool) {
	s, ok := etcd.New().Signal(line)
	if s.Kind == store.Serving { // etcd serves requests, but the proxy may not serve yet
		return store.Signal{}, false
	}
	return s, ok
}

// Capabilities completes the parameter `capabilities`, which contains the capabilities of the named
// store. It adds the features that the etcd members behind the proxies provide, and explains which
// features are missing. The parameter `roleQuery` describes the request that checks whether a proxy
// serves requests.
func Capabilities(name, roleQuery string, capabilities kv.Capabilities) kv.Capabilities {
	capabilities.Features = map[kv.Feature]string{
		kv.RoleQuery:  roleQuery + ", and a Maintenance.Status request to the proxy's etcd member",
		kv.Metrics:    "the metrics of the proxy's etcd member, if that member's address is known",
		kv.LogSignals: "the log of the proxy's etcd member",
	}
	capabilities.NoFeatures = map[kv.Feature]string{kv.TLS: noTLS(name), kv.Users: noUsers(name)}
	capabilities.NonVoters = kv.NonVoters{Name: "proxy of a learner"} // a learner grants no leases, so its proxy grants no sessions
	capabilities.Durability = "a write is acknowledged once a majority of the etcd members have synced it to their write-ahead logs (fdatasync), unless unsafe-no-fsync is set"
	capabilities.Disk = etcd.New().Capabilities().Disk
	return capabilities
}

func noTLS(name string) string {
	return name + " does not support TLS; omit the certificates and https://"
}

func noUsers(name string) string { return name + " has no users; omit the user" }

// proxyPort is the index of the proxy's port in a MemberPlace. etcd uses the ports before it.
const proxyPort = 2

// Launch returns the processes of an embedded etcd cluster with a proxy in front of each member.
// The parameter `name` is the store's name, and `path` is the path of the proxy's binary. `args`
// returns the arguments for a proxy that listens at an address (HOST:PORT) and uses the etcd
// member with a given URL.
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
		proxy.Backends = []store.Process{server}
		l.Processes[i] = proxy
	}
	l.Notes = slices.Insert(l.Notes, 0,
		fmt.Sprintf("each member consists of a %s process and an etcd server; the member's role is the role of its etcd server", name))
	return l, nil
}
