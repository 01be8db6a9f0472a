package figures

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// played is a simulated window with two members, whose throughput is a given function of time.
type played struct {
	seconds []*measure.Second
	course  measure.WindowTimeline
}

// play generates operations. The function `rate` returns a member's rate in a millisecond. If the
// function `fails` returns true, the operations in this millisecond fail.
func play(seed uint64, seconds int, rate func(ms, member int) float64, fails func(ms, member int) (kv.Outcome, bool)) *played {
	r := rand.New(rand.NewPCG(seed, 5))
	p := &played{}
	for i := range seconds {
		s := &measure.Second{Phase: measure.Measured, Index: i, SlotDetail: &measure.SlotDetail{}}
		for ms := range 1000 {
			for member := range 2 {
				at := 1000*i + ms
				n := int(rate(at, member)/1000 + r.Float64()) // differs from the exact number by less than one operation
				for range n {
					series := measure.Series{Kind: kv.Kind(member % 2), Consistency: kv.Linearizable, Member: uint64(member + 1)}
					outcome := kv.OK
					if o, failing := fails(at, member); failing {
						outcome = o
					} else {
						s.Alive.Add(int64(ms) * 1_000_000)
					}
					if ns := int64(ms)*1_000_000 + 500; outcome.Failed() {
						s.SlotDetail.CountFailure(series.Kind, outcome, ns, ns)
					} else {
						s.SlotDetail.CountSuccess(&series, ns)
					}
				}
			}
		}
		p.seconds = append(p.seconds, s)
		p.course.Add(measure.NewWindowSecond(s, measure.Figure{NS: 2e6, Known: true}))
	}
	return p
}

func never(int, int) (kv.Outcome, bool) { return 0, false }

func (p *played) faults(open bool, all ...record.Fault) []record.Fault {
	findOutages(all, &p.course.Completed, float64(len(p.course.P99)))
	findRecovery(all, &p.course, float64(len(p.course.P99)), open, func(m uint64) string { return []string{"", "m1", "m2"}[m] })
	return all
}

func done(began, ready float64) record.Fault {
	return record.Fault{Number: 1, Description: "pause leader for 1s", BeganAt: &began, HealedAt: &ready, RecoveredAt: &ready, Member: "m1", Role: "leader"}
}

func isKnown(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > tolerance {
		t.Errorf("%s is %v, not %v within %v", what, orNaN(got), want, tolerance)
	}
}

