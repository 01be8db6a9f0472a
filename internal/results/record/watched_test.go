package record

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

func watchedSpec() *scenario.Trial {
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Watch = &scenario.Watch{Watchers: 20, Streams: 4, Connections: 2}
	return &scenario.Trial{Name: "watched", Number: 1, Repeat: 1, Repeats: 1, Load: l}
}

// watchedTotals returns a window with n puts and 2n watch events.
func watchedTotals(n uint64) *measure.Totals {
	m := &measure.Totals{Seconds: 2, Tally: measure.Tally{Due: n, Done: n}}
	m.Outcomes[kv.OK] = n
	cell := &measure.Cell{Series: measure.Series{Kind: kv.Put}, Response: measure.NewHistogram(), Service: measure.NewHistogram()}
	m.Cells = append(m.Cells, cell)
	m.Watch.Delivered = 2 * n
	m.Watch.FromDue, m.Watch.FromSent = measure.NewHistogram(), measure.NewHistogram()
	for i := range int64(n) {
		measure.Record(cell.Response, 1e6+i)
		measure.Record(cell.Service, 1e6+i)
		for range 2 {
			measure.Record(m.Watch.FromDue, 3e6+i)
			measure.Record(m.Watch.FromSent, 2e6+i)
		}
	}
	m.Watching = &measure.WatchTotals{Watchers: 20, WatchCounts: measure.WatchCounts{Acknowledged: n, Expected: 2 * n, Delivered: 2 * n}, Created: measure.NewHistogram(), CreatedSeconds: 0.5}
	measure.Record(m.Watching.Created, 1e6)
	return m
}

func ruleOf(v verdict.Verdict, number int) bool {
	for _, r := range v.Reasons {
		if r.Rule == number {
			return true
		}
	}
	return false
}

