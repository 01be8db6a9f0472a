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
)

// openRate is the open loop's rate in operations per second.
const openRate = 20_000

// valueSize is the size of each value in bytes.
const valueSize = 256

// The key spaces: one key to read, and many keys to write. Each key has 8 bytes.
func readSpace() Space { return Space{Prefix: "r", Digits: 7, Keys: 1} }
func putSpace() Space  { return Space{Prefix: "w", Digits: 7, Keys: 10_000} }

// cases lists the cases in the order in which they are measured. All cases of one store are
// adjacent.
func cases() []Case {
	return append(etcdCases(),
		closedLoopCase(zookeeper.Name, CaseZooKeeperGet, "ZooKeeper local read, 100 x 10", kv.Get, kv.Local, 100, 1000),
		closedLoopCase(zookeeper.Name, CaseZooKeeperPut, "ZooKeeper write, 100 x 10", kv.Put, kv.NoConsistency, 100, 1000),
		closedLoopCase(consul.Name, CaseConsulGet, "Consul local read, 100 x 1", kv.Get, kv.Local, 100, 100),
		closedLoopCase(etcdv2.Name, CaseEtcdV2Get, "etcd v2 local read, 100 x 1", kv.Get, kv.Local, 100, 100),
	)
}

func etcdCases() []Case {
	get := func(name, title string, level kv.Consistency, connections, clients int) Case {
		return closedLoopCase(etcd.Name, name, title, kv.Get, level, connections, clients)
	}
	many := get(CaseManyConnections, "local range, 1,000 x 10", kv.Local, 1000, 10_000)
	many.FirstRoundOnly = true
	open := get(CaseOpen, "open loop, 20,000/s, null server", kv.Local, 100, 1000)
	open.Rate, open.NullServer = openRate, true
	return []Case{
		get(CaseLocal, "local range, 100 x 10", kv.Local, 100, 1000),
		get(CaseLinearizable, "linearizable range, 100 x 10", kv.Linearizable, 100, 1000),
		closedLoopCase(etcd.Name, CasePut, "put, 100 x 10", kv.Put, kv.NoConsistency, 100, 1000),
		get(CaseSingleClient, "local range, 1 x 1", kv.Local, 1, 1),
		many,
		open,
		watchCase(),
		nullCheck(CaseCheckL, "l", RateL, 500),
		nullCheck(CaseCheckXL, "xl", RateXL, 1000),
		tmpfsCheck(),
	}
}

// watchCase returns a case with 10,000 watchers of one key on one connection. Each put causes 100
// events on each stream. A member can queue 128 events per stream. So no watcher falls behind, and
// the member need not read events from the history.
func watchCase() Case {
	return Case{
		Store: etcd.Name, Name: CaseWatch, Title: "watch events, 10,000 watchers, 3 puts/s",
		Kind: kv.Watch, Connections: 1, Clients: 10_000, Streams: 100, Rate: 3,
	}
}

// groupCheck is the value of --only that selects all checks.
const groupCheck = "check"

// nullCheck returns a `check perf` case on a null server, on which every write takes 2 ms.
func nullCheck(name, load string, rate float64, clients int) Case {
	return Case{
		Store: etcd.Name, Group: groupCheck, Name: name, Load: load,
		Title: fmt.Sprintf("check perf --load %s, null server, 2 ms", load),
		Kind:  kv.Put, Connections: clients, Clients: clients, Rate: rate,
		NullServer: true, Script: "delay=2ms", Rounds: 3, Duration: 10 * time.Second,
	}
}

// tmpfsCheck returns a `check perf` case on a member with its data on a tmpfs, so that the disk is
// not the limit.
func tmpfsCheck() Case {
	return Case{
		Store: etcd.Name, Group: groupCheck, Name: CaseCheckTmpfs, Load: "l",
		Title: "check perf --load l, one member on tmpfs",
		Kind:  kv.Put, Connections: 500, Clients: 500, Rate: RateL,
		Tmpfs: true, Duration: time.Minute,
	}
}

// closedLoopCase returns a case with a closed loop of one kind of operation.
func closedLoopCase(store, name, title string, kind kv.Kind, level kv.Consistency, connections, clients int) Case {
	return Case{
		Store: store, Name: name, Title: title, Kind: kind, Consistency: level,
		Connections: connections, Clients: clients,
	}
}

// soakCases returns the cases that --soak runs.
func soakCases() []Case {
	short, long := cases()[0], cases()[0]
	short.Name, short.Title, short.Duration = CaseSoakShort, "local range, 100 x 10, one minute", time.Minute
	long.Name, long.Title, long.Duration = CaseSoakLong, "local range, 100 x 10, ten minutes", 10*time.Minute
	return []Case{short, long}
}

// choices returns the valid values of --only: the names of cases, groups and stores. The name of a
// group or store selects all its cases.
func choices() []string {
	var names, more []string
	for _, c := range cases() {
		names = append(names, c.Name)
		for _, name := range []string{c.Group, c.Store} {
			if name != "" && !slices.Contains(more, name) {
				more = append(more, name)
			}
		}
	}
	return append(names, more...)
}

// testbedKey identifies the cases that share a testbed: either the cases of one store on its
// cluster and its null servers, or the cases on a member on a tmpfs.
type testbedKey struct {
	store string
	tmpfs bool
}

func testbedKeyOf(c Case) testbedKey { return testbedKey{c.Store, c.Tmpfs} }

// testbedKeys lists the testbed keys of the cases, in the order of the cases.
func testbedKeys(cases []Case) []testbedKey {
	var all []testbedKey
	for _, c := range cases {
		if g := testbedKeyOf(c); !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// casesForTestbed returns the cases of one testbed.
func casesForTestbed(all []Case, g testbedKey) []Case {
	return slices.DeleteFunc(slices.Clone(all), func(c Case) bool { return testbedKeyOf(c) != g })
}

func checkNames(only []string) error {
	for _, name := range only {
		if !slices.Contains(choices(), name) {
			return fmt.Errorf("--only: there is no case, group or store %q; choose from %s", name, strings.Join(choices(), ", "))
		}
	}
	return nil
}

// selectedCases returns the cases that --only selects.
func (o options) selectedCases() []Case {
	if o.soak {
		return soakCases()
	}
	all := cases()
	if len(o.only) > 0 {
		all = slices.DeleteFunc(all, func(c Case) bool {
			return !slices.ContainsFunc([]string{c.Name, c.Group, c.Store}, func(name string) bool { return slices.Contains(o.only, name) })
		})
	}
	return all
}
