package agents

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// CountingWorker is a worker that also adds up its own one-second results.
type CountingWorker struct {
	load.Worker
	mu       sync.Mutex
	Response *measure.Histogram // response times from all one-second results
	Due      uint64             // number of operations due, from all one-second results
}

// CountResults wraps workers. It returns the wrapped workers twice: as load.Workers and with their
// concrete type.
func CountResults(all load.Workers) (load.Workers, []*CountingWorker) {
	wrapped, counters := make(load.Workers, len(all)), make([]*CountingWorker, len(all))
	for i := range all {
		counters[i] = &CountingWorker{Worker: all[i]}
		wrapped[i] = counters[i]
	}
	return wrapped, counters
}

// Prepare implements load.Worker.
func (o *CountingWorker) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	second := to.Second
	to.Second = func(s *measure.Second) {
		o.mu.Lock()
		o.Due += s.Due
		for _, c := range s.Cells {
			o.Response = measure.Add(o.Response, c.Response)
		}
		o.mu.Unlock()
		second(s)
	}
	return o.Worker.Prepare(ctx, a, to)
}

// ServedPuts returns how many puts the members of an etcd cluster served, according to the members'
// metrics.
func ServedPuts(t testing.TB, endpoints []string) (n uint64) {
	t.Helper()
	for _, endpoint := range endpoints {
		n += servedPuts(t, endpoint)
	}
	return n
}

func servedPuts(t testing.TB, endpoint string) (n uint64) {
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
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}
