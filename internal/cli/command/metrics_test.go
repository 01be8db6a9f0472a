package command

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/metrics"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The live view, the metrics and all functions that were already set receive the same data.
func TestObserversAreChained(t *testing.T) {
	var calls []string
	note := func(what string) { calls = append(calls, what) }
	o := runner.Options{
		OnSecond: func(*scenario.Trial, *measure.Second) { note("second") },
		Progress: func(runner.Progress) { note("progress") },
		Observer: record.Observer{Event: func(record.Event) { note("event") }},
	}
	d := &Display{live: newLive()}
	d.Follow(&o)
	c := metrics.NewCollector(metrics.Run{})
	follow(&o, c)
	of := &scenario.Trial{Name: "put", Repeat: 1}
	o.Progress(runner.Progress{Stage: runner.Measuring, Spec: of})
	o.OnSecond(of, second(measure.Measured, 0, 10, 0))
	o.Observer.Event(record.Event{Kind: "election", Time: noon})
	o.Observer.Machines([]*record.MachineRow{sample(0, "m1", 1, 0)})
	o.Observer.Machines([]*record.MachineRow{sample(1, "m1", 1, 0)})
	o.Progress(runner.Progress{Stage: runner.TrialDone, Spec: of, Result: &record.Trial{}})
	if want := []string{"progress", "second", "event", "progress"}; !slices.Equal(calls, want) {
		t.Errorf("the functions that were set first received the calls %v, want %v", calls, want)
	}
	if len(d.live.ended) != 1 || d.live.ended[0].count != 1 || len(d.live.ended[0].names) != 1 {
		t.Errorf("the live view keeps %+v", d.live.ended)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all {
		names = append(names, f.GetName())
	}
	for _, name := range []string{"operations_due_total", "events_total", "process_cpu_seconds_total", "trial_verdict", "phase"} {
		if !slices.Contains(names, "quorumbench_"+name) {
			t.Errorf("the metrics have no %s: %v", name, names)
		}
	}
}
