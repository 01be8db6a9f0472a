package analyze

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// watchedRun returns a run that has one trial with watchers, and the times from which the run was
// generated.
func watchedRun(t *testing.T, seed, lost uint64) (m *runs.RandomRun, due, sent, creation *measure.Histogram) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	w, err := record.Create(t.TempDir(), "made", noon, record.Run{Name: "made", Planned: 1})
	must(t, err)
	c := record.Conditions{Number: 1, Name: "watched", Repeat: 1, Repeats: 1, Operation: "put", Load: scenario.Load{
		Clients: 1, Warmup: time.Second, Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Watch: &scenario.Watch{Watchers: 5, Streams: 1, KeysPerWatcher: 1}}}
	tw, err := w.Trial(c, noon)
	must(t, err)
	due, sent, creation = measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram()
	total := &measure.Totals{Seconds: 4, ErrorTexts: map[kv.Outcome]string{}, Tally: measure.Tally{Due: 1, Done: 1}}
	total.Outcomes[kv.OK] = 1
	total.Cells = []*measure.Cell{{Response: measure.NewHistogram(), Service: measure.NewHistogram()}}
	measure.Record(total.Cells[0].Response, 4e9)
	measure.Record(total.Cells[0].Service, 4e9)
	must(t, tw.Begin(measure.Warmup, noon))
	for i := range 5 {
		s := &measure.Second{Phase: measure.Measured, Index: i - 1}
		switch i {
		case 0:
			s.Phase, s.Index = measure.Warmup, 0
		case 1:
			must(t, tw.Begin(measure.Measured, noon.Add(time.Second)))
		}
		s.Watch.FromDue, s.Watch.FromSent = measure.NewHistogram(), measure.NewHistogram()
		for range 30_000 {
			ns := int64(1e5 + 1e6*r.ExpFloat64())
			measure.Record(s.Watch.FromDue, 2*ns)
			measure.Record(s.Watch.FromSent, ns)
		}
		s.Watch.Delivered = 30_000
		must(t, tw.Second(s))
		if i > 0 { // events in the warm-up are not counted
			due.Merge(s.Watch.FromDue)
			sent.Merge(s.Watch.FromSent)
			total.Watch.Delivered += s.Watch.Delivered
		}
	}
	total.Watch.FromDue, total.Watch.FromSent = due, sent
	for range 2000 {
		measure.Record(creation, 1000+r.Int64N(1e6))
	}
	must(t, tw.WatchersCreated(measure.Warmup, creation, 0.1))
	total.Watching = &measure.WatchTotals{Watchers: 5, WatchCounts: measure.WatchCounts{Expected: 120_000 + lost, Delivered: 120_000, Lost: lost, Duplicated: 3, Reordered: 2, Resubscribed: 1}, Created: creation}
	must(t, tw.Finish(record.NewTrial(c, record.Observed{Started: noon, Opened: noon.Add(time.Second)}, total, nil, nil)))
	must(t, w.Finish(record.Complete, "", noon.Add(time.Minute)))
	m = &runs.RandomRun{Dir: w.Dir()}
	m.Run, err = record.Open(m.Dir)
	must(t, err)
	// the generated data do not follow Little's law
	m.Run.Trials[0].Verdict = verdict.Verdict{State: verdict.Suspect}
	return m, due, sent, creation
}

