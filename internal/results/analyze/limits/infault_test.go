package limits

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// fault returns a fault at m1. Its times are in seconds since the start of the window.
func fault(began, healed, ready float64) record.Fault {
	return record.Fault{Number: 1, Description: "pause leader for 5s", Action: "pause", BeganAt: &began, HealedAt: &healed, RecoveredAt: &ready, Member: "m1", Role: "leader", Recovery: record.Recovery{LongestGapBefore: new(0.01)}}
}

// Effects of an injected fault are not reported as limits of the store. All other effects are
// reported.
func TestFaultsAreNoLimits(t *testing.T) {
	broken := func() *record.Trial {
		trial := slowTrial() // a trial with a row every 30 s
		base := trial.Stores[2]
		trial.Stores = trial.Stores[:2]
		for _, at := range []time.Duration{10, 20, 24, 30, 40, 60} {
			r := base
			r.Time = noon.Add(at * time.Second)
			r.Metrics = base.Metrics.Since(nil)
			trial.Stores = append(trial.Stores, r)
		}
		trial.Faults = []record.Fault{fault(21, 26, 27)}
		return trial
	}
	inside := func(trial *record.Trial) {
		// While m1 was paused, it did not respond, its log sync took as long as the pause, and the
		// other members elected a leader. The counters in all later rows include this time.
		trial.Stores[4].Failure, trial.Stores[4].Metrics = "no answer", nil
		for i := range trial.Stores {
			if r := &trial.Stores[i]; r.Time.After(noon.Add(25 * time.Second)) {
				r.Metrics[stores.FsyncSeconds] = r.Metrics[stores.FsyncSeconds].Plus(timer(0.004, 1.024))
				r.Metrics[stores.LeaderChanges] = stores.Reading{Value: 6}
			}
		}
		trial.TermChanges, trial.TermChangesInFaults = 1, 1
		trial.WaitedForLimit = 1000
		trial.Events = append(trial.Events, runs.MemberEvent(26*time.Second, "m1", stores.SlowFsync, 5*time.Second))
	}
	trial := broken()
	inside(trial)
	if l := Find(trial); len(l.Causes) > 0 {
		t.Errorf("effects inside a fault are reported as the causes %+v", l.Causes)
	}
	outside := broken()
	inside(outside)
	outside.Stores[len(outside.Stores)-1].Metrics[stores.LeaderChanges] = stores.Reading{Value: 7}
	outside.Events = append(outside.Events, runs.MemberEvent(45*time.Second, "m1", stores.SlowFsync, 5*time.Second))
	l := Find(outside)
	if len(l.Causes) != 2 || l.Causes[0].Text != "the leader changed: member m1 counted 1 change in the window" || l.Causes[1].Kind != CausePauses {
		t.Errorf("the causes outside the fault are %+v", l.Causes)
	}
}

// A member reports the round trip to other members as a mean over recent minutes. After a fault,
// this mean includes the fault for several minutes. So only values before the first fault are used.
func TestPeersAreJudgedBeforeFaults(t *testing.T) {
	for from, want := range map[time.Duration]string{10 * time.Second: CauseNetwork, 40 * time.Second: ""} {
		trial := slowTrial()
		base := trial.Stores[2]
		trial.Stores = trial.Stores[:2]
		for _, at := range []time.Duration{10, 20, 30, 40, 60} {
			r := base
			r.Time, r.Metrics = noon.Add(at*time.Second), base.Metrics.Since(nil)
			if at*time.Second >= from {
				r.Metrics[stores.PeerRoundTripSeconds] = r.Metrics[stores.PeerRoundTripSeconds].Plus(timer(0.3, 0.6))
			}
			trial.Stores = append(trial.Stores, r)
		}
		trial.Faults = []record.Fault{fault(21, 26, 27)}
		var got string
		if l := Find(trial); len(l.Causes) > 0 {
			got = l.Causes[0].Kind
		}
		if got != want {
			t.Errorf("slow since %v: %q, not %q", from, got, want)
		}
	}
}

// A trial with faults is slow if it was slow in the seconds without a fault.
func TestSlowOutsideFaults(t *testing.T) {
	made := func(p99 func(second int) float64, done func(second int) uint64) *record.Trial {
		trial := slowTrial()
		trial.Faults = []record.Fault{fault(21, 26, 27)}
		trial.LongestGap, trial.PerSecond = 5, 900
		for i := range 60 {
			trial.Timeline = append(trial.Timeline, record.Row{Time: noon.Add(time.Duration(i) * time.Second), Phase: measure.Measured.String(), Second: i,
				P99: measure.Figure{NS: p99(i), Known: true}, Done: done(i)})
		}
		return trial
	}
	fault := func(i int) bool { return i >= 20 && i < 29 }
	quick := func(i int) float64 {
		if fault(i) {
			return 5e9
		}
		return 5e6
	}
	kept := func(i int) uint64 {
		if fault(i) {
			return 0
		}
		return 1000
	}
	for name, c := range map[string]struct {
		trial *record.Trial
		slow  bool
	}{
		"only in the fault":    {made(quick, kept), false},
		"long times always":    {made(func(int) float64 { return 2e8 }, kept), true},
		"less than due always": {made(quick, func(int) uint64 { return 500 }), true},
	} {
		if isSlow(c.trial) != c.slow {
			t.Errorf("%s: slow is %v", name, !c.slow)
		}
	}
}
