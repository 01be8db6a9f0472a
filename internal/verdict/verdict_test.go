package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// good is a closed loop of 100 clients for 10 s at 10 ms that breaks no rule.
func good() Figures {
	return Figures{
		Seconds: 10, Due: 100_000, Succeeded: 100_000, Timed: 100_000, Done: 100_000,
		TotalNS: 1e12, LongestNS: 20e6, ServiceP50NS: 10e6, ResponseP50NS: 10e6,
		Clients: 100, MeanInFlight: 100, Writes: true, Preloaded: true, ValueSize: 256,
		Loops: 2, LoopCPUNS: 4e9, RunDelayNS: 1e9, Slices: 10_000, LongestPauseNS: 12e6,
		DurabilityKnown: true, FileSystem: "ext4",
	}
}

func goodOpen() Figures {
	f := good()
	f.OpenLoop, f.Rate, f.Clients, f.MaxInFlight = true, 10_000, 0, 100_000
	f.LatenessP99NS = 100_000
	return f
}

func TestGoodIsValid(t *testing.T) {
	for _, f := range []Figures{good(), goodOpen()} {
		want := Verdict{State: Valid, Reasons: []Reason{}, Notes: []string{}}
		if diff := cmp.Diff(want, Judge(f)); diff != "" {
			t.Errorf("verdict (-want +got):\n%s", diff)
		}
	}
}

