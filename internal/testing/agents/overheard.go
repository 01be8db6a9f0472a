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

// Overheard is a worker that also adds up its own one-second results.
type Overheard struct {
	load.Worker
	mu       sync.Mutex
	Response *measure.Histogram // response times from all one-second results
	Due      uint64             // number of operations due, from all one-second results
}

// Overhear wraps workers. It returns the wrapped workers twice: as load.Workers and with their
// concrete type.
func Overhear(all load.Workers) (load.Workers, []*Overheard) {
	heard, ears := make(load.Workers, len(all)), make([]*Overheard, len(all))
	for i := range all {
		ears[i] = &Overheard{Worker: all[i]}
		heard[i] = ears[i]
	}
	return heard, ears
}

// Prepare implements load.Worker.
func (o *Overheard) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
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

// PutsSeen returns how many puts the members of an etcd cluster served, according to the members'
// metrics.
func PutsSeen(t testing.TB, endpoints []string) (n uint64) {
	t.Helper()
	for _, endpoint := range endpoints {
		n += putsSeen(t, endpoint)
	}
	return n
}

func putsSeen(t testing.TB, endpoint string) (n uint64) {
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
