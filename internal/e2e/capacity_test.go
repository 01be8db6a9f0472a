//go:build linux

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// A search on a real etcd of one member ends when its time is over, with what it
// knows, and all its trials had one cluster and one preload.
func TestCapacityOfEtcd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	p := w.run(t, "capacity", "--objective", "p99<5s, errors<1%", "--set", "members=1", "--max-rate", "400", "--until", "12s", "--out", dir, "--format", "json")
	p.exits(t, exitDone)
	var said struct {
		Lower  float64           `json:"lower_per_second"`
		Upper  *float64          `json:"upper_per_second"`
		Status string            `json:"status"`
		Curve  []json.RawMessage `json:"curve"`
	}
	if err := json.Unmarshal([]byte(p.stdout.String()), &said); err != nil || said.Lower <= 0 || len(said.Curve) == 0 {
		t.Errorf("it says %+v, %v", said, err)
	}
	run := whole(t, dir, record.Complete)
	if run.Capacity == nil || run.Capacity.LowerPerSecond != said.Lower || len(run.Capacity.Trials) != len(run.Trials) {
		t.Fatalf("the record has %+v of %d trials", run.Capacity, len(run.Trials))
	}
	if len(run.Clusters) != 1 {
		t.Errorf("there were %d clusters", len(run.Clusters))
	}
	for i := range run.Trials {
		if trial := &run.Trials[i]; !trial.Open() || trial.Preload != (i == 0) || trial.Misses > 0 {
			t.Errorf("trial %s: open %v, preload %v, %d misses", trial.Name, trial.Open(), trial.Preload, trial.Misses)
		}
	}
}

// Ctrl-C ends a search with what it knows by then.
func TestAnInterruptedCapacityIsReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	endpoint := w.nullServer(t)
	p := w.start(t, "capacity", "--objective", "p99<5s", "--endpoints", endpoint, "--max-rate", "200", "--from", "20", "--out", dir)
	p.says(t, "; kept")
	p.interrupt(t)
	p.exits(t, exitInterrupted).oneSentence(t, "interrupted")
	run := whole(t, dir, record.Interrupted)
	if run.Capacity == nil || run.Capacity.LowerPerSecond < 20 || run.Capacity.UpperPerSecond != nil {
		t.Errorf("the record has %+v", run.Capacity)
	}
	if out := p.stdout.String(); !strings.Contains(out, "for p99<5s: at least 20") || !strings.Contains(out, "it was interrupted") {
		t.Errorf("it says\n%s", out)
	}
}