// Each rule is tried below, at and above its limit; the figure is at fault
// alone, so that no other rule speaks.
func TestRules(t *testing.T) {
	ms := int64(time.Millisecond)
	tests := []struct {
		rule  int
		what  string
		open  bool
		set   func(*Figures)
		state State
	}{
		{11, "one of 1,000 completed", false, func(f *Figures) { *f = few(1000, 999) }, Suspect},
		{1, "none completed", false, func(f *Figures) { *f = few(1000, 1000) }, Invalid},
		{1, "none due", false, func(f *Figures) { *f = Figures{Seconds: 10} }, Invalid},

		{2, "one more due", false, func(f *Figures) { f.Due++; f.Timed++ }, Invalid},
		{2, "one less due", false, func(f *Figures) { f.Due--; f.Timed-- }, Invalid},
		{2, "one not timed", false, func(f *Figures) { f.Timed-- }, Invalid},

		{3, "none wrong", false, func(f *Figures) { f.WrongAnswers = 0 }, Valid},
		{3, "one wrong", false, func(f *Figures) { f.WrongAnswers = 1 }, Invalid},

		{4, "5.1 % more", false, func(f *Figures) { f.TotalNS = 1.051e12 }, Valid}, // 0.2 % is for the edges
		{4, "5.3 % more", false, func(f *Figures) { f.TotalNS = 1.053e12 }, Invalid},
		{4, "5.1 % less", false, func(f *Figures) { f.TotalNS = 0.949e12 }, Valid},
		{4, "5.3 % less", false, func(f *Figures) { f.TotalNS = 0.947e12 }, Invalid},
		{4, "a stall across the close explains it", false, func(f *Figures) { f.TotalNS, f.LongestNS = 1.09e12, 1e9 }, Valid},
		{4, "clients idle", false, func(f *Figures) { f.MeanInFlight = 90 }, Invalid},
		{4, "mean in flight not known", false, func(f *Figures) { f.MeanInFlight = 0 }, Valid},
		{4, "open loop", true, func(f *Figures) { f.TotalNS = 2e12 }, Valid},

		{5, "49 ms", false, func(f *Figures) { f.LongestPauseNS = 49 * ms }, Valid},
		{5, "50 ms", false, func(f *Figures) { f.LongestPauseNS = 50 * ms }, Valid},
		{5, "51 ms", false, func(f *Figures) { f.LongestPauseNS = 51 * ms }, Suspect},
		{5, "1 s", false, func(f *Figures) { f.LongestPauseNS = 1000 * ms }, Suspect},
		{5, "1.001 s", true, func(f *Figures) { f.LongestPauseNS = 1001 * ms }, Invalid},

		{6, "never", false, func(f *Figures) { f.ThrottledNS = 0 }, Valid},
		{6, "1 ns", false, func(f *Figures) { f.ThrottledNS = 1 }, Suspect},
		{6, "10 %", false, func(f *Figures) { f.ThrottledNS = 1000 * ms }, Suspect},
		{6, "above 10 %", false, func(f *Figures) { f.ThrottledNS = 1001 * ms }, Invalid},

		{7, "at 10 %", false, func(f *Figures) { f.RunDelayNS = 10_000 * ms }, Valid},
		{7, "above", false, func(f *Figures) { f.RunDelayNS = 10_001 * ms }, Suspect},
		{7, "no slices", false, func(f *Figures) { f.RunDelayNS, f.Slices = 10_001*ms, 0 }, Valid},

		{8, "1 ms at p50 of 10 ms", true, func(f *Figures) { f.LatenessP99NS = 1e6 }, Valid},
		{8, "above", true, func(f *Figures) { f.LatenessP99NS = 1.01e6 }, Suspect},
		{8, "2 ms at p50 of 20 ms", true, func(f *Figures) { f.LatenessP99NS, f.ResponseP50NS = 2e6, 20e6 }, Valid},
		{8, "above", true, func(f *Figures) { f.LatenessP99NS, f.ResponseP50NS = 2.1e6, 20e6 }, Suspect},
		{8, "below 1 ms at p50 of 1 ms", true, func(f *Figures) { f.LatenessP99NS, f.ResponseP50NS = 0.9e6, 1e6 }, Valid},

		{9, "90 %", false, func(f *Figures) { f.LoopCPUNS = 18e9 }, Valid},
		{9, "above", false, func(f *Figures) { f.LoopCPUNS = 18.01e9 }, Suspect},
		{9, "not known", false, func(f *Figures) { f.LoopCPUNS, f.Loops = 18.01e9, 0 }, Valid},

		{10, "1 %", false, func(f *Figures) { f.StolenShare = 0.01 }, Valid},
		{10, "above", false, func(f *Figures) { f.StolenShare = 0.0101 }, Suspect},

		{11, "0.1 %", false, func(f *Figures) { fail(f, 100) }, Valid},
		{11, "above", false, func(f *Figures) { fail(f, 101) }, Suspect},

		{12, "1000", false, func(f *Figures) { *f = few(1000, 0) }, Valid},
		{12, "999", false, func(f *Figures) { *f = few(999, 0) }, Suspect},

		{13, "one lost", false, func(f *Figures) { f.LostMembers = []string{"m2"} }, Suspect},
		{13, "two lost", false, func(f *Figures) { f.LostMembers = []string{"m2", "m3"} }, Suspect},
		{14, "one election", false, func(f *Figures) { f.TermChanges = 1 }, Suspect},
		{14, "two elections", false, func(f *Figures) { f.TermChanges = 2 }, Suspect},

		{15, "100 ms", false, func(f *Figures) { f.CarriedInAgeNS = 100 * ms }, Valid},
		{15, "101 ms", false, func(f *Figures) { f.CarriedInAgeNS = 101 * ms }, Suspect},
		{16, "once", true, func(f *Figures) { f.Capped = 1 }, Suspect},

		{17, "tmpfs", false, func(f *Figures) { f.Volatile, f.FileSystem = true, "tmpfs" }, Suspect},
		{17, "unsynced", false, func(f *Figures) { f.Unsynced = true }, Suspect},
		{17, "both", false, func(f *Figures) { f.Volatile, f.Unsynced = true, true }, Suspect},
		{17, "reads only", false, func(f *Figures) { f.Volatile, f.Writes = true, false }, Valid},

		{18, "one miss", false, func(f *Figures) { f.Misses = 1 }, Suspect},
		{18, "no preload", false, func(f *Figures) { f.Misses, f.Preloaded = 1, false }, Valid},
		{18, "deletes", false, func(f *Figures) { f.Misses, f.Deletes = 1, true }, Valid},
		{19, "interrupted", false, func(f *Figures) { f.Interrupted = true }, Suspect},

		{20, "an event before its write", true, func(f *Figures) { f.Events.Impossible, f.Events.Untimed = 1, 1 }, Invalid},
		{20, "an event of another key", true, func(f *Figures) { f.Events.Wrong = 1 }, Invalid},
		{21, "all events", true, func(f *Figures) { f.Events.Expected = 1000 }, Valid},
		{21, "one lost", true, func(f *Figures) { f.Events.Expected, f.Events.Lost = 1000, 1 }, Suspect},
		{21, "one twice", true, func(f *Figures) { f.Events.Duplicated = 1 }, Suspect},
		{21, "one out of order", true, func(f *Figures) { f.Events.Reordered = 1 }, Suspect},
		{21, "one of somebody else's write", true, func(f *Figures) { f.Events.Untimed = 1 }, Suspect},
		{21, "a watcher ended", true, func(f *Figures) { f.Events.Ended, f.Events.EndedText = 1, "compacted" }, Suspect},
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
				t.Errorf("rule %d speaks, want %d: %s", got, tt.rule, v.Reasons[0])
			}
		})
	}
}

