package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/compare"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/peer"
)

// openRate is the open loop's, in operations a second.
const openRate = 20_000

// valueSize is that of all values, in bytes.
const valueSize = 256

// The key spaces, of keys of 8 bytes: one key to read, and many to write.
func readSpace() peer.Space { return peer.Space{Prefix: "r", Digits: 7, Keys: 1} }
func putSpace() peer.Space  { return peer.Space{Prefix: "w", Digits: 7, Keys: 10_000} }

// cases are what is measured, in this order. Those of one store stand together.
func cases() []peer.Case {
	return append(etcdCases(),
		closed(zookeeper.Name, compare.CaseZooKeeperGet, "ZooKeeper local read, 100 x 10", kv.Get, kv.Local, 100, 1000),
		closed(zookeeper.Name, compare.CaseZooKeeperPut, "ZooKeeper write, 100 x 10", kv.Put, kv.None, 100, 1000),
		closed(consul.Name, compare.CaseConsulGet, "Consul local read, 100 x 1", kv.Get, kv.Local, 100, 100),
		closed(etcdv2.Name, compare.CaseEtcdV2Get, "etcd v2 local read, 100 x 1", kv.Get, kv.Local, 100, 100),
	)
}

func etcdCases() []peer.Case {
	get := func(name, title string, level kv.Consistency, connections, clients int) peer.Case {
		return closed(etcd.Name, name, title, kv.Get, level, connections, clients)
	}
	many := get(compare.CaseMany, "local range, 1,000 x 10", kv.Local, 1000, 10_000)
	many.Once = true
	open := get(compare.CaseOpen, "open loop, 20,000/s, null server", kv.Local, 100, 1000)
	open.Rate, open.Null = openRate, true
	return []peer.Case{
		get(compare.CaseLocal, "local range, 100 x 10", kv.Local, 100, 1000),
		get(compare.CaseLinearizable, "linearizable range, 100 x 10", kv.Linearizable, 100, 1000),
		closed(etcd.Name, compare.CasePut, "put, 100 x 10", kv.Put, kv.None, 100, 1000),
		get(compare.CaseOne, "local range, 1 x 1", kv.Local, 1, 1),
		many,
		open,
	}
}

// closed is a closed loop of one kind of operation.
func closed(store, name, title string, kind kv.Kind, level kv.Consistency, connections, clients int) peer.Case {
	return peer.Case{
		Store: store, Name: name, Title: title, Kind: kind, Consistency: level,
		Connections: connections, Clients: clients,
	}
}

// soakCases are those of --soak, with their windows.
func soakCases() ([]peer.Case, map[string]time.Duration) {
	base := cases()[0]
	short, long := base, base
	short.Name, short.Title, short.Once = compare.CaseSoakShort, "local range, 100 x 10, one minute", true
	long.Name, long.Title, long.Once = compare.CaseSoakLong, "local range, 100 x 10, ten minutes", true
	return []peer.Case{short, long}, map[string]time.Duration{short.Name: time.Minute, long.Name: 10 * time.Minute}
}

// choices are what --only takes: cases, and stores for all their cases.
func choices() []string {
	var names []string
	for _, c := range cases() {
		names = append(names, c.Name)
	}
	return append(names, storesOf(cases())...)
}

// storesOf lists the cases' stores in the order of the cases.
func storesOf(cases []peer.Case) []string {
	var names []string
	for _, c := range cases {
		if !slices.Contains(names, c.Store) {
			names = append(names, c.Store)
		}
	}
	return names
}

// casesOf are those of one store.
func casesOf(all []peer.Case, store string) []peer.Case {
	return slices.DeleteFunc(slices.Clone(all), func(c peer.Case) bool { return c.Store != store })
}

func checkNames(only []string) error {
	for _, name := range only {
		if !slices.Contains(choices(), name) {
			return fmt.Errorf("--only: there is no case or store %q; choose from %s", name, strings.Join(choices(), ", "))
		}
	}
	return nil
}

// chosen are the cases to be measured, and windows that differ from --seconds.
func (o options) chosen() ([]peer.Case, map[string]time.Duration) {
	if o.soak {
		return soakCases()
	}
	all := cases()
	if len(o.only) > 0 {
		all = slices.DeleteFunc(all, func(c peer.Case) bool {
			return !slices.Contains(o.only, c.Name) && !slices.Contains(o.only, c.Store)
		})
	}
	return all, nil
}
