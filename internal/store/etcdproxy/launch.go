// Package etcdproxy is what the stores share that are proxies in front of etcd:
// each member is an etcd member of a cluster, and before it a proxy that is given
// this one alone. So a member has its etcd member's role, and one that is
// killed is killed as a whole.
package etcdproxy

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// proxyPort is the index of the proxy's port in a MemberPlace; etcd has those
// before it.
const proxyPort = 2

// Front says how one proxy is started: at the address, HOST:PORT, for the etcd
// with the given URL.
type Front func(address, etcdURL string) (path string, args []string)

// Launch is an embedded etcd cluster with a proxy of the named store before each
// member. The spec's settings are etcd's; its Exec is the caller's affair.
func Launch(name string, spec store.LaunchSpec, front Front) (store.Launch, error) {
	for _, m := range spec.Members {
		if len(m.Ports) <= proxyPort {
			return store.Launch{}, fmt.Errorf("%s member %s needs three ports, for its clients, for etcd's clients and for etcd's peers", name, m.Name)
		}
	}
	behind := spec
	behind.Exec = ""
	l, err := etcd.New().Launch(behind)
	if err != nil {
		return l, err
	}
	for i, place := range spec.Members {
		l.Processes[i] = member(place, l.Processes[i], front)
	}
	l.Notes = append([]string{
		fmt.Sprintf("each member is a %s in front of an etcd member of its own, and counts as one with it: its role is etcd's", name),
	}, l.Notes...)
	return l, nil
}

// member puts a proxy before an etcd process.
func member(place store.MemberPlace, server store.Process, front Front) store.Process {
	server.Name = place.Name + "-etcd"
	server.LogFile = filepath.Join(place.Dir, server.Name+".log")
	address := net.JoinHostPort(place.Host, strconv.Itoa(place.Ports[proxyPort]))
	path, args := front(address, "http://"+server.Endpoint)
	return store.Process{
		Name: place.Name, Endpoint: address, Path: path, Args: args,
		Dir: place.Dir, DataDir: server.DataDir, LogFile: filepath.Join(place.Dir, place.Name+".log"),
		Behind: []store.Process{server},
	}
}
