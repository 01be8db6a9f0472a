package runner

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/agents"
)

// Four workers share a load on three members, each of which has its own address. The workers send
// exactly the requested operations, and the members receive exactly these operations. Each bin of
// the merged histogram is the sum of the workers' bins.
func TestWorkersAndMembersCountAlike(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address")
	}
	here := host.NewLocal(nil, nil)
	dir := t.TempDir()
	c, err := cluster.Start(t.Context(), etcd.New(), cluster.Spec{
		Members: 3, Dir: dir, Hosts: []host.Host{here.WithAddress("127.0.4.2"), here.WithAddress("127.0.4.3"), here.WithAddress("127.0.4.4")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Stop(context.WithoutCancel(t.Context())) }()
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Connections, l.Clients, l.KeySpace, l.Total, l.Duration, l.Seed, l.Workers = 13, 29, 100, 2003, 0, 7, 4
	all, ears := agents.CountResults(load.NewLocals(4, registry.Lookup))
	a := &load.Assignment{Load: l, Store: etcd.Name, Endpoints: c.Access().Endpoints}
	res, err := load.Run(t.Context(), all, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range c.Access().Endpoints {
		if !strings.HasPrefix(endpoint, "127.0.4.") {
			t.Errorf("a member has the endpoint %s", endpoint)
		}
	}
	seen := agents.ServedPuts(t, c.Access().Endpoints)
	m := res.Measured
	if m.Due != l.Total || m.Succeeded() != l.Total || seen != l.Total {
		t.Errorf("%d operations were due, want %d; %d succeeded, and the members received %d", m.Due, l.Total, m.Succeeded(), seen)
	}
	var union *measure.Histogram
	for i, o := range ears {
		union = measure.Add(union, o.Response)
		if p := &m.Parts[i]; p.Due != o.Due || p.Due != l.Total/4+map[bool]uint64{true: 1}[i < 3] {
			t.Errorf("worker %d had %d operations due, and its report has %d", i+1, p.Due, o.Due)
		}
	}
	if !reflect.DeepEqual(union.Export().Counts, m.MergedCell().Response.Export().Counts) {
		t.Error("the merged histogram is not the sum of the workers' histograms")
	}
}
