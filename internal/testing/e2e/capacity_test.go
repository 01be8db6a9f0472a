//go:build linux

package e2e_test

import (
	"encoding/json"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// A capacity search on a real etcd with one member ends at its time limit and returns the best
// result so far. All its trials use one cluster and one preload.
func TestCapacityOfEtcd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	p := w.run(t, "capacity", "--objective", "p99<5s, errors<1%", "--set", "members=1", "--set", "key-space=500", "--max-rate", "400", "--until", "12s", "--out", dir, "--format", "json")
	p.exits(t, exitDone)
	var said struct {
		Lower  float64           `json:"lower_per_second"`
		Upper  *float64          `json:"upper_per_second"`
		Status string            `json:"status"`
		Curve  []json.RawMessage `json:"curve"`
	}
	if err := json.Unmarshal([]byte(p.stdout.String()), &said); err != nil || said.Lower <= 0 || len(said.Curve) == 0 {
		t.Errorf("the output is %+v, %v", said, err)
	}
	run := openRun(t, dir, record.Complete)
	if run.Capacity == nil || run.Capacity.LowerPerSecond != said.Lower || len(run.Capacity.Trials) != len(run.Trials) {
		t.Fatalf("the record has the capacity %+v and %d trials", run.Capacity, len(run.Trials))
	}
	if run.Capacity.WarmUp == nil || run.Capacity.Trials[0].Purpose != record.PurposeWarmUp {
		t.Errorf("the newly started cluster was not warmed up: %+v", run.Capacity)
	}
	if len(said.Curve) != len(run.Trials) {
		t.Errorf("the output shows %d of %d trials", len(said.Curve), len(run.Trials))
	}
	if len(run.Clusters) != 1 {
		t.Errorf("the run used %d clusters, want 1", len(run.Clusters))
	}
	for i := range run.Trials {
		warmsUp := run.Capacity.Trials[i].Purpose == record.PurposeWarmUp
		if trial := &run.Trials[i]; trial.Open() == warmsUp || trial.Preload != (i == 0) || trial.Misses > 0 {
			t.Errorf("trial %s: open %v, preload %v, %d misses", trial.Name, trial.Open(), trial.Preload, trial.Misses)
		}
	}
}

// If the load generator is stopped half of the time, its figures reveal nothing about the store.
// The search then repeats rates. At the end it lists the unusable trials with a remedy, reports
// that the capacity is unknown, and exits with a separate exit code.
func TestUnknownCapacityIsExplained(t *testing.T) {
	t.Parallel()
	const stop = 250 * time.Millisecond
	w := newWorld(t)
	dir := w.path("run")
	p := w.start(t, "capacity", "--objective", "p99<20ms", "--endpoints", w.nullServer(t, "--script", "delay=1ms"), "--set", "key-space=100", "--until", "25s", "--out", dir, "--format", "json")
	over := make(chan struct{})
	var stops sync.WaitGroup
	stops.Go(func() {
		for signal := syscall.SIGSTOP; ; {
			_ = syscall.Kill(p.pid, signal) // fails if the process has ended
			select {
			case <-over:
				return
			case <-time.After(stop):
			}
			if signal == syscall.SIGSTOP {
				signal = syscall.SIGCONT
			} else {
				signal = syscall.SIGSTOP
			}
		}
	})
	p.exits(t, exitNotKnown)
	close(over)
	stops.Wait()
	var said struct {
		Known  bool   `json:"known"`
		Status string `json:"status"`
		Void   []struct {
			Trials      int
			Why, Remedy string
		} `json:"void"`
		Curve []struct{ Void string } `json:"curve"`
	}
	if err := json.Unmarshal([]byte(p.stdout.String()), &said); err != nil || said.Known || said.Status != "not_known" || len(said.Curve) < 3 {
		t.Fatalf("the output is %+v, %v", said, err)
	}
	void := 0
	for _, v := range said.Void {
		if void += v.Trials; v.Remedy == "" || v.Why == "" {
			t.Errorf("a void reason has no explanation or no remedy: %+v", v)
		}
	}
	if void != len(said.Curve) || said.Curve[0].Void == "" {
		t.Errorf("%d of %d trials are void: %+v", void, len(said.Curve), said)
	}
	if out := w.run(t, "report", dir).exits(t, exitDone).stdout.String(); !strings.Contains(out, "for p99<20ms: unknown") || !strings.Contains(out, "  void  ") {
		t.Errorf("the report is\n%s", out)
	}
}

// After Ctrl-C, a search prints the result known so far.
func TestInterruptedCapacityIsReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	endpoint := w.nullServer(t)
	p := w.start(t, "capacity", "--objective", "p99<5s", "--endpoints", endpoint, "--set", "key-space=500", "--max-rate", "2000", "--from", "200", "--out", dir)
	p.awaitText(t, "; met")
	p.interrupt(t)
	p.exits(t, exitInterrupted).oneSentence(t, "interrupted")
	run := openRun(t, dir, record.Interrupted)
	if run.Capacity == nil || run.Capacity.LowerPerSecond < 200 || run.Capacity.UpperPerSecond != nil {
		t.Errorf("the record has the capacity %+v", run.Capacity)
	}
	if out := p.stdout.String(); !strings.Contains(out, "for p99<5s: at least ") || !strings.Contains(out, "it was interrupted") {
		t.Errorf("the output is\n%s", out)
	}
}

// Each value of a parameter has its own search, cluster and key size. Ctrl-C during the second
// search does not change the first search's result.
func TestCapacityOverAParameter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	p := w.start(t, "capacity", "--objective", "p50<5s, errors<5%", "--set", "members=1", "--set", "key-space=200", "--over", "value-size=64,2KiB", "--warm-up", "0s",
		"--from", "20", "--max-rate", "40", "--until", "60s", "--out", dir)
	p.awaitText(t, "value-size=2KiB, search 2 of 2")
	p.awaitText(t, "value-size=2KiB-explore-20: measuring")
	p.interrupt(t)
	p.exits(t, exitInterrupted).oneSentence(t, "interrupted")
	run := openRun(t, dir, record.Interrupted)
	over := run.CapacityByParameter
	if run.Capacity != nil || over == nil || over.Parameter != "value-size" || len(over.Searches) != 2 {
		t.Fatalf("the record has the capacity %+v and the sweep %+v", run.Capacity, over)
	}
	if s := &over.Searches[0]; s.Value != "64" || s.LowerPerSecond != 40 || s.Status != "at_least" {
		t.Errorf("the result of the first search is %+v", s)
	}
	if len(run.Clusters) != 2 {
		t.Errorf("the run used %d clusters, want 2", len(run.Clusters))
	}
	first := len(over.Searches[0].Trials)
	for i := range run.Trials {
		want := 64
		if i >= first {
			want = 2048
		}
		if trial := &run.Trials[i]; trial.ValueSize != want || trial.Preload != (i == 0 || i == first) {
			t.Errorf("trial %s: the values have %d bytes, preload is %v", trial.Name, trial.ValueSize, trial.Preload)
		}
	}
	if out := p.stdout.String(); !strings.Contains(out, "\n64 ") || !strings.Contains(out, "it was interrupted") {
		t.Errorf("the output is\n%s", out)
	}
}
