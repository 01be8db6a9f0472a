package main

import (
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

func local() Work {
	return Work{
		Case:     Case{Name: "local", Store: etcd.Name, Kind: kv.Get, Consistency: kv.Local, Connections: 100, Clients: 1000},
		Endpoint: "127.0.0.1:2379", Key: "r0000000", ValueSize: 256,
		ReadSpace: Space{"r", 7, 1}, PutSpace: Space{"w", 7, 10_000}, Warmup: time.Second, Window: 3 * time.Second,
	}
}

// Each peer must receive the same work, expressed in the peer's own arguments.
func TestArguments(t *testing.T) {
	read, put := local(), local()
	put.Kind, put.Consistency = kv.Put, kv.NoConsistency
	open, stale, v2 := local(), overHTTP(consul.Name), overHTTP(etcdv2.Name)
	open.Rate = 20_000
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"ours reads", read.benchArguments(), []string{"bench get", "--store etcd", "--target any", "--consistency local", "--prefix r", "--key-space-size 1", "--clients 1000", "--duration 3s"}},
		{"ours puts", put.benchArguments(), []string{"bench put", "--prefix w", "--key-space-size 10000", "--val-size 256"}},
		{"ours open", open.benchArguments(), []string{"--rate 20000"}},
		{"ours over HTTP", stale.benchArguments(), []string{"--store consul", "--conns 100", "--clients 100", "--consistency local"}},
		{"wrk", stale.wrkArguments(), []string{"-t 1 -c 100", "-d 4 http://127.0.0.1:2379/v1/kv/r0000000?raw&stale"}},
		{"hey", v2.heyArguments(), []string{"-c 100 -z 4s -disable-compression http://127.0.0.1:2379/v2/keys/r0000000"}},
		{"etcd's reads", read.benchmarkArguments(100), []string{"range r0000000", "--consistency s", "--total 100", "--conns 100"}},
		{"etcd's puts", put.benchmarkArguments(100), []string{"put", "--key-size 8", "--val-size 256", "--key-space-size 10000"}},
	} {
		line := strings.Join(c.args, " ")
		for _, want := range c.want {
			if !strings.Contains(line, want) {
				t.Errorf("%s: %q lacks %q", c.name, line, want)
			}
		}
	}
	if strings.Contains(strings.Join(put.benchArguments(), " "), "--consistency") {
		t.Error("the arguments for a put contain a consistency")
	}
	if got := read.benchmarkTotal(); got != 100_000 {
		t.Errorf("for 4 s, etcd's benchmark gets a total of %d reads", got)
	}
}

// overHTTP returns work on a store that uses HTTP/1.1, with one client per connection.
func overHTTP(store string) Work {
	w := local()
	w.Store, w.Clients = store, w.Connections
	return w
}

func TestCasesOfPeers(t *testing.T) {
	one, linearizable, put, open := local().Case, local().Case, local().Case, local().Case
	one.Clients, one.Connections = 1, 1
	linearizable.Consistency = kv.Linearizable
	put.Kind, put.Consistency = kv.Put, kv.NoConsistency
	open.Rate, open.NullServer = 20_000, true
	zkGet, zkPut := local().Case, put
	zkGet.Store, zkPut.Store = zookeeper.Name, zookeeper.Name
	stale, v2 := overHTTP(consul.Name).Case, overHTTP(etcdv2.Name).Case
	consistent := stale
	consistent.Consistency = kv.Linearizable
	watch, nullCheck, realCheck := open, put, put
	watch.Kind, watch.NullServer, watch.Rate = kv.Watch, false, 3
	nullCheck.Load, nullCheck.Rate, nullCheck.NullServer = "l", 8000, true
	realCheck.Load, realCheck.Rate, realCheck.Tmpfs = "l", 8000, true
	all := []Case{local().Case, one, linearizable, put, open, zkGet, zkPut, stale, v2, consistent, watch, nullCheck, realCheck}
	for _, c := range []struct {
		peer Peer
		want string // the cases that the peer runs, with one letter per case
	}{
		{NewQuorumbench("q", "self"), "yyyyyyyyyyyyy"},
		{NewH2load(), "yy-----------"},
		{NewClientV3("self"), "y-yy------y--"},
		{NewEtcdBenchmark(""), "y-yy---------"},
		{NewGoZooKeeper("self"), "-----yy------"},
		{NewWrk(), "-------yy----"},
		{NewHey(), "-------yy----"},
		{NewEtcdctl("etcdctl", nil), "------------y"},
	} {
		got := ""
		for _, k := range all {
			if c.peer.CanRun(k) {
				got += "y"
			} else {
				got += "-"
			}
		}
		if got != c.want {
			t.Errorf("%s executes %s, want %s", c.peer.Name, got, c.want)
		}
	}
}

func TestEtcdBenchmarkNeedsItsBinary(t *testing.T) {
	if err := NewEtcdBenchmark("").Unavailable; err == nil || !strings.Contains(err.Error(), EtcdBenchmarkEnv) {
		t.Errorf("without a binary, the reason is %v", err)
	}
	if err := NewEtcdBenchmark("/no/such/file").Unavailable; err == nil {
		t.Error("a missing file counts as available")
	}
}