func orNaN(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// The figures of a fault agree with the simulated course of events. One member stops for two
// seconds. During this time, the other member stops for one second. For one more second, both run
// at half of their rate.
func TestRecoveryFromAKnownFault(t *testing.T) {
	p := play(1, 20, func(ms, member int) float64 {
		switch {
		case member == 0 && ms >= 8000 && ms < 10_000, member == 1 && ms >= 8500 && ms < 9500:
			return 0
		case ms >= 10_000 && ms < 11_000:
			return 2000
		}
		return 4000
	}, never)
	p.course.P99[8], p.course.P99[11] = measure.Figure{Failed: true}, measure.Figure{NS: 9e6, Known: true}
	f := p.faults(false, done(7.99, 10.2))[0]
	isKnown(t, "the outage", f.Outage, 1, 0.003)
	isKnown(t, "its beginning", f.OutageStart, 8.5, 0.003)
	// Throughput counts as recovered at a time if the interval of one second after it has at least
	// 95 % of the usual operations. If the rate is halved for 0.1 s of this interval, exactly 5 %
	// are missing.
	isKnown(t, "throughput back", f.ThroughputRecoveredAt, 10.9, 0.03)
	isKnown(t, "p99 back", f.P99RecoveredAt, 12, 0)
	if len(f.ByPart) != 4 {
		t.Fatalf("the parts are %+v", f.ByPart)
	}
	for i, want := range []struct {
		member, operation string
		outage            float64
	}{{"m1", "", 2}, {"m2", "", 1}} {
		part := f.ByPart[i]
		if part.Member != want.member {
			t.Errorf("part %d is %+v", i, part)
		}
		isKnown(t, want.member, part.Outage, want.outage, 0.003)
	}
	if f.FirstFailureAt != nil || f.Definite+f.Indefinite != 0 {
		t.Errorf("the fault has failures although none occurred: %+v", f)
	}
}

// Definite and indefinite errors during a fault are counted separately. FirstFailureAt is exact to
// 10 ms.
func TestFailuresDuringAFault(t *testing.T) {
	p := play(2, 12, func(int, int) float64 { return 1000 }, func(ms, member int) (kv.Outcome, bool) {
		switch {
		case ms >= 5123 && ms < 5223 && member == 0:
			return kv.TimedOut, true
		case ms >= 6000 && ms < 6050 && member == 1:
			return kv.NoLeader, true
		}
		return 0, false
	})
	f := p.faults(false, done(5, 7))[0]
	isKnown(t, "the first failure", f.FirstFailureAt, 5.123, 0.010)
	if f.Definite != 50 || f.Indefinite != 100 || f.Outage != nil {
		t.Errorf("the fault has %d definite and %d indefinite failures and the outage %v, want 50, 100 and none", f.Definite, f.Indefinite, orNaN(f.Outage))
	}
	isKnown(t, "p99 back", f.P99RecoveredAt, 5, 0)
}

// A failure is attributed to the fault that caused it. If an operation reaches its timeout after
// the next fault has begun, its failure is attributed to the fault during which it was due. Every
// failure after the start of the first fault counts exactly once.
func TestFailuresAreAttributedToTheirFault(t *testing.T) {
	begun := func() []injectedFault {
		return []injectedFault{{&record.Fault{BeganAt: new(2.0)}, 200, 0, 0}, {&record.Fault{BeganAt: new(6.0)}, 600, 400, 400}, {&record.Fault{BeganAt: new(9.0)}, 900, 800, 900}}
	}
	for _, tt := range []struct{ due, end, fault int }{
		{100, 150, -1}, // before the first fault
		{100, 210, 0},  // in flight when the first fault began
		{300, 310, 0},  // during the first fault
		{300, 800, 0},  // its timeout ends after the second fault began
		{450, 610, 1},  // in flight when the second fault began; the first fault had no more effects
		{650, 2000, 1}, // after the third fault began; the second fault still had effects at that time
		{300, 2000, 0}, // due during the first fault
		{950, 1200, 2}, // after the window
	} {
		all := begun()
		attributeFailures(all, []measure.WindowFailures{{Due: tt.due, End: tt.end, Definite: 1, Indefinite: 2}})
		for i, f := range all {
			if counts := f.Definite == 1 && f.Indefinite == 2 && f.FirstFailureAt != nil && *f.FirstFailureAt == float64(tt.end)/100; counts != (i == tt.fault) || f.Definite > 0 != counts {
				t.Errorf("a failure that ended at %d and was due at %d: fault %d has %+v", tt.end, tt.due, i, f.Recovery)
			}
		}
	}
	r := rand.New(rand.NewPCG(11, 12))
	all, total := begun(), uint64(0)
	for range 1000 {
		due := r.IntN(1200)
		failed := measure.WindowFailures{Due: due, End: due + r.IntN(700), Definite: r.Uint64N(3), Indefinite: r.Uint64N(3)}
		if failed.End >= 200 {
			total += failed.Definite + failed.Indefinite
		}
		attributeFailures(all, []measure.WindowFailures{failed})
	}
	counted := uint64(0)
	for _, f := range all {
		counted += f.Definite + f.Indefinite
	}
	if counted != total {
		t.Errorf("%d of %d failures were counted", counted, total)
	}
}

// If a fault causes no outage, none is reported, and throughput counts as recovered at the start of
// the fault.
func TestReportsNoOutageWithoutOne(t *testing.T) {
	settle.SkipUnderRace(t)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		drift := 0.0
		p := play(seed, 20, func(int, int) float64 {
			drift = 0.99*drift + 0.02*(r.Float64()-0.5)
			return 3000 * (1 + drift)
		}, never)
		f := p.faults(seed%2 == 0, done(8, 8.5))[0]
		if f.Outage != nil || f.FirstFailureAt != nil || f.ThroughputRecoveredAt == nil || f.P99RecoveredAt == nil || *f.P99RecoveredAt != 8 {
			t.Errorf("seed %d: without an outage, the fault has %+v, and the throughput has recovered at %v", seed, f, orNaN(f.ThroughputRecoveredAt))
		}
		for _, part := range f.ByPart {
			if part.Outage != nil {
				t.Errorf("seed %d: %+v", seed, part)
			}
		}
	}
}

