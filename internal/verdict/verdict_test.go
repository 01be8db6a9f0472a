package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

func TestUndisturbedTrialIsValid(t *testing.T) {
	for _, f := range []Figures{good(), goodOpen()} {
		want := Verdict{State: Valid, Reasons: []Reason{}, Notes: []string{}, Effect: f.Added.Effect(f.OpenLoop)}
		if diff := cmp.Diff(want, Judge(f)); diff != "" {
			t.Errorf("verdict (-want +got):\n%s", diff)
		}
	}
}

// Each rule is tested below, at and above its limit, with figures that break no other rule.
func TestRules(t *testing.T) {
	ms := int64(time.Millisecond)
	tests := []struct {
		rule  int
		what  string
		open  bool
		set   func(*Figures)
		state State
	}{
		{11, "one of 1,000 completed", false, func(f *Figures) { *f = openLoop(1000, 999) }, Suspect},
		{1, "none completed", false, func(f *Figures) { *f = openLoop(1000, 1000) }, Invalid},
		{1, "none due", false, func(f *Figures) { setOperations(f, 0, 0) }, Invalid},

		{2, "one more due", false, func(f *Figures) { f.Measured.Due++ }, Invalid},
		{2, "one less due", false, func(f *Figures) { f.Measured.Due-- }, Invalid},
		{2, "one not timed", false, func(f *Figures) { f.Measured.Due++; f.Measured.Outcomes[kv.OK]++ }, Invalid},

		{3, "none wrong", false, func(f *Figures) { f.Warmup = &measure.Totals{} }, Valid},
		{3, "one wrong", false, func(f *Figures) { exchange(f, kv.WrongResponse, 1) }, Invalid},
		{3, "one wrong in the warm-up", false, func(f *Figures) {
			f.Warmup = &measure.Totals{Tally: measure.Tally{Outcomes: [kv.NumOutcomes]uint64{kv.WrongResponse: 1}}}
		}, Invalid},

		{4, "5.1 % more", false, func(f *Figures) { setTimes(f, 1.051e12, 20e6, 20e6) }, Valid}, // the edges of the window allow 0.2 % more
		{4, "5.3 % more", false, func(f *Figures) { setTimes(f, 1.053e12, 20e6, 20e6) }, Invalid},
		{4, "5.1 % less", false, func(f *Figures) { setTimes(f, 0.949e12, 20e6, 20e6) }, Valid},
		{4, "5.3 % less", false, func(f *Figures) { setTimes(f, 0.947e12, 20e6, 20e6) }, Invalid},
		{4, "a stall across the close explains it", false, func(f *Figures) { setTimes(f, 1.09e12, 20e6, 1e9) }, Valid},
		{4, "clients idle", false, func(f *Figures) { f.Measured.MeanInFlight = 90 }, Invalid},
		{4, "mean in flight not known", false, func(f *Figures) { f.Measured.MeanInFlight = 0 }, Valid},
		{4, "clients that rest after a refusal", false, func(f *Figures) {
			setTimes(f, 0.8e12, 20e6, 20e6)
			f.Measured.MeanInFlight, f.Measured.MeanResting = 80, 20
		}, Valid},
		{4, "open loop", true, func(f *Figures) { setTimes(f, 2e12, 20e6, 20e6) }, Valid},

		{5, "5 % of p99", false, func(f *Figures) { f.Measured.Paused, f.Added = 3e9, added(0, 0, 0.0499) }, Valid},
		{5, "above", false, func(f *Figures) { f.Measured.Paused, f.Added = 3e9, added(0, 0, 0.051) }, Suspect},
		{5, "above, of an open loop", true, func(f *Figures) { f.Measured.Paused, f.Added = 3e9, added(0, 0, 0.051) }, Suspect},
		{5, "more than all of p50", false, func(f *Figures) { f.Measured.Paused, f.Added = 3e9, added(0, 1.5, 0) }, Suspect},
		{6, "5 % of throughput", false, func(f *Figures) { f.ThrottledNS, f.Added = 2e9, added(0.0499, 0, 0) }, Valid},
		{6, "above", false, func(f *Figures) { f.ThrottledNS, f.Added = 2e9, added(0.051, 0, 0) }, Suspect},
		{6, "the schedule sets the throughput of an open loop", true, func(f *Figures) { f.ThrottledNS, f.Added = 2e9, added(0.2, 0, 0) }, Valid},
		{7, "5 % of p50", false, func(f *Figures) { f.Added = added(0, 0.0499, 0) }, Valid},
		{7, "above", false, func(f *Figures) { f.Added = added(0, 0.051, 0) }, Suspect},
		{7, "not known", false, func(f *Figures) { f.Added = Added{} }, Valid},
		{7, "all of it would have been waiting in the store", false, func(f *Figures) {
			f.Added = added(0.1, 0.1, 0)
			f.Added.Conserved = 1
		}, Valid},
		{8, "late for an unknown reason", true, func(f *Figures) { f.Measured.RunDelay, f.Measured.Paused, f.Added = 0, 0, added(0, 0, 0.06) }, Suspect},
		{8, "in a closed loop", false, func(f *Figures) { f.Measured.RunDelay, f.Measured.Paused, f.Added = 0, 0, added(0.06, 0, 0) }, Suspect},
		{9, "busy, and it does not matter", false, func(f *Figures) { f.Measured.LoopCPU = 19e9 }, Valid},
		{9, "busy", false, func(f *Figures) { f.Measured.LoopCPU, f.Added = 19e9, added(0.06, 0, 0) }, Suspect},

		{10, "1 % of a machine that was idle for half of the time", false, func(f *Figures) { f.StolenShare, f.BusyShare, f.MembersOnMachine = 0.01, 0.5, true }, Valid},
		{10, "6 % of it", false, func(f *Figures) { f.StolenShare, f.BusyShare, f.MembersOnMachine = 0.06, 0.45, true }, Suspect},
		{10, "two thirds of the need of two CPUs that were idle 97 % of the time", false, func(f *Figures) {
			f.StolenShare, f.BusyShare, f.MembersOnMachine, f.Machine = 0.02, 0.01, true, &measure.Machine{CPUs: 2}
		}, Valid},
		{10, "4 % of the time of two idle CPUs", false, func(f *Figures) {
			f.StolenShare, f.BusyShare, f.MembersOnMachine, f.Machine = 0.04, 0.01, true, &measure.Machine{CPUs: 2}
		}, Suspect},
		{10, "members elsewhere", false, func(f *Figures) { f.StolenShare, f.BusyShare = 0.05, 0.45 }, Valid},
		{10, "only the generator was delayed", false, func(f *Figures) {
			f.StolenShare, f.BusyShare, f.Added = 0.2, 0.45, added(0, 0, 0.2)
		}, Suspect},
		{23, "1 % of other programs", false, func(f *Figures) { f.ForeignShare, f.BusyShare, f.MembersOnMachine = 0.01, 1, true }, Valid},
		{23, "10 % on an idle machine", true, func(f *Figures) { f.ForeignShare, f.BusyShare, f.MembersOnMachine = 0.1, 0.3, true }, Valid},
		{23, "a third of a busy machine", false, func(f *Figures) { f.ForeignShare, f.BusyShare, f.MembersOnMachine = 0.33, 1, true }, Suspect},
		{23, "members elsewhere", false, func(f *Figures) { f.ForeignShare, f.BusyShare = 0.33, 1 }, Valid},

		{25, "10 % apart", false, func(f *Figures) { setHalves(f, 16, 1050, 950, 19) }, Valid},
		{25, "slower in the second half", false, func(f *Figures) { setHalves(f, 15, 1060, 940, 19) }, Suspect},
		{25, "faster in the second half", false, func(f *Figures) { setHalves(f, 15, 500, 940, 19) }, Suspect},
		{25, "as far apart as their seconds are", false, func(f *Figures) { setHalves(f, 16, 1200, 900, 232) }, Valid},
		{25, "too short to judge", false, func(f *Figures) { setHalves(f, 14, 1200, 900, 4) }, Valid},
		{25, "an open loop's throughput is its schedule's", true, func(f *Figures) { setHalves(f, 15, 1200, 900, 4) }, Valid},

		{11, "0.1 %", false, func(f *Figures) { setOperations(f, 100_000, 100) }, Valid},
		{11, "above", false, func(f *Figures) { setOperations(f, 100_000, 101) }, Suspect},

		{12, "1000", false, func(f *Figures) { *f = openLoop(1000, 0) }, Valid},
		{12, "999", false, func(f *Figures) { *f = openLoop(999, 0) }, Suspect},

		{13, "one lost", false, func(f *Figures) { f.LostMembers = []string{"m2"} }, Suspect},
		{13, "two lost", false, func(f *Figures) { f.LostMembers = []string{"m2", "m3"} }, Suspect},
		{14, "one election", false, func(f *Figures) { f.TermChanges = 1 }, Suspect},
		{14, "two elections", false, func(f *Figures) { f.TermChanges = 2 }, Suspect},

		{15, "100 ms", false, func(f *Figures) { f.Measured.OldestInFlightAge = 100 * ms }, Valid},
		{15, "150 ms, as operations take here", false, func(f *Figures) { f.Measured.OldestInFlightAge = 150 * ms; setTimes(f, 1e12, 130e6, 130e6) }, Valid},
		{15, "a stall of 5 % of the window", false, func(f *Figures) { f.Measured.OldestInFlightAge = 600 * ms }, Valid},
		{15, "above", false, func(f *Figures) { f.Measured.OldestInFlightAge = 601 * ms }, Suspect},
		{16, "two without an effect", true, func(f *Figures) { f.Measured.WaitedForLimit = 2; hold(f, 2, 5e3) }, Valid},
		{16, "p99 is the limit's", true, func(f *Figures) { f.Measured.WaitedForLimit = 2000; hold(f, 2000, 5e6) }, Suspect},
		{16, "p99 is the connections'", true, func(f *Figures) { f.Measured.WaitedForConnection = 2000; hold(f, 2000, 5e6) }, Suspect},
		{17, "tmpfs", false, func(f *Figures) { f.Durability.Volatile, f.Durability.FileSystem = true, "tmpfs" }, Suspect},
		{17, "unsynced", false, func(f *Figures) { f.Durability.Synced = false }, Suspect},
		{17, "both", false, func(f *Figures) { f.Durability.Volatile, f.Durability.Synced = true, false }, Suspect},
		{17, "reads only", false, func(f *Figures) { f.Durability.Volatile, f.HasWrites = true, false }, Valid},

		{18, "one miss", false, func(f *Figures) { exchange(f, kv.Miss, 1) }, Suspect},
		{18, "no preload", false, func(f *Figures) { exchange(f, kv.Miss, 1); f.Preloaded = false }, Valid},
		{18, "deletes", false, func(f *Figures) { exchange(f, kv.Miss, 1); f.HasDeletes = true }, Valid},
		{18, "one kind found nothing", false, func(f *Figures) {
			exchange(f, kv.Miss, 7)
			f.Measured.Misses[kv.Delete], f.HasDeletes = 7, true
			f.Measured.Cells = []*measure.Cell{{Series: measure.Series{Kind: kv.Delete}, Response: repeated(10e6, 7)}}
		}, Suspect},
		{24, "a member too many", false, func(f *Figures) { f.Measured.Unattributed = 1 }, Suspect},
		{24, "a member too many in the warm-up", false, func(f *Figures) { f.Warmup = &measure.Totals{Tally: measure.Tally{Unattributed: 1}} }, Suspect},
		{19, "interrupted", false, func(f *Figures) { f.Interrupted = true }, Suspect},

		{20, "an event before its write", true, func(f *Figures) { f.Measured.Watching.Impossible, f.Measured.Watch.Untimed = 1, 1 }, Invalid},
		{20, "an event of another key", true, func(f *Figures) { f.Measured.Watching.Wrong = 1 }, Invalid},
		{21, "all events", true, func(f *Figures) { f.Measured.Watching.Expected = 1000 }, Valid},
		{21, "one lost", true, func(f *Figures) { f.Measured.Watching.Expected, f.Measured.Watching.Lost = 1000, 1 }, Suspect},
		{21, "one twice", true, func(f *Figures) { f.Measured.Watch.Duplicated = 1 }, Suspect},
		{21, "one out of order", true, func(f *Figures) { f.Measured.Watch.Reordered = 1 }, Suspect},
		{21, "one of another program's write", true, func(f *Figures) { f.Measured.Watch.Untimed = 1 }, Suspect},
		{21, "a write before the load to the given key", true, func(f *Figures) { f.Measured.Watch.Untimed, f.WatchesGivenKey = 1, true }, Valid},
		{21, "one twice in the warm-up", true, func(f *Figures) { f.Measured.Watching.Duplicated = 1 }, Valid},
		{21, "a watcher ended", true, func(f *Figures) { f.Measured.Watching.Ended, f.Measured.Watching.EndedText = 1, "compacted" }, Suspect},
		{22, "hashes differ", false, func(f *Figures) { f.Disagreement = "a has 1 and b has 2" }, Invalid},
		{22, "no hashes", false, func(f *Figures) { f.Incomparable = "a does not answer" }, Suspect},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("R%d %s", tt.rule, tt.what), func(t *testing.T) {
			f := good()
			if tt.open {
				f = goodOpen()
			}
			tt.set(&f)
			v := Judge(f)
			if v.State != tt.state {
				t.Fatalf("%s, want %s: %v", v.State, tt.state, v.Reasons)
			}
			if tt.state == Valid {
				return
			}
			if len(v.Reasons) != 1 {
				t.Fatalf("%d reasons, want one: %v", len(v.Reasons), v.Reasons)
			}
			if got := v.Reasons[0].Rule; got != tt.rule {
				t.Errorf("rule %d reports, want %d: %s", got, tt.rule, v.Reasons[0])
			}
		})
	}
}

