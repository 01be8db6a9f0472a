package metrics

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

func newTestCollector() *Collector {
	return NewCollector(Run{Name: "run", Version: "v1", StartTime: time.Unix(1_700_000_000, 0)})
}

func spec(name string, repeat int) *scenario.Trial {
	return &scenario.Trial{Name: name, Repeat: repeat, Cluster: scenario.Cluster{Store: "a-store"}}
}

// second returns a second with n completed puts and the given number of timeouts.
func second(phase measure.Phase, n, failed int) *measure.Second {
	cell := &measure.Cell{Series: measure.Series{Kind: kv.Put}}
	addTimes(cell, n)
	s := &measure.Second{Phase: phase, Length: 1e9, InFlight: 3, Connections: 2, Clients: 5}
	if failed > 0 {
		h := measure.NewHistogram()
		measure.RecordAll(h, 1e9, uint64(failed))
		cell.Failed[measure.ErrorIndex(kv.TimedOut)] = h
	}
	s.Cells, s.Done, s.Due = []*measure.Cell{cell}, uint64(n), uint64(n+failed)
	s.DoneKinds[kv.Put] = uint64(n)
	s.Outcomes[kv.OK], s.Outcomes[kv.TimedOut] = uint64(n), uint64(failed)
	return s
}

func addTimes(c *measure.Cell, n int) {
	c.Response, c.Service = measure.NewHistogram(), measure.NewHistogram()
	for i := range n {
		measure.Record(c.Response, int64(i+1)*1_000_000)
		measure.Record(c.Service, int64(i+1)*500_000)
	}
}

// gather returns the values of all series by name and labels, for example
// "events_total{kind=election,member=}". The value of a histogram is its count. gather also checks
// that the metrics are consistent.
func gather(t testing.TB, c *Collector) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, f := range families(t, c) {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			all[strings.TrimPrefix(f.GetName(), "quorumbench_")+"{"+strings.Join(labels, ",")+"}"] = value
		}
	}
	return all
}

func families(t testing.TB, c *Collector) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func expect(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for name, x := range want {
		if y, has := got[name]; !has || x != y {
			t.Errorf("%s is %v (exists: %v), not %v", name, y, has, x)
		}
	}
}

func TestOnlyTheWindowCounts(t *testing.T) {
	c := newTestCollector()
	c.EnterPhase(nil, "starting")
	expect(t, gather(t, c), map[string]float64{"phase{phase=starting,repeat=,store=,trial=}": 1, "run_info{run=run,version=v1}": 1})
	put := spec("put", 2)
	c.EnterPhase(put, "warming up")
	c.Second(put, second(measure.Warmup, 50, 1))
	expect(t, gather(t, c), map[string]float64{
		"operations_total{operation=put,outcome=ok,repeat=2,store=a-store,trial=put}":      0,
		"operations_total{operation=put,outcome=timeout,repeat=2,store=a-store,trial=put}": 0,
		"in_flight{repeat=2,store=a-store,trial=put}":                                      3,
		"phase{phase=warming up,repeat=2,store=a-store,trial=put}":                         1,
	})
	c.Second(put, second(measure.Measured, 100, 2))
	c.Second(put, second(measure.Measured, 10, 0))
	expect(t, gather(t, c), map[string]float64{
		"operations_total{operation=put,outcome=ok,repeat=2,store=a-store,trial=put}":      110,
		"operations_total{operation=put,outcome=timeout,repeat=2,store=a-store,trial=put}": 2,
		"operations_due_total{repeat=2,store=a-store,trial=put}":                           112,
		"operations_done_total{operation=put,repeat=2,store=a-store,trial=put}":            110,
		"response_time_seconds{operation=put,repeat=2,store=a-store,trial=put}":            110,
		"service_time_seconds{operation=put,repeat=2,store=a-store,trial=put}":             110,
		"connections{repeat=2,store=a-store,trial=put}":                                    2,
		"clients{repeat=2,store=a-store,trial=put}":                                        5,
	})
	r := &record.Trial{}
	r.PerSecond, r.Verdict.State = 110, "suspect"
	c.EndTrial(put, r)
	got := gather(t, c)
	expect(t, got, map[string]float64{
		"trial_throughput{repeat=2,store=a-store,trial=put}":              110,
		"trial_verdict{repeat=2,store=a-store,trial=put,verdict=suspect}": 1,
		"in_flight{repeat=2,store=a-store,trial=put}":                     0,
		"phase{phase=done,repeat=2,store=a-store,trial=put}":              1,
	})
	if _, has := got["trial_p99_seconds{repeat=2,store=a-store,trial=put}"]; has {
		t.Error("the series of the p99 exists although the p99 is unknown")
	}
	r.ServiceTime = record.Times{Summary: measure.Summarize(second(measure.Measured, 2000, 0).Cells[0].Service, 500)}
	c.EndTrial(put, r)
	expect(t, gather(t, c), map[string]float64{"trial_p99_seconds{repeat=2,store=a-store,trial=put}": math.Inf(1)})
}

