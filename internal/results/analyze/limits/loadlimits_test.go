package limits

import (
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// using adds rows to machines.csv for a window of ten seconds. The parameter `used` contains, for
// each process, the CPUs that the process uses in each second. The values are repeated cyclically.
func using(t *record.Trial, used map[string][]float64) {
	total := map[string]float64{}
	for second := range 11 {
		for name, seconds := range used {
			t.Machines = append(t.Machines, record.MachineRow{Time: t.Opened.Add(time.Duration(second) * time.Second), Name: name, User: total[name]})
			total[name] += seconds[second%len(seconds)]
		}
	}
}

// Each row describes a trial with a single cause that the members' own figures do not show.
// Find must find this cause and no other.
func TestFindLimitsOfTheLoad(t *testing.T) {
	event := func(kind store.SignalKind, took time.Duration) record.Event {
		return record.Event{Time: noon.Add(5 * time.Second), Kind: string(kind), Member: "m1", Duration: took, Line: "x"}
	}
	for _, test := range []struct {
		name   string
		change func(*record.Trial)
		what   string // empty if there is no cause
		text   string
	}{
		{"nothing", func(t *record.Trial) { using(t, map[string][]float64{"m1": {0.4}, record.MachineName: {1}}) }, "", ""},
		{"the limit in flight", func(t *record.Trial) { t.Due, t.WaitedForLimit = 10_000, 300 }, CauseLoad, "300 of 10,000 operations that became due (3 %) waited because 200 operations, the allowed maximum, were in flight"},
		{"seldom the limit in flight", func(t *record.Trial) { t.Due, t.WaitedForLimit = 10_000, 90 }, "", ""},
		{"connections", func(t *record.Trial) { t.Due, t.WaitedForConnection, t.Connections = 10_000, 5000, 8 }, CauseLoad, "5,000 of 10,000 operations that became due (50 %) waited for one of the 8 connections"},
		{"transactions that collide", func(t *record.Trial) { t.Retries, t.Operations, t.KeySpace = new(uint64(900)), 600, 9 }, CauseContention, "retried 1.5 times on average"},
		{"few that do", func(t *record.Trial) { t.Retries, t.Operations = new(uint64(30)), 600 }, "", ""},
		{"one thread", func(t *record.Trial) { using(t, map[string][]float64{"m1": {0.99, 1.01, 0.97}, "m2": {0.3}}) }, CauseCPU, "member m1 used about one of this machine's 4 CPUs (0.99 on average; in 10 of 10 seconds"},
		{"one thread at times", func(t *record.Trial) { using(t, map[string][]float64{"m1": {1, 0.3}}) }, "", ""},
		{"two threads", func(t *record.Trial) { using(t, map[string][]float64{"m1": {1.9}}) }, "", ""},
		{"one processor", func(t *record.Trial) {
			t.Machine = &measure.Machine{CPUs: 1}
			using(t, map[string][]float64{"m1": {0.99}})
		}, "", ""},
		{"the machine full at times", func(t *record.Trial) { using(t, map[string][]float64{record.MachineName: {0.5, 0.5, 3.95, 0.5, 4}}) }, CauseCPU, "in 4 of the window's 10 seconds, all 4 CPUs"},
		{"the machine full once", func(t *record.Trial) {
			using(t, map[string][]float64{record.MachineName: {0.5, 0.5, 3.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}})
		}, "", ""},
		{"another machine full", func(t *record.Trial) { using(t, map[string][]float64{record.OtherMachine("b"): {4}}) }, "", ""},
		{"a garbage collector", func(t *record.Trial) { t.Events = []record.Event{event(store.GCPause, 900*time.Millisecond)} }, CausePauses, "stopped for garbage collection for 900 ms in total in a window of 10 s, according to their logs; the longest pause was 900 ms, at member m1"},
		{"a short collection", func(t *record.Trial) { t.Events = []record.Event{event(store.GCPause, 90*time.Millisecond)} }, "", ""},
		{"slow syncs", func(t *record.Trial) { t.Events = []record.Event{event(store.SlowFsync, 1200*time.Millisecond)} }, CausePauses, "waited for slow log syncs for 1.20 s in total"},
	} {
		trial := slowTrial()
		trial.Stores, trial.Seconds, trial.Members, trial.Machine = nil, 10, 3, &measure.Machine{CPUs: 4}
		test.change(trial)
		l := Find(trial)
		switch {
		case test.what == "" && len(l.Causes) > 0:
			t.Errorf("%s: %+v", test.name, l.Causes)
		case test.what != "" && (len(l.Causes) != 1 || l.Causes[0].Kind != test.what || !strings.Contains(l.Causes[0].Text, test.text)):
			t.Errorf("%s: want %s with %q, got %+v", test.name, test.what, test.text, l.Causes)
		}
	}
}

// A suspect trial that is not slow reports its causes, except those that its verdict already
// contains.
func TestSuspectTrialsNameTheirLimits(t *testing.T) {
	trial := slowTrial()
	trial.PerSecond, trial.TermChanges, trial.Due, trial.WaitedForLimit = *trial.Rate, 1, 1000, 500
	l := Find(trial)
	if worst, _ := l.worstPerKind(); worst != nil || len(l.Causes) != 2 {
		t.Errorf("a valid trial that is not slow has the worst causes %+v, want none, and the causes %+v, want two", worst, l.Causes)
	}
	trial.Verdict.State = verdict.Suspect
	if worst, _ := l.worstPerKind(); len(worst) != 1 || worst[0].Kind != CauseLoad {
		t.Errorf("the worst causes of a suspect trial are %+v", worst)
	}
	trial.PerSecond = 1
	if worst, _ := l.worstPerKind(); len(worst) != 2 {
		t.Errorf("the worst causes of a slow trial are %+v", worst)
	}
}
