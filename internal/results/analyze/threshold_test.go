package analyze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

func TestParseThreshold(t *testing.T) {
	for text, want := range map[string]string{
		"p99<20ms":                  " p99 < 2e+07 false",
		"p99.99 <= 1.5s":            " p99.99 <= 1.5e+09 false",
		"ops>8000":                  " ops > 8000 false",
		"ops >= 8_000":              " ops >= 8000 false",
		"errors<1%":                 " errors < 0.01 true",
		"errors<10":                 " errors < 10 false",
		"error-share<=0.5":          " error-share <= 0.5 false",
		"error_share<0.1%":          " error-share < 0.001 true",
		"put-leader:p99.9<50ms":     "put-leader p99.9 < 5e+07 false",
		"put-*:max<1s":              "put-* max < 1e+09 false",
		"gap<100ms":                 " gap < 1e+08 false",
		"cpu-per-op<20us":           " cpu-per-op < 20000 false",
		"lateness<1ms":              " lateness < 1e+06 false",
		"lateness-p99.9<1ms":        " lateness-p99.9 < 1e+06 false",
		"response-p50<1ms":          " response-p50 < 1e+06 false",
		"errors-connection-lost<=0": " errors-connection-lost <= 0 false",
		"rss<200MB":                 " rss < 2e+08 false",
		"store-cpu-per-op<50us":     " store-cpu-per-op < 50000 false",
		"store-rss<1GB":             " store-rss < 1e+09 false",
	} {
		th, err := ParseThreshold(text)
		if got := fmt.Sprintf("%s %s %s %v %t", th.Trials, th.Metric, th.Op, th.Limit, th.Share); err != nil || got != want {
			t.Errorf("%s is %q, %v; not %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":               "contains no < or >",
		"p99":            "contains no < or >",
		"p99=20ms":       "contains no < or >",
		"p99<":           `p99 is a time, but "" is not`,
		"p99<20":         `p99 is a time, but "20" is not; write a time such as 20ms`,
		"p99<-1ms":       "is a time",
		"p100<1ms":       "no metric \"p100\"",
		"p99.9999<1ms":   "no metric",
		"pp<1ms":         "no metric",
		"stdev<1ms":      `did you mean "stddev"?`,
		"thruput>1":      "choose ops, errors, mean, max, a percentile such as p99, or another metric of docs/reference/figures.md",
		"ops>x":          `"x" is not a limit for ops; write a number`,
		"ops>-1":         "is not a limit for ops",
		"ops>5%":         "ops is not a share",
		"errors<x%":      "is not a limit for errors",
		"[:p99<1ms":      "the trial pattern",
		"success-p9x<1s": "no metric",
	} {
		if _, err := ParseThreshold(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", text, want, err)
		}
	}
}

// missedBy returns a sentence for each threshold that a record misses.
func missedBy(t *testing.T, m *runs.RandomRun, texts ...string) string {
	t.Helper()
	var all []Threshold
	for _, text := range texts {
		th, err := ParseThreshold(text)
		must(t, err)
		all = append(all, th)
	}
	missed, err := CheckRun(all, m.Run)
	must(t, err)
	var lines []string
	for _, x := range missed {
		lines = append(lines, x.String())
	}
	return strings.Join(lines, "\n")
}

func TestThresholdsOnARecord(t *testing.T) {
	settle.SkipUnderRace(t)
	m := runs.Random{Seed: 1, Seconds: 8, PerSecond: 30_000, Failures: 0.005, Idle: -1}.Record(t)
	trial := &m.Run.Trials[0]
	// the generated data do not follow Little's law
	trial.Verdict = verdict.Verdict{State: verdict.Suspect}
	if got := missedBy(t, m, "p50>1us", "p90<10s", "ops>1", "errors<1%", "error-share<0.01", "gap<1s", "due>100", "put:seconds<=8", "success-p99.99<10s"); got != "" {
		t.Errorf("missed: %s", got)
	}
	for text, want := range map[string]string{
		"p50<1us":             "p50<1us is missed by put with " + text.Duration(trial.ServiceTime.Percentile(50).NS),
		"ops>1e9":             "ops>1e9 is missed by put with ",
		"errors<0.01%":        "errors<0.01% is missed by put with 0.",
		"errors<=1":           fmt.Sprintf("errors<=1 is missed by put with %d", trial.Errors),
		"p99.9<10s":           "p99.9<10s is missed by put: the figure depends on a failed operation",
		"max<10s":             "max<10s is missed by put: the figure depends on a failed operation",
		"p99.999<10s":         "p99.999<10s is missed by put: the figure depends on a failed operation",
		"success-p99.999<10s": " operations are too few for this percentile: fewer than 10 are beyond it",
	} {
		if got := missedBy(t, m, text); !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
	// No result contains p99.99, so it is computed from the histograms.
	want := measure.Percentile(m.Response, 0, 99.99).NS
	if got := missedBy(t, m, "success-p99.99<1us"); !strings.HasSuffix(got, " with "+text.Duration(want)) {
		t.Errorf("%s, not %v", got, text.Duration(want))
	}
	trial.Verdict = verdict.Verdict{State: verdict.Invalid, Reasons: []verdict.Reason{{Rule: 3, Text: "one answer was wrong"}}}
	if got := missedBy(t, m, "ops>1"); !strings.HasPrefix(got, "ops>1 could not be judged for put with ") || !strings.HasSuffix(got, ": the result is invalid: one answer was wrong") {
		t.Error(got)
	}
	trial.State, trial.Failure = record.Failed, "it broke"
	if got := missedBy(t, m, "ops>1"); got != "ops>1 could not be judged for put: the trial has no result: it broke" {
		t.Error(got)
	}
}

// If a value misses a threshold, but a disturbance may explain this, the result is unknown. The
// threshold is missed if even the largest possible effect of the disturbance does not explain the
// value.
func TestDisturbancesThatMayExplainAMiss(t *testing.T) {
	m := runs.Random{Seed: 2, Seconds: 4, PerSecond: 1000, Idle: -1}.Record(t)
	trial := &m.Run.Trials[0]
	p99, ops := trial.ServiceTime.Percentile(99).NS, trial.PerSecond
	below := func(share float64) string { return fmt.Sprintf("p99<%.0fns", p99*share) }
	above := func(share float64) string { return fmt.Sprintf("ops>%f", ops*share) }
	trial.Verdict = verdict.Verdict{State: verdict.Suspect, Effect: verdict.Effect{Throughput: 0.2}}
	for i := range trial.Verdict.Effect.Times {
		trial.Verdict.Effect.Times[i] = 0.5
	}
	for threshold, want := range map[string]string{
		below(1.01): "", above(0.99): "",
		below(0.7):                         " could not be judged for put with " + text.Duration(p99) + ": a disturbance may have raised it by up to 50 %, which may explain the miss; remove the disturbance that the verdict names, and repeat the run",
		below(0.6):                         " is missed by put with " + text.Duration(p99),
		above(1.2):                         ": a disturbance may have lowered it by up to 20 %, which may explain the miss; remove the disturbance that the verdict names, and repeat the run",
		above(1.3):                         " is missed by put with ",
		fmt.Sprintf("p99>%.0fns", p99*1.1): " is missed by put with ", // without the disturbance, the p99 would be even lower
		"due>1e9":                          " is missed by put with ",
	} {
		if got := missedBy(t, m, threshold); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, not %q", threshold, got, want)
		}
	}
	for i := range trial.Verdict.Effect.Times {
		trial.Verdict.Effect.Times[i] = 50
	}
	if got := missedBy(t, m, below(0.1)); !strings.Contains(got, "raised it by over 1000 %, which") {
		t.Error(got)
	}
	trial.Verdict.Effect = verdict.Effect{Throughput: 1}
	if got := missedBy(t, m, "ops>1e9"); !strings.Contains(got, "lowered it by up to 100 %") {
		t.Error(got)
	}
	trial.Verdict.Effect = verdict.Effect{}
	for _, threshold := range []string{below(0.99), above(1.01)} {
		if got := missedBy(t, m, threshold); !strings.Contains(got, " is missed by put with ") {
			t.Error(got)
		}
	}
}

// A percentile in the result equals the percentile that is computed from the histograms.
func TestPercentilesFromTheHistogramsAreTheResults(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, open := range []bool{false, true} {
		m := runs.Random{Seed: 9, Seconds: 3, PerSecond: 9000, Failures: 0.01, Idle: -1, Open: open}.Record(t)
		trial := &m.Run.Trials[0]
		for _, prefix := range []string{"", "response-", "service-", "success-"} {
			for _, p := range []float64{50, 99.9} {
				th, err := ParseThreshold(fmt.Sprintf("%sp%v<1s", prefix, p))
				must(t, err)
				times, failed := th.Figure.Times.Extract(trial)
				want := figures.TimeValue(times.Percentile(p))
				th.Figure.Percentile = p // as if the result did not contain this percentile
				got, err := th.percentile(trial, times.Count, failed)
				must(t, err)
				if got != want {
					t.Errorf("%s: %+v from the histograms, %+v in the result", th.Text, got, want)
				}
			}
		}
	}
}

func TestCheckThresholds(t *testing.T) {
	rate := 1.0
	trials := []record.Conditions{{Name: "put-leader"}, {Name: "put-open", Load: scenario.Load{Arrival: scenario.Constant}, Rate: &rate}}
	checkThresholds(t, trials, map[string]string{
		"p99<1ms":                 "",
		"put-*:p99<1ms":           "",
		"lateness<1ms":            "",
		"put-open:lateness<1ms":   "",
		"put-leader:lateness<1ms": "lateness needs an open loop, but no selected trial has one",
		"put-leadr:p99<1ms":       `there is no trial "put-leadr"; did you mean "put-leader"?`,
		"put:p99<1ms":             `did you mean "put*"?`,
		"x*:p99<1ms":              `the first trial is "put-leader"`,
	})
}

// checkThresholds checks each threshold against the trials. The keys of the map are thresholds.
// Each value is a text that the error of the threshold must contain; an empty value means that
// there must be no error.
func checkThresholds(t *testing.T, trials []record.Conditions, all map[string]string) {
	t.Helper()
	for text, want := range all {
		th, err := ParseThreshold(text)
		must(t, err)
		err = CheckThresholds([]Threshold{th}, trials)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: want %q, got %v", text, want, err)
		}
	}
}

// A threshold for the store's resource use is met only if the use is known.
func TestThresholdsOnWhatTheStoreUsed(t *testing.T) {
	cpu, rss := 40_000.0, int64(200<<20)
	used, elsewhere := record.Trial{Usage: record.Usage{StoreCPUPerOp: &cpu, StoreMaxRSSBytes: &rss}}, record.Trial{}
	for text, kept := range map[string]bool{"store-cpu-per-op<50us": true, "store-cpu-per-op<30us": false, "store-rss<300MB": true, "store-rss<100MB": false} {
		threshold, err := ParseThreshold(text)
		must(t, err)
		for _, trial := range []*record.Trial{&used, &elsewhere} {
			trial.State, trial.Verdict.State = record.Complete, verdict.Valid
			m, standing, err := threshold.check(trial)
			must(t, err)
			if want := kept && trial == &used; (standing == Met) != want || (standing == Unknown) != (trial == &elsewhere) || (trial == &elsewhere) != (m.UndecidedReason == threshold.Figure.MissingReason) {
				t.Errorf("%s: %d, %+v", text, standing, m)
			}
		}
	}
}