func TestWorstReasonDecides(t *testing.T) {
	f := good()
	exchange(&f, kv.WrongResponse, 3)
	f.TermChanges = 1
	v := Judge(f)
	if v.State != Invalid || len(v.Reasons) != 2 || v.Reasons[0].Rule != 3 || v.Reasons[1].Rule != 14 {
		t.Errorf("got %+v", v)
	}
	for _, r := range v.Reasons {
		if strings.ContainsAny(r.Text, "\n") || r.Text == "" {
			t.Errorf("%q is not one line", r.Text)
		}
	}
}

func TestNotes(t *testing.T) {
	tests := []struct {
		set  func(*Figures)
		want string
	}{
		{func(f *Figures) { f.ValueSize = 15 }, "carry no checksum"},
		{func(f *Figures) { f.Durability = nil }, "Durability unknown"},
		{func(f *Figures) { f.Durability.Volatile, f.AllowVolatile = true, true }, "as the scenario allows"},
		{func(f *Figures) { f.OpenLoop, f.Measured.Done = true, 98_900 }, "fell behind"},
		{func(f *Figures) { f.Measured.Paused, f.Added = 3e9, added(0, 0, 0.03) }, "R5 generator paused: "}, {func(f *Figures) { f.Measured.Paused, f.Added = 3e9, added(0, 0, 0.03) }, "p99 may be up to 3 %, p99.9 3 % and max 3 % too high"},
		{func(f *Figures) {
			f.ForeignKnown, f.ForeignShare, f.BusyShare, f.MembersOnMachine = true, 0.02, 1, true
		}, "R23 other programs: other programs used 2 %"},
		{func(f *Figures) { f.BusyShare, f.MembersOnMachine = 0.9, true }, "The share of other programs is unknown"},
	}
	for _, tt := range tests {
		f := good()
		tt.set(&f)
		v := Judge(f)
		if v.State != Valid || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], tt.want) {
			t.Errorf("want valid with one note that contains %q, got %+v", tt.want, v)
		}
	}
}