func TestThresholdsOnWatchEvents(t *testing.T) {
	settle.SkipUnderRace(t)
	m, _, _, _ := watchedRun(t, 1, 0)
	if got := missedBy(t, m, "watch-p50>1us", "watch-p99<1s", "watch-max<10s", "watch-events>29_999", "watch-lost<=0", "watch-lost<0.1%", "watched:watch-reordered<=2",
		"watch-duplicated<=3", "watch-delivered>=120000", "watch-expected<=120000", "watch-sent-p99<1s", "watch-creation-p99<10ms", "watch-resubscribed<2", "watch-ended<=0"); got != "" {
		t.Errorf("missed: %s", got)
	}
	for text, want := range map[string]string{
		"watch-events>30000":      "watch-events>30000 is missed by watched with 30000.0/s",
		"watch-duplicated<=2":     "watch-duplicated<=2 is missed by watched with 3",
		"watch-duplicated<0.002%": "with 0.0025 %",
		"watch-creation-p99.9<1s": "2000 watchers are too few for this percentile: fewer than 10 are beyond it",
		"watch-p99.9999<1s":       "no metric",
	} {
		if text == "watch-p99.9999<1s" {
			if _, err := ParseThreshold(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if got := missedBy(t, m, text); !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
	lossy, _, _, _ := watchedRun(t, 2, 2000)
	if got := missedBy(t, lossy, "watch-p50<1s", "watch-creation-max<1s"); got != "" {
		t.Errorf("missed: %s", got)
	}
	for text, want := range map[string]string{
		"watch-lost<=0":     "with 2000",
		"watch-p99<1s":      "the figure depends on a lost event, which counts as slower than every event that arrived",
		"watch-sent-max<1s": "the figure depends on a lost event",
		"watch-p99.99<1s":   "the figure depends on a lost event",
	} {
		if got := missedBy(t, lossy, text); !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}

// If the result contains a percentile of watch events, it equals the percentile from the
// histograms. Otherwise, the percentile is computed from the histograms. Events in the warm-up are
// excluded.
func TestWatchPercentilesAreThoseOfTheHistograms(t *testing.T) {
	settle.SkipUnderRace(t)
	for seed := range uint64(3) {
		m, due, sent, creation := watchedRun(t, seed, 7*seed)
		trial := &m.Run.Trials[0]
		for prefix, whole := range map[string]*measure.Histogram{"watch": due, "watch-sent": sent, "watch-creation": creation} {
			for _, p := range []float64{50, 97.5, 99} {
				th, err := ParseThreshold(fmt.Sprintf("%s-p%v<1s", prefix, p))
				must(t, err)
				times, failed := th.Figure.Times.Extract(trial)
				th.Figure.Percentile = p // as if the result did not contain this percentile
				got, err := th.percentile(trial, times.Count, failed)
				must(t, err)
				if want := figures.TimeValue(measure.Percentile(whole, failed, p)); got != want || times.Count != uint64(whole.TotalCount())+failed {
					t.Errorf("%s with %d lost events: the record has %+v of %d events, want %+v", th.Text, failed, got, times.Count, want)
				}
				if in := figures.TimeValue(times.Percentile(p)); p != 97.5 && in != got {
					t.Errorf("%s: %+v in the result, %+v in its histograms", th.Text, in, got)
				}
			}
		}
	}
}

// If no trial has the figure of a threshold, the threshold is refused before anything runs. The
// error contains the trial's name.
func TestThresholdsOnMissingFiguresAreRefused(t *testing.T) {
	trials := []record.Conditions{
		{Name: "put"}, {Name: "get"}, {Name: "watched", Load: scenario.Load{Watch: &scenario.Watch{Watchers: 1}}},
		{Name: "catch-up", Load: scenario.Load{Watch: &scenario.Watch{Watchers: 1, Key: []byte("w")}}}, {Name: "stm", Load: scenario.Load{STM: &scenario.STM{}}},
	}
	checkThresholds(t, trials, map[string]string{
		"watch-p99<1ms":           "",
		"watch-lost<=0":           "",
		"watched:watch-p99<1ms":   "",
		"catch-up:watch-events>1": "",
		"catch-up:watch-p99<1ms":  `"catch-up:watch-p99<1ms": watch-p99 needs events of watched writes, but the trial catch-up has none`,
		"put:watch-p99<1ms":       `"put:watch-p99<1ms": watch-p99 needs events of watched writes, but the trial put has none`,
		"put:watch-lost<=0":       `"put:watch-lost<=0": watch-lost needs watchers, but the trial put has none`,
		"?et:watch-lost<=0":       "the trial get has none",
		"[pg]*:watch-lost<=0":     "watch-lost needs watchers, but none of the 2 trials has any (the first is put)",
		"retries<5":               "",
		"put:retries<5":           "retries needs stm operations, but the trial put has none",
	})
	th, err := ParseThreshold("watch-p99<1ms")
	must(t, err)
	if err := CheckThresholds([]Threshold{th}, trials[:1]); err == nil || !strings.HasSuffix(err.Error(), "the trial put has none") {
		t.Errorf("%v", err)
	}
	if _, err := ParseThreshold("watch-lots<1"); err == nil || !strings.Contains(err.Error(), `did you mean "watch-lost"?`) {
		t.Errorf("%v", err)
	}
}