// For each one-second record, the outcomes by operation add up to the record's outcomes. This also
// holds if several operations can have the same outcome, or if the record is inconsistent.
func TestOutcomesByOperationAddUp(t *testing.T) {
	s := &measure.Second{Phase: measure.Measured, Length: 1e9}
	for k, n := range map[kv.Kind]int{kv.CAS: 30, kv.Get: 50, kv.Put: 20} {
		cell := &measure.Cell{Series: measure.Series{Kind: k}}
		addTimes(cell, n)
		s.Cells = append(s.Cells, cell)
	}
	s.Misses[kv.Get] = 7
	s.Outcomes[kv.OK], s.Outcomes[kv.Miss], s.Outcomes[kv.Conflict], s.Outcomes[kv.Stale] = 83, 7, 6, 4
	s.Outcomes[kv.Refused] = 5 // no cell contains these errors
	s.Due = 105
	c := newTestCollector()
	c.Second(spec("mix", 1), s)
	counter := func(operation, outcome string) string {
		return fmt.Sprintf("operations_total{operation=%s,outcome=%s,repeat=1,store=a-store,trial=mix}", operation, outcome)
	}
	got := gather(t, c)
	expect(t, got, map[string]float64{
		counter("get", "miss"): 7, counter("cas", "conflict"): 6, counter("get", "stale"): 4,
		counter("cas", "ok"): 24, counter("get", "ok"): 39, counter("put", "ok"): 20, counter("unknown", "refused"): 5,
	})
	sum := 0.0
	for name, n := range got {
		if strings.HasPrefix(name, "operations_total") {
			sum += n
		}
	}
	if sum != 105 {
		t.Errorf("the outcomes add up to %v, want 105", sum)
	}
}

// Events with hostile names get printable label values, and the number of series is bounded.
func TestHostileEvents(t *testing.T) {
	c := newTestCollector()
	hostile := "\xff\x00\x1b[31m\n\u202e" + strings.Repeat("x", 10_000)
	c.Event(record.Event{Kind: hostile, Member: hostile, Count: 3})
	for i := range 10 * maxEvents {
		c.Event(record.Event{Kind: fmt.Sprint("kind", i), Member: "m1"})
	}
	sum, series := 0.0, 0
	for _, f := range families(t, c) {
		if f.GetName() != "quorumbench_events_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			series++
			sum += m.GetCounter().GetValue()
			for _, l := range m.GetLabel() {
				if v := l.GetValue(); !utf8.ValidString(v) || strings.ContainsAny(v, "\x00\x1b\n\u202e") || len(v) > maxLabelLength {
					t.Errorf("the label %s is %q", l.GetName(), v)
				}
			}
		}
	}
	if sum != 10*maxEvents+3 || series != maxEvents+1 {
		t.Errorf("%v events in %d series", sum, series)
	}
}