// Lost, duplicated and impossible events are in the result and affect the verdict. Percentiles also
// take lost events into account.
func TestWatchProblemsAreReported(t *testing.T) {
	settle.SkipUnderRace(t)
	for name, c := range map[string]struct {
		change func(*measure.Totals)
		rule   int
		state  verdict.State
	}{
		"nothing":                {func(*measure.Totals) {}, 0, verdict.Suspect},
		"lost":                   {func(m *measure.Totals) { m.Watching.Lost = 300 }, 21, verdict.Suspect},
		"duplicated":             {func(m *measure.Totals) { m.Watch.Duplicated, m.Watching.Duplicated = 1, 1 }, 21, verdict.Suspect},
		"reordered":              {func(m *measure.Totals) { m.Watch.Reordered, m.Watching.Reordered = 1, 1 }, 21, verdict.Suspect},
		"doubled in the warm-up": {func(m *measure.Totals) { m.Watching.Duplicated = 1 }, 0, verdict.Suspect},
		"impossible":             {func(m *measure.Totals) { m.Watching.Impossible, m.Watching.Untimed = 1, 1 }, 20, verdict.Invalid},
	} {
		m := watchedTotals(1000)
		c.change(m)
		trial := NewTrial(NewConditions(watchedSpec()), Observed{Started: time.Unix(1, 0), Opened: time.Unix(1, 0)}, m, nil, nil)
		w := trial.Watch
		if w == nil || w.FromDue.Count != 2000+w.Lost || w.InWindow != 2000 || w.PerSecond != 1000 || w.CreationSeconds != 0.5 || w.Creation.Count != 1 {
			t.Fatalf("%s: %+v", name, w)
		}
		if got := ruleOf(trial.Verdict, 20) || ruleOf(trial.Verdict, 21); got != (c.rule != 0) || c.rule != 0 && !ruleOf(trial.Verdict, c.rule) {
			t.Errorf("%s: %v", name, trial.Verdict)
		}
		if c.state == verdict.Invalid && trial.Verdict.State != c.state {
			t.Errorf("%s: %s", name, trial.Verdict.State)
		}
		if failed := w.FromDue.Percentile(95).Failed; failed != (w.Lost > 0) {
			t.Errorf("%s: p95 is %+v", name, w.FromDue.Percentile(95))
		}
		b, err := json.Marshal(&trial)
		if err != nil {
			t.Fatal(err)
		}
		var back Trial
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		for _, p := range measure.Percentiles {
			if a, z := w.FromDue.Percentile(p), back.Watch.FromDue.Percentile(p); a.Known != z.Known || a.Failed != z.Failed {
				t.Errorf("%s: p%v is %+v, but it reads back as %+v", name, p, a, z)
			}
		}
		if diff := cmp.Diff(trial.Load.Watch, back.Load.Watch); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Events of writes before the load have no times. This is not a problem.
func TestEventsOfEarlierWritesNeedNoTimes(t *testing.T) {
	spec := watchedSpec()
	spec.Load.Watch.Key, spec.Load.Watch.EarlierEvents = []byte("k"), 8
	m := watchedTotals(1000)
	m.Watch.FromDue, m.Watch.FromSent = nil, nil
	m.Watching.Untimed, m.Watching.Foreign = 2000, 2000
	trial := NewTrial(NewConditions(spec), Observed{Started: time.Unix(1, 0)}, m, nil, nil)
	if ruleOf(trial.Verdict, 21) || trial.Watch.FromDue.Count != 0 {
		t.Errorf("%+v, %v", trial.Watch, trial.Verdict)
	}
}

// The histogram log contains the watch events of each second.
func TestHlogHoldsWatchEvents(t *testing.T) {
	w := newRun(t)
	tw, err := w.Trial(NewConditions(watchedSpec()), time.Unix(100, 0))
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	whole := measure.NewHistogram()
	must(t, tw.Begin(measure.Measured, time.Unix(100, 0)))
	for i := range 3 {
		s := &measure.Second{Phase: measure.Measured, Index: i}
		s.Watch.FromDue, s.Watch.FromSent = measure.NewHistogram(), measure.NewHistogram()
		for range 1000 {
			ns := int64(1e5 + 1e6*r.ExpFloat64())
			measure.Record(s.Watch.FromDue, 2*ns)
			measure.Record(s.Watch.FromSent, ns)
			measure.Record(whole, ns)
		}
		must(t, tw.Second(s))
	}
	must(t, tw.WatchersCreated(measure.Measured, whole, 2.5))
	must(t, tw.Abort(Failed, "it was a test"))
	files, err := OpenTrial(w.Dir(), tw.folder)
	must(t, err)
	sent := Merge(files.Intervals, func(tag Tag) bool { return tag.Time == WatchSent })
	due := Merge(files.Intervals, func(tag Tag) bool { return tag.Time == WatchDue })
	made := Merge(files.Intervals, func(tag Tag) bool { return tag.Time == WatchCreation })
	if !sent.Equals(whole) || !made.Equals(whole) || due.TotalCount() != 3000 || due.Mean() < sent.Mean() {
		t.Errorf("the histograms have %d, %d and %d times, want 3000 each", sent.TotalCount(), due.TotalCount(), made.TotalCount())
	}
	for _, tag := range []Tag{{Phase: measure.Measured, Time: WatchDue}, {Phase: measure.Warmup, Time: WatchSent}, {Phase: measure.Warmup, Time: WatchCreation}} {
		if back, err := ParseTag(tag.String()); err != nil || back != tag {
			t.Errorf("%s is read as %v, %v", tag, back, err)
		}
	}
}

func TestHashesThatDiffer(t *testing.T) {
	settle.SkipUnderRace(t)
	h := &Hashes{Members: []MemberHash{{Endpoint: "a:1", Hash: 1, Revision: 9}, {Endpoint: "b:1", Hash: 1, Revision: 9}}}
	trial := func() Trial {
		return NewTrial(NewConditions(watchedSpec()), Observed{Started: time.Unix(1, 0), Hashes: h}, watchedTotals(1000), nil, nil)
	}
	if got := trial(); ruleOf(got.Verdict, 22) {
		t.Errorf("equal hashes: %v", got.Verdict)
	}
	h.Members[1].Hash = 2
	if got := trial(); !ruleOf(got.Verdict, 22) || got.Verdict.State != verdict.Invalid {
		t.Errorf("hashes 1 and 2: %v", got.Verdict)
	}
	// Members have the same names as in the rest of the record.
	got := NewTrial(NewConditions(watchedSpec()), Observed{Started: time.Unix(1, 0), Hashes: h, Members: []Member{{Name: "m1", Endpoint: "a:1"}}}, watchedTotals(1000), nil, nil)
	if text := fmt.Sprint(got.Verdict.Reasons); !strings.Contains(text, "m1 has hash 1, b:1 has hash 2") || h.Members[0].Name != "" {
		t.Errorf("%s", text)
	}
	h = &Hashes{Failure: "a:1 does not answer"}
	if got := trial(); !ruleOf(got.Verdict, 22) {
		t.Errorf("no hashes: %v", got.Verdict)
	}
}
