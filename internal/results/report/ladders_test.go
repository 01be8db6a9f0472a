package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// ladderRun returns a run with one trial for each number of clients. The throughputs follow the
// scalability law with σ 0.05 and κ 0.0001.
func ladderRun(clients ...int) *record.Run {
	var all []made
	for i, c := range clients {
		n := float64(c)
		perSecond := 500 * n / (1 + 0.05*(n-1) + 1e-4*n*(n-1))
		all = append(all, made{number: i + 1, name: fmt.Sprintf("put-%d", c), kind: kv.Put, target: "leader", clients: c, perSecond: int(perSecond), p50: 1e9 * n / perSecond})
	}
	r := run(record.Complete, all...)
	for i := range r.Trials {
		r.Trials[i].Verdict = verdict.Verdict{State: verdict.Valid}
	}
	return r
}

// TestKneeAndScalability checks that text and Markdown show the knee and the scalability law of a
// ladder, or the reason why they could not be determined.
func TestKneeAndScalability(t *testing.T) {
	settle.SkipUnderRace(t)
	r := ladderRun(1, 2, 4, 8, 16, 32, 64, 128, 256)
	r.Trials[8].Verdict.State = verdict.Invalid
	golden(t, "ladder.txt", renderText(t, r))
	var b bytes.Buffer
	if err := Markdown(&b, Run(r, nil, "")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Knee and scalability", "Knee (best ratio of throughput to mean time): 16 clients", "Not used: 256 clients (its verdict is invalid)."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
	if got := renderText(t, ladderRun(1, 2, 4)); !strings.Contains(got, "No knee: ") || !strings.Contains(got, "has only 3.") {
		t.Errorf("the report of three steps is %s", got)
	}
	if got := renderText(t, ladderRun(1, 2)); strings.Contains(got, "Knee") {
		t.Errorf("the report of two steps names a knee: %s", got)
	}
}

// TestFallingThroughput checks the sentence about a ladder whose throughput falls from the first
// step on.
func TestFallingThroughput(t *testing.T) {
	interval := func(low, value, high float64) stats.Interval {
		return stats.Interval{Low: low, Value: value, High: high}
	}
	const falls, unknown = "The throughput falls with every additional operation in flight.", "The coherency parameter may be zero, so the maximum throughput is unknown."
	for _, c := range []struct {
		sigma, kappa stats.Interval
		want         string
	}{
		{interval(0.9, 1.2, 1.5), interval(0.1, 0.2, 0.3), falls},
		{interval(1.1, 1.2, 1.5), interval(0, 0, 0.3), falls},
		{interval(0.9, 1.2, 1.5), interval(0, 0.2, 0.3), unknown},
		{interval(0.3, 0.4, 0.5), interval(1, 2, 3), falls},
		{interval(0.3, 0.4, 0.5), interval(0.005, 0.006, 0.007), "The maximum throughput is "},
	} {
		l := size.Ladder{MaxConcurrency: 100, Scaling: &stats.Scaling{Lambda: interval(90, 100, 110), Sigma: c.sigma, Kappa: c.kappa}}
		if got := lawSentence(&l); !strings.Contains(got, c.want) {
			t.Errorf("with σ %v and κ %v, the sentence is %q, want %q in it", c.sigma, c.kappa, got, c.want)
		}
	}
}

// TestSharedCausesAreListedOnce checks that a bottleneck of several trials is listed once, with the
// text for the trial that it limited most.
func TestSharedCausesAreListedOnce(t *testing.T) {
	cause := limits.SharedCause{Cause: limits.Cause{Kind: limits.CauseCPU, Text: "all were busy", Limit: 1}, WorstTrial: "b", Trials: []string{"a", "b"}}
	for want, change := range map[string]func(*limits.SharedCause){
		"worst in b: all were busy": func(*limits.SharedCause) {},
		"in b: all were busy":       func(c *limits.SharedCause) { c.Limit = 0 },
		"all were busy":             func(c *limits.SharedCause) { c.SameText = true },
	} {
		one := cause
		change(&one)
		if got := causeText(&one); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	long := 1.0
	trial := record.Trial{Conditions: record.Conditions{Name: "a", Repeat: 1, Repeats: 1}, State: record.Complete, Seconds: 10, Counts: record.Counts{LongestGap: long}, Usage: record.Usage{LongestPauseNS: 2e8}}
	trial.Loops = 1
	other := trial
	other.Name, other.LongestPauseNS = "b", 3e8
	want := "\nBottlenecks\n  all trials: load generator: worst in b: it did not run for 300 ms (limit 100 ms)\n"
	if got := textOf(func(to layout) { limitParts(to, []*record.Trial{&trial, &other}) }); got != want {
		t.Errorf("the text is %s, want %s", got, want)
	}
}