// The note names what delayed the operations: the store, the generator, or both.
func TestNoteOnFallingBehind(t *testing.T) {
	behind := func(set func(*Figures)) string {
		f := goodOpen()
		f.Measured.Done -= f.Measured.Due / 7
		set(&f)
		for _, note := range Judge(f).Notes {
			if strings.Contains(note, "fell behind") {
				return note
			}
		}
		return ""
	}
	own := func(share float64) func(*Figures) {
		return func(f *Figures) {
			f.Added = added(0, 0, 0)
			f.Added.Sampled.Mean, f.Added.MeanNS = measure.Figure{NS: 100e6, Known: true}, share*100e6
		}
	}
	unsent := func(n, room uint64) func(*Figures) {
		return func(f *Figures) { exchange(f, kv.NotSent, n); f.Measured.WaitedForConnection = room }
	}
	for want, cases := range map[string][]func(*Figures){
		"The store fell behind: ":          {func(*Figures) {}, own(0.05), unsent(10_000, 10_000)},
		"The load fell behind: ":           {own(0.3)},
		"The load generator fell behind: ": {own(0.9), unsent(14_000, 10)},
	} {
		for i, set := range cases {
			if note := behind(set); !strings.HasPrefix(note, want) {
				t.Errorf("case %d: %q, want %q", i, note, want)
			}
		}
	}
}

