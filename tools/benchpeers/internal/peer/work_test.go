package peer

import (
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

func local() Work {
	return Work{
		Case:     Case{Name: "local", Kind: kv.Get, Consistency: kv.Local, Connections: 100, Clients: 1000},
		Endpoint: "127.0.0.1:2379", Key: "r0000000", ValueSize: 256,
		ReadSpace: Space{"r", 7, 1}, PutSpace: Space{"w", 7, 10_000}, Warmup: time.Second, Window: 3 * time.Second,
	}
}

// All peers are told the same work in their own words.
func TestArguments(t *testing.T) {
	read, put := local(), local()
	put.Kind, put.Consistency = kv.Put, kv.None
	open := local()
	open.Rate = 20_000
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"ours reads", read.benchArguments(), []string{"bench get", "--consistency local", "--prefix r", "--key-space-size 1", "--clients 1000", "--duration 3s"}},
		{"ours puts", put.benchArguments(), []string{"bench put", "--prefix w", "--key-space-size 10000", "--val-size 256"}},
		{"ours open", open.benchArguments(), []string{"--rate 20000"}},
		{"client/v3 reads", read.clientArguments(), []string{"--key r0000000", "--serializable=true", "--conns 100", "--clients 1000"}},
		{"client/v3 puts", put.clientArguments(), []string{"--put-prefix w", "--val-size 256"}},
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
		t.Error("a put is given a consistency")
	}
	if got := read.benchmarkTotal(); got != 100_000 {
		t.Errorf("etcd's benchmark is to read %d times in 4 s", got)
	}
}

func TestWhoDoesWhat(t *testing.T) {
	one, linearizable, put, open := local().Case, local().Case, local().Case, local().Case
	one.Clients, one.Connections = 1, 1
	linearizable.Consistency = kv.Linearizable
	put.Kind = kv.Put
	open.Rate, open.Null = 20_000, true
	for _, c := range []struct {
		peer Peer
		want [5]bool
	}{
		{NewQuorumbench("q"), [5]bool{true, true, true, true, true}},
		{NewH2load(), [5]bool{true, true, false, false, false}},
		{NewClientV3("self"), [5]bool{true, false, true, true, false}},
		{NewEtcdBenchmark(""), [5]bool{true, false, true, true, false}},
	} {
		for i, k := range []Case{local().Case, one, linearizable, put, open} {
			if got := c.peer.Does(k); got != c.want[i] {
				t.Errorf("%s does case %d: %v", c.peer.Name(), i, got)
			}
		}
	}
	if err := NewEtcdBenchmark("").Available(); err == nil || !strings.Contains(err.Error(), EtcdBenchmarkEnv) {
		t.Errorf("without a binary: %v", err)
	}
	if err := NewEtcdBenchmark("/no/such/file").Available(); err == nil {
		t.Error("a file that is not there is available")
	}
}
