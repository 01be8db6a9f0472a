package metrics

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// randomSecond returns a second of puts and gets at two members, with some timeouts.
func randomSecond(rng *rand.Rand, index int) *measure.Second {
	s := &measure.Second{Phase: measure.Measured, Index: index, Length: 1e9, InFlight: 2, Connections: 4, Clients: 8}
	for _, k := range []kv.Kind{kv.Put, kv.Get} {
		cell := &measure.Cell{Series: measure.Series{Kind: k, Member: uint64(1 + rng.IntN(2)), Term: 2}, Response: measure.NewHistogram(), Service: measure.NewHistogram()}
		n, failed := 1+rng.IntN(200), 1+rng.IntN(5)
		for range n {
			ns := int64(1e6 * (1 + rng.ExpFloat64()))
			measure.Record(cell.Response, ns)
			measure.Record(cell.Service, ns/2)
		}
		cell.Failed[measure.ErrorIndex(kv.TimedOut)] = measure.NewHistogram()
		measure.RecordAll(cell.Failed[measure.ErrorIndex(kv.TimedOut)], 1e9, uint64(failed))
		s.Cells = append(s.Cells, cell)
		s.Due, s.Done, s.DoneKinds[k] = s.Due+uint64(n+failed), s.Done+uint64(n), uint64(n)
		s.Outcomes[kv.OK] += uint64(n)
		s.Outcomes[kv.TimedOut] += uint64(failed)
	}
	return s
}

// The series of a load with several workers have the sums of the workers' counts and all of their
// times, even if a worker is lost during the load. Counters never decrease. The test encodes the
// seconds, as workers on other machines do.
func TestWorkersAreMerged(t *testing.T) {
	const seconds, lossAfter = 6, 3 // worker 1 is lost after three seconds
	for _, workers := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(workers)))
			c, put := newTestCollector(), spec("put", 1)
			merged, before := measure.NewCollector(workers), map[string]float64{}
			merged.OnSecond = func(s *measure.Second) {
				c.Second(put, s)
				now := gather(t, c)
				for name, x := range before {
					if y := now[name]; y < x && !strings.HasPrefix(name, "in_flight") && !strings.HasPrefix(name, "connections") && !strings.HasPrefix(name, "clients") {
						t.Errorf("second %d: %s decreases from %v to %v", s.Index, name, x, y)
					}
				}
				before = now
			}
			var reader measure.Reader
			for i := range seconds {
				for worker := range workers {
					if worker == 1 && i == lossAfter {
						merged.End(worker)
					}
					if worker == 1 && i >= lossAfter {
						continue
					}
					if err := reader.Read(measure.AppendSecond(nil, randomSecond(rng, i)), func(s *measure.Second) error {
						merged.Add(worker, s)
						return nil
					}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for worker := range workers {
				merged.End(worker)
			}
			totals, _ := merged.Close(seconds)
			expectTotals(t, c, totals)
			active := float64(workers)
			if workers > 1 {
				active-- // the lost worker
			}
			expect(t, before, map[string]float64{
				"in_flight{repeat=1,store=a-store,trial=put}": 2 * active, "connections{repeat=1,store=a-store,trial=put}": 4 * active, "clients{repeat=1,store=a-store,trial=put}": 8 * active,
			})
		})
	}
}