// few has n operations, of which so many failed, in an open loop.
func few(n, failed uint64) Figures {
	f := goodOpen()
	f.Due, f.Timed, f.Succeeded, f.Done, f.Rate = n, n, n, n, float64(n)/10
	fail(&f, failed)
	return f
}

func fail(f *Figures, n uint64) { f.Succeeded, f.Failed, f.Done = f.Succeeded-n, n, f.Done-n }

func TestTheWorstReasonDecides(t *testing.T) {
	f := good()
	f.WrongAnswers, f.TermChanges = 3, 1
	v := Judge(f)
	if v.State != Invalid || len(v.Reasons) != 2 || v.Reasons[0].Rule != 3 || v.Reasons[1].Rule != 14 {
		t.Errorf("got %+v", v)
	}
	for _, r := range v.Reasons {
		if strings.ContainsAny(r.Text, "\n") || r.Text == "" {
			t.Errorf("%q is not one sentence", r.Text)
		}
	}
}

func TestNotes(t *testing.T) {
	tests := []struct {
		set  func(*Figures)
		want string
	}{
		{func(f *Figures) { f.ValueSize = 15 }, "not unique"},
		{func(f *Figures) { f.DurabilityKnown = false }, "not known"},
		{func(f *Figures) { f.Volatile, f.VolatileMeant = true, true }, "as the scenario means"},
		{func(f *Figures) { f.OpenLoop, f.Rate = true, 10_102 }, "fell behind"},
	}
	for _, tt := range tests {
		f := good()
		tt.set(&f)
		v := Judge(f)
		if v.State != Valid || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], tt.want) {
			t.Errorf("want valid with one note that says %q, got %+v", tt.want, v)
		}
	}
}

func TestReasonsAreStringsInFiles(t *testing.T) {
	v := Verdict{State: Suspect, Reasons: []Reason{{5, "stood still: for long"}}, Notes: []string{}}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"state":"suspect","reasons":["R5: stood still: for long"],"notes":[]}`; string(b) != want {
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

func TestReasonWithoutRule(t *testing.T) {
	for _, s := range []string{"", "R: x", "R-3: x", "Rx: y", "R7", "plain: text"} {
		var r Reason
		if err := r.UnmarshalText([]byte(s)); err != nil || r != (Reason{Text: s}) {
			t.Errorf("%q: %+v, %v", s, r, err)
		}
	}
}

func TestStateOrder(t *testing.T) {
	if !Suspect.Worse(Valid) || !Invalid.Worse(Suspect) || Valid.Worse(Valid) || !State("?").Worse(Invalid) {
		t.Error("the states' order is wrong")
	}
}

// The first reason is one that makes the verdict what it is.
func TestTheWorstReasonComesFirst(t *testing.T) {
	f := good()
	f.LongestPauseNS, f.ThrottledNS = int64(79*time.Millisecond), int64(2*time.Second)
	v := Judge(f)
	if v.State != Invalid || len(v.Reasons) != 2 || v.Reasons[0].Rule != 6 || v.Reasons[1].Rule != 5 {
		t.Errorf("%+v", v)
	}
}
