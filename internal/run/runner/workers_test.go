package runner

import (
	"bufio"
	"context"
	"net/http"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// overheard is a worker whose seconds are added up apart.
type overheard struct {
	load.Worker
	mu       sync.Mutex
	response *measure.Histogram
	due      uint64
}

func (o *overheard) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	second := to.Second
	to.Second = func(s *measure.Second) {
		o.mu.Lock()
		o.due += s.Due
		for _, c := range s.Cells {
			o.response = measure.Add(o.response, c.Response)
		}
		o.mu.Unlock()
		second(s)
	}
	return o.Worker.Prepare(ctx, a, to)
}

// putsSeen is how many puts an etcd answered, by its own metrics.
func putsSeen(t *testing.T, endpoint string) (n uint64) {
	t.Helper()
	r, err := http.Get("http://" + endpoint + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "grpc_server_handled_total{") || !strings.Contains(line, `grpc_method="Put"`) {
			continue
		}
		count, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		n += uint64(count)
	}
	return n
}

// Four workers on three members, each on an address of its own: they sent exactly
// what was asked for, which is what the members saw, and the merged histogram is
// the union of theirs bin by bin.
func TestWorkersAndMembersCountAlike(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address")
	}
	here := host.NewLocal(nil, nil)
	dir := t.TempDir()
	c, err := cluster.Start(t.Context(), etcd.New(), cluster.Spec{
		Members: 3, Dir: dir, Hosts: []host.Host{here.At("127.0.4.2"), here.At("127.0.4.3"), here.At("127.0.4.4")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Stop(context.WithoutCancel(t.Context())) }()
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Connections, l.Clients, l.KeySpace, l.Total, l.Duration, l.Seed, l.Workers = 13, 29, 100, 5003, 0, 7, 4
	all := load.Locals(4, registry.Lookup)
	ears := make([]*overheard, len(all))
	for i := range all {
		ears[i] = &overheard{Worker: all[i]}
		all[i] = ears[i]
	}
	a := &load.Assignment{Load: l, Store: etcd.Name, Endpoints: c.Access().Endpoints}
	res, err := load.Run(t.Context(), all, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	seen := uint64(0)
	for _, endpoint := range c.Access().Endpoints {
		if !strings.HasPrefix(endpoint, "127.0.4.") {
			t.Errorf("a member is at %s", endpoint)
		}
		seen += putsSeen(t, endpoint)
	}
	m := res.Measured
	if m.Due != l.Total || m.Succeeded() != l.Total || seen != l.Total {
		t.Errorf("%d were due of %d, %d succeeded, and the members saw %d", m.Due, l.Total, m.Succeeded(), seen)
	}
	var union *measure.Histogram
	for i, o := range ears {
		union = measure.Add(union, o.response)
		if p := &m.Parts[i]; p.Due != o.due || p.Due != l.Total/4+map[bool]uint64{true: 1}[i < 3] {
			t.Errorf("worker %d had %d due, and told %d", i+1, p.Due, o.due)
		}
	}
	if !reflect.DeepEqual(union.Export().Counts, m.Whole().Response.Export().Counts) {
		t.Error("the merged histogram is not the union of the workers'")
	}
}