// expectTotals compares the series of the trial put with the totals of its window.
func expectTotals(t *testing.T, c *Collector, totals *measure.Totals) {
	t.Helper()
	got := gather(t, c)
	expect(t, got, map[string]float64{"operations_due_total{repeat=1,store=a-store,trial=put}": float64(totals.Due)})
	all, done := map[string]float64{}, 0.0
	for name, n := range got {
		for outcome := range kv.NumOutcomes {
			if strings.HasPrefix(name, "operations_total") && strings.Contains(name, "outcome="+outcome.String()+",") {
				all[outcome.String()] += n
			}
		}
		if strings.HasPrefix(name, "operations_done_total") {
			done += n
		}
	}
	for outcome, n := range totals.Outcomes {
		if o := kv.Outcome(outcome).String(); all[o] != float64(n) {
			t.Errorf("%v operations have the outcome %s, want %d", all[o], o, n)
		}
	}
	if done != float64(totals.Done) {
		t.Errorf("%v operations were done, want %d", done, totals.Done)
	}
	byKind := map[string]*measure.Histogram{}
	for _, cell := range totals.Cells {
		byKind[cell.Kind.String()] = measure.Add(byKind[cell.Kind.String()], cell.Response)
	}
	for _, f := range families(t, c) {
		if f.GetName() != "quorumbench_response_time_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			expectTimes(t, c, m, byKind)
		}
	}
}

// expectTimes compares the histogram of one operation with the recorded times.
func expectTimes(t *testing.T, c *Collector, m *dto.Metric, byKind map[string]*measure.Histogram) {
	t.Helper()
	kind := ""
	for _, l := range m.GetLabel() {
		if l.GetName() == "operation" {
			kind = l.GetValue()
		}
	}
	want, got := byKind[kind], m.GetHistogram()
	if want == nil || got.GetSampleCount() != uint64(want.TotalCount()) {
		t.Fatalf("%s has %d times, want %v", kind, got.GetSampleCount(), want)
	}
	merged := newNative(&c.table)
	merged.add(&c.table, measure.NonEmptySteps(want))
	if !equalCounts(countsOf(got), countsOf(written(t, merged, &c.table))) {
		t.Errorf("%s: the buckets are not those of the merged times", kind)
	}
}

// Each load generator and each member has its own series. A process without a sample, such as a
// lost agent, has none.
func TestLostProcessesHaveNoSeries(t *testing.T) {
	c := newTestCollector()
	sample := func(cpu float64, names ...string) map[string]float64 {
		var rows []*record.MachineRow
		for _, name := range names {
			r := record.NewMachineRow(time.Unix(1, 0), name)
			r.PID, r.User, r.System, r.WriteBytes, r.RSS = 7, cpu, 0, 3, 1<<20
			rows = append(rows, r)
		}
		c.Machines(rows)
		return gather(t, c)
	}
	expect(t, sample(1, record.GeneratorName, record.OtherGenerator("a"), record.OtherGenerator("b"), "m1"), map[string]float64{
		"process_cpu_seconds_total{process=generator}": 1, "process_cpu_seconds_total{process=generator a}": 1, "process_resident_memory_bytes{process=generator b}": 1 << 20, "process_write_bytes_total{process=m1}": 3,
	})
	lost := sample(2, record.GeneratorName, record.OtherGenerator("a"), "m1")
	expect(t, lost, map[string]float64{"process_cpu_seconds_total{process=generator a}": 2})
	for name := range lost {
		if strings.Contains(name, "generator b") {
			t.Errorf("the lost agent still has the series %s", name)
		}
	}
	expect(t, sample(3, record.OtherGenerator("b")), map[string]float64{"process_cpu_seconds_total{process=generator b}": 3})
}

// A capacity search measures a rate again in another trial with the same name. Each of these trials
// has its own series.
func TestTrialsOfTheSameNameHaveTheirOwnSeries(t *testing.T) {
	c := newTestCollector()
	for number := 1; number <= 3; number++ {
		put := spec("confirm-1000", 1)
		put.Number = number
		c.EnterPhase(put, "measuring")
		c.Second(put, second(measure.Measured, 10*number, 0))
		c.EndTrial(put, &record.Trial{})
	}
	expect(t, gather(t, c), map[string]float64{
		"operations_due_total{repeat=1,store=a-store,trial=confirm-1000}": 10,
		"operations_due_total{repeat=2,store=a-store,trial=confirm-1000}": 20,
		"operations_due_total{repeat=3,store=a-store,trial=confirm-1000}": 30,
		"phase{phase=done,repeat=3,store=a-store,trial=confirm-1000}":     1,
	})
}
