package load_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/agents"
)

// The merged result from four agents over mutual TLS is exactly the sum of their reports, in every
// bin of the histograms. Each agent sends its part of the operations.
func TestManyAgentsAreMergedExactly(t *testing.T) {
	const n = 4
	l := base(kv.Put, kv.NoConsistency)
	l.Connections, l.Clients, l.Total = 2*n+1, 3*n, 3_007
	a := taskFor(serve(t, "", store.NullOptions{Memory: true}), l).Assignment
	servingg := make(load.Workers, n)
	for i := range servingg {
		servingg[i] = agents.Worker(t, nil)
	}
	w, ears := agents.CountResults(servingg)
	for i := range w {
		w[i] = load.NamedWorker{Worker: w[i], Name: fmt.Sprintf("w%d", i+1)}
	}
	res, err := load.Run(t.Context(), w, &a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	m := res.Measured
	var union *measure.Histogram
	for i, o := range ears {
		union = measure.Add(union, o.Response)
		p := &m.Parts[i]
		if !reflect.DeepEqual(p.Response.Histogram(), o.Response) || p.Due != o.Due || p.Due-l.Total/n > 1 || p.Lost != "" || p.ClockError <= 0 {
			t.Errorf("worker %d: %d operations are due in the result and %d in its report; its clock error is %d ns, and the reason for its loss is: %s", i+1, p.Due, o.Due, p.ClockError, p.Lost)
		}
	}
	if m.Due != l.Total || m.Succeeded() != l.Total || !reflect.DeepEqual(union, m.MergedCell().Response) || m.MergedAfter <= 0 {
		t.Errorf("%d operations were due, want %d; the results were merged after %d ns", m.Due, l.Total, m.MergedAfter)
	}
}