// In an open loop, throughput has recovered only when the backlog is gone. If the backlog does not
// shrink, no recovery is reported.
func TestBacklogIsWorkedOff(t *testing.T) {
	rate := func(ms, _ int) float64 {
		switch {
		case ms >= 6000 && ms < 7000:
			return 0
		case ms >= 7000 && ms < 9000:
			return 3000
		}
		return 2000
	}
	f := play(3, 20, rate, never).faults(true, done(6, 7))[0]
	isKnown(t, "throughput back", f.ThroughputRecoveredAt, 8.9, 0.03)
	f = play(3, 20, rate, never).faults(false, done(6, 7))[0]
	isKnown(t, "throughput of a closed loop back", f.ThroughputRecoveredAt, *f.OutageStart+*f.Outage, 0.001)
	f = play(4, 20, func(ms, member int) float64 {
		if ms > 6000 && member == 0 {
			return 0
		}
		return 2000
	}, never).faults(false, done(6, 7))[0]
	if f.ThroughputRecoveredAt != nil || !f.ByPart[0].Unfinished {
		t.Errorf("although half of the load has not returned, the fault has %+v", f)
	}
	f = play(5, 8, func(int, int) float64 { return 2000 }, never).faults(false, done(0.5, 1))[0]
	if f.ThroughputRecoveredAt != nil || f.P99RecoveredAt != nil {
		t.Errorf("without a period for comparison, the throughput has recovered at %v", orNaN(f.ThroughputRecoveredAt))
	}
}

// If there are several faults, each is compared with the time since the previous fault, and its
// effects are observed until the next fault.
func TestConsecutiveFaults(t *testing.T) {
	p := play(6, 30, func(ms, _ int) float64 {
		if ms >= 5000 && ms < 6500 || ms >= 15_000 && ms < 15_400 || ms >= 29_000 {
			return 0
		}
		return 2000
	}, never)
	undone := record.Fault{Number: 2, Description: "pause leader for 1s", Failure: "not"}
	all := p.faults(false, done(5, 7), undone, done(15, 16), done(28.9, 29.5))
	isKnown(t, "the first outage", all[0].Outage, 1.5, 0.003)
	isKnown(t, "the second", all[2].Outage, 0.4, 0.003)
	if all[1].Outage != nil || all[1].LongestGapBefore != nil || !all[3].OutageUnfinished || all[3].ThroughputRecoveredAt != nil {
		t.Errorf("they are %+v", all)
	}
	text := strings.Join(record.OutageSentences(all), "\n")
	if want := "pause leader for 1s, 3 times: no operation completed for "; !strings.HasPrefix(text, want) || !strings.Contains(text, "1 outage had not ended") {
		t.Errorf("the sentence is %q", text)
	}
	one := record.OutageSentences(all[:1])
	if len(one) != 1 || !strings.HasPrefix(one[0], "pause leader for 1s at 5 s: no operation completed for 1.5 s; the longest gap before the fault was ") || !strings.HasSuffix(one[0], "; all members responded and agreed on a leader again 2 s after the fault began") {
		t.Errorf("the sentence about one fault is %q", one)
	}
	if none := record.OutageSentences(p.faults(false, done(20, 20.5))); len(none) != 1 || !strings.Contains(none[0], "no outage (no gap was significantly longer than the longest gap before the fault") {
		t.Errorf("the sentences about no fault are %q", none)
	}
}

// The outage of a single client is its longest time without a success that ends after the fault
// began. It counts only if it is longer than every such time before the fault.
func TestOutagesOfClients(t *testing.T) {
	gap := func(client uint32, from, to int) measure.ClientGap {
		return measure.ClientGap{Client: client, Gap: measure.Gap{From: from, To: to}}
	}
	c := &measure.WindowTimeline{Clients: 5, Waits: []measure.ClientGap{
		gap(0, 100, 400),                       // 300 ms; ended before the fault
		gap(1, 1900, 4100), gap(1, 4200, 4700), // the longer one counts
		gap(2, 2100, 2390),                     // not longer than before the fault
		gap(3, 2500, 9000),                     // lasts beyond the next fault
		gap(4, 4950, 7000), gap(0, -700, 2500), // the first is too short until the next fault, and the second begins before the window
	}}
	want := record.ClientOutages{Clients: 5, Median: 0, Worst: 2.5, UnfinishedOutages: 1}
	if got := clientOutages(c, 0, 2, 5); got == nil || *got != want {
		t.Errorf("the outages of clients are %+v, want %+v", got, want)
	}
	c.Waits[4].To = 4500
	want = record.ClientOutages{Clients: 5, Median: 0, Worst: 2.2}
	if got := clientOutages(c, 0, 2, 5); got == nil || *got != want {
		t.Errorf("the outages of clients are %+v, want %+v", got, want)
	}
	if c.WaitsTruncated = true; clientOutages(c, 0, 2, 5) != nil {
		t.Error("the outages of clients are known although not all waits were kept")
	}
	c.WaitsTruncated, c.Clients = false, math.MaxInt // a damaged file
	if got := clientOutages(c, 0, 2, 5); got == nil || got.Median != 0 || got.Worst != 2.2 {
		t.Errorf("with very many clients, the outages are %+v", got)
	}
	if clientOutages(&measure.WindowTimeline{}, 0, 2, 5) != nil {
		t.Error("an open loop has outages of clients")
	}
}