// When a new trial begins, the counters of earlier trials remain and their gauges are dropped.
// After maxTrials trials, all series of the earliest trials are dropped. Only processes of the
// current trial have series.
func TestManyTrials(t *testing.T) {
	c := newTestCollector()
	for i := range maxTrials + 5 {
		put := spec("put", i+1)
		c.EnterPhase(put, "connecting")
		row := record.NewMachineRow(time.Unix(1, 0), fmt.Sprint("m", i))
		row.PID, row.User, row.System, row.RSS = 7, 1, 0.5, 1<<20
		c.Machines([]*record.MachineRow{row, record.NewMachineRow(time.Unix(1, 0), record.MachineName)})
		c.Second(put, second(measure.Measured, 10, 0))
		c.EndTrial(put, &record.Trial{})
	}
	got := gather(t, c)
	expect(t, got, map[string]float64{
		"operations_due_total{repeat=6,store=a-store,trial=put}":                10,
		"operations_due_total{repeat=105,store=a-store,trial=put}":              10,
		"response_time_seconds{operation=put,repeat=6,store=a-store,trial=put}": 10,
		"in_flight{repeat=105,store=a-store,trial=put}":                         0,
		"process_cpu_seconds_total{process=m104}":                               1.5,
		"process_resident_memory_bytes{process=m104}":                           1 << 20,
	})
	for _, gone := range []string{
		"operations_due_total{repeat=5,store=a-store,trial=put}", "in_flight{repeat=6,store=a-store,trial=put}",
		"process_cpu_seconds_total{process=m103}", "process_write_bytes_total{process=m104}", "process_cpu_seconds_total{process=machine}",
	} {
		if x, has := got[gone]; has {
			t.Errorf("%s still exists and is %v", gone, x)
		}
	}
}

// Scrapes and updates may happen at the same time.
func TestScrapesDuringUpdates(t *testing.T) {
	c := newTestCollector()
	var updates sync.WaitGroup
	for _, update := range []func(i int){
		func(i int) { c.Second(spec("put", 1+i/20), second(measure.Measured, 10, 1)) },
		func(i int) { c.EnterPhase(spec("put", 1+i/20), "measuring") },
		func(int) { c.Event(record.Event{Kind: "election"}) },
		func(int) {
			row := record.NewMachineRow(time.Unix(1, 0), "m1")
			row.PID = 1
			c.Machines([]*record.MachineRow{row})
		},
	} {
		updates.Go(func() {
			for i := range 60 {
				update(i)
			}
		})
	}
	for range 10 {
		gather(t, c)
	}
	updates.Wait()
	expect(t, gather(t, c), map[string]float64{"events_total{kind=election,member=}": 60, "operations_due_total{repeat=3,store=a-store,trial=put}": 220})
}

func BenchmarkSecond(b *testing.B) {
	c, mix := newTestCollector(), spec("mix", 1)
	s := second(measure.Measured, 0, 20)
	for _, k := range []kv.Kind{kv.Put, kv.Get} {
		cell := &measure.Cell{Series: measure.Series{Kind: k}, Response: measure.NewHistogram(), Service: measure.NewHistogram()}
		for i := range 5000 {
			measure.Record(cell.Response, int64(1_000_000+400*i)) // from 1 ms to 3 ms
			measure.Record(cell.Service, int64(1_000_000+300*i))
		}
		s.Cells = append(s.Cells, cell)
	}
	s.Outcomes[kv.OK], s.Due = 10_000, 10_020
	b.ReportAllocs()
	for b.Loop() {
		c.Second(mix, s)
	}
}

func BenchmarkScrape(b *testing.B) {
	c := newTestCollector()
	for i := range 10 {
		put := spec("put", i+1)
		c.EnterPhase(put, "measuring")
		c.Second(put, second(measure.Measured, 5000, 20))
		c.EndTrial(put, &record.Trial{})
	}
	r := prometheus.NewRegistry()
	if err := r.Register(c); err != nil {
		b.Fatal(err)
	}
	b.Run("locked", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.metrics()
		}
	})
	b.Run("gather", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Gather(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