// If the generator's threads waited in a run queue, R5 names the scheduler as the cause, not a stop
// or the hypervisor.
func TestReasonOfAGeneratorPause(t *testing.T) {
	for _, c := range []struct {
		queued int64
		want   string
	}{{0, "the process was stopped, or the hypervisor withheld the CPU"}, {130e6, "low priority, or all CPUs busy"}} {
		f := good()
		f.Measured.Paused, f.Measured.LongestPause, f.Measured.RunDelay, f.Added = 150e6, 130e6, c.queued, added(0, 0, 0.2)
		v, said := Judge(f), false
		for _, r := range v.Reasons {
			said = said || r.Rule == 5 && strings.Contains(r.Text, c.want)
		}
		if !said {
			t.Errorf("with a run delay of %d ns, the reasons are %v", c.queued, v.Reasons)
		}
	}
}

func TestVerdictInJSON(t *testing.T) {
	v := Verdict{State: Suspect, Reasons: []Reason{{5, "stood still: for long", []string{"p90", "max"}}, {17, "tmpfs", nil}}, Notes: []string{}}
	v.Effect.Throughput, v.Effect.Times[timeIndex("p99.9")] = 0.25, 0.5
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"state":"suspect","reasons":[{"rule":5,"text":"stood still: for long","figures":["p90","max"]},{"rule":17,"text":"tmpfs"}],"notes":[],` +
		`"effect":{"max":0,"mean":0,"min":0,"p10":0,"p25":0,"p50":0,"p75":0,"p90":0,"p95":0,"p99":0,"p99_9":0.5,"stddev":0,"throughput":0.25}}`
	if string(b) != want {
		t.Errorf("got %s", b)
	}
	var back Verdict
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, back); diff != "" {
		t.Error(diff)
	}
}

func TestOrderOfStates(t *testing.T) {
	if !Suspect.Worse(Valid) || !Invalid.Worse(Suspect) || Valid.Worse(Valid) || !State("?").Worse(Invalid) {
		t.Error("Worse orders the states incorrectly")
	}
}

// The first reason has the state of the verdict.
func TestWorstReasonComesFirst(t *testing.T) {
	f := good()
	f.Disagreement, f.TermChanges = "a has 1 and b has 2", 1
	v := Judge(f)
	if v.State != Invalid || len(v.Reasons) != 2 || v.Reasons[0].Rule != 22 || v.Reasons[1].Rule != 14 {
		t.Errorf("%+v", v)
	}
}

// A throughput of 0 and missing times have no effect, and no reason or note mentions them.
func TestNoEffectWithoutSuccesses(t *testing.T) {
	for _, failed := range []uint64{0, 1000} {
		f := good()
		setOperations(&f, failed, failed)
		f.Headline = measure.Summarize(nil, failed)
		for _, e := range []Effect{uniformEffect(0.2, 0.5), uniformEffect(0.2, 0), uniformEffect(0, 20)} {
			if found := f.judgeEffect(e, "the machine was busy"); found.text != "" || found.effect != (Effect{}) || found.state != Valid {
				t.Errorf("with %d failed operations and no success, the finding is %+v", failed, found)
			}
		}
		f.Measured.Outcomes[kv.OK] = 10
		if found := f.judgeEffect(uniformEffect(0.2, 0), "the machine was busy"); !strings.Contains(found.text, "throughput may be up to 20 % too low") {
			t.Errorf("10 succeeded: %+v", found)
		}
	}
}

// 1,000 operations are sent. 100 of them wait, for 1 to 100 ms.
func TestWaitsCoverAllOperations(t *testing.T) {
	d := &measure.Disturbance{OwnDelay: repeated(1000, 1000), BlockedDelay: measure.NewHistogram()}
	for i := range int64(100) {
		measure.Record(d.BlockedDelay, (i+1)*1e6)
	}
	waits := waitTimes(d)
	for i, p := range Quantiles() {
		want := map[float64]float64{90: 1e6, 95: 50e6, 99: 90e6, 99.9: 99e6, 100: 100e6}[p]
		if got := waits[i]; got < 0.98*want || got > 1.02*want {
			t.Errorf("p%v waited %v ns, want %v", p, got, want)
		}
	}
	if mean := waits[MeanIndex]; math.Abs(mean-5.05e6) > 0.01e6 {
		t.Errorf("the mean operation waited %v ns", mean)
	}
	if waitTimes(&measure.Disturbance{}) != (Times{}) {
		t.Error("a disturbance without waits has wait times")
	}
}

// R25 compares the two halves of the window, in whole seconds. If the window has an odd number of
// whole seconds, R25 ignores the middle one.
func TestHalvesOfTheWindow(t *testing.T) {
	f := good()
	f.Measured.Seconds = 31.9
	for i := range 32 {
		f.DoneEachSecond = append(f.DoneEachSecond, map[int]uint64{0: 1200, 1: 800, 2: 9}[i/16])
	}
	f.DoneEachSecond[15], f.DoneEachSecond[31] = 9999, 9 // the window ended within the last second
	if found := R25Unsteady(&f); !strings.Contains(found.text, "1200/s in the first half of the window and 800/s in the second half") {
		t.Errorf("%+v", found)
	}
	var slower []uint64
	for i := range uint64(15) {
		slower = append(slower, 1000-20*i)
	}
	if mean, deviation := meanThroughput(slower); mean != 860 || math.Abs(deviation-23.09) > 0.01 {
		t.Errorf("%v ± %v", mean, deviation)
	}
}