// A run records the course of each second of a trial with faults. ReadTrialFiles computes the recovery
// from these seconds, and run.json does not contain the recovery. If slots.jsonl is damaged or
// missing, the run has a problem and the recovery is unknown.
func TestRecoveryIsComputedWhenTheRunIsRead(t *testing.T) {
	w := newRun(t)
	c := conditions()
	c.Faults = []fault.Fault{{Kind: fault.Pause, At: 4 * time.Second, Duration: time.Second}}
	tw, err := w.Trial(c, noon)
	must(t, err)
	must(t, tw.Begin(measure.Measured, noon))
	rate := func(ms, _ int) float64 {
		if ms >= 4000 && ms < 5500 {
			return 0
		}
		return 4000
	}
	for _, s := range play(1, 10, rate, never).seconds {
		must(t, tw.Second(s))
	}
	result := record.Trial{Schema: record.TrialSchema, State: record.Complete, Conditions: c, Started: noon, Seconds: 10}
	result.Faults = []record.Fault{done(4, 5)}
	result.ByMember = []record.ByMember{{Name: "m1", ID: 1}, {Name: "m2", ID: 2}}
	must(t, tw.Finish(result))
	must(t, w.Finish(record.Complete, "", noon))
	if text := readFile(t, w.Dir(), "run.json"); strings.Contains(text, "outage") || !strings.Contains(text, `"recovered_seconds": 5`) {
		t.Errorf("run.json contains %s", text)
	}
	path := filepath.Join(tw.Dir(), "slots.jsonl")
	slots := readFile(t, path)
	short := slots[:strings.LastIndex(slots[:len(slots)-1], "\n")]
	for _, tt := range []struct {
		contents string
		known    bool
		problem  string
	}{
		{slots, true, ""},
		{short, false, "The last line of trial-01-put-leader/slots.jsonl is incomplete"},
		{short, false, "Cannot compute the recovery after faults from trial-01-put-leader/slots.jsonl: it describes 8 of the 10 seconds of the window"},
		{slots[strings.Index(slots, "\n")+1:], false, "slots.jsonl: line 1 describes second 1 instead of second 0"},
		{"{\n", false, "slots.jsonl: cannot read line 1"},
		{`{"second":0}` + "\n", false, "slots.jsonl: line 1 is too short"},
		{"missing", false, "trial-01-put-leader/slots.jsonl is missing"},
	} {
		if tt.contents == "missing" {
			must(t, os.Remove(path))
		} else {
			must(t, os.WriteFile(path, []byte(tt.contents), 0o644))
		}
		run, err := record.Open(w.Dir())
		must(t, err)
		ReadTrialFiles(run, w.Dir())
		trial := &run.Trials[0]
		f := &trial.Faults[0]
		if (f.Outage != nil) != tt.known || (len(trial.Notes) == 1) != tt.known || tt.known && len(f.ByPart) != 4 {
			t.Errorf("%.40q: %+v with the notes %q", tt.contents, f, trial.Notes)
		}
		if tt.known {
			isKnown(t, "the outage", f.Outage, 1.5, 0.003)
			isKnown(t, "throughput back", f.ThroughputRecoveredAt, 5.5, 0.1)
		}
		if problems := strings.Join(run.Problems, "\n"); !strings.Contains(problems, tt.problem) || (problems == "") != (tt.problem == "") {
			t.Errorf("%.40q: the problems are %q", tt.contents, problems)
		}
	}
	// Outages in run.json are ignored, and impossible times are refused.
	must(t, os.WriteFile(path, []byte(slots), 0o644))
	path = filepath.Join(w.Dir(), "run.json")
	text := strings.Replace(readFile(t, path), `"recovered_seconds": 5`, `"recovered_seconds": 5, "outage_seconds": 9`, 1)
	must(t, os.WriteFile(path, []byte(strings.Replace(text, `"began_seconds": 4`, `"began_seconds": -4`, 1)), 0o644))
	run, err := record.Open(w.Dir())
	must(t, err)
	ReadTrialFiles(run, w.Dir())
	if problems := strings.Join(run.Problems, "\n"); !strings.Contains(problems, "fault 1 began before the window") || run.Trials[0].Faults[0].Outage != nil || run.Trials[0].RecoveryKnown {
		t.Errorf("the outage is %v, with the problems %q", orNaN(run.Trials[0].Faults[0].Outage), problems)
	}
}
