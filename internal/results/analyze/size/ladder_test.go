package size

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// step returns a closed loop with the given number of clients. Its times follow from Little's law.
func step(name string, clients int, perSecond float64) *record.Trial {
	mean := measure.Figure{NS: float64(clients) / perSecond * 1e9, Known: true}
	t := &record.Trial{State: record.Complete, Seconds: 10, Counts: record.Counts{PerSecond: perSecond}, WindowSummary: record.WindowSummary{MeanInFlight: float64(clients)}, Verdict: verdict.Verdict{State: verdict.Valid}}
	t.Conditions = record.Conditions{Name: name, Repeat: 1, Repeats: 1, Store: "etcd", Members: 3, Operation: "put",
		Load: scenario.Load{Clients: clients, Connections: 100, Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}}}
	t.ServiceTime = record.Times{Summary: measure.Summary{Mean: mean, Count: uint64(10 * perSecond)}}
	t.ResponseTime = t.ServiceTime
	return t
}

// openStep returns an open loop that reached only a share of its rate.
func openStep(rate, reached, inFlight float64) *record.Trial {
	t := step(fmt.Sprintf("put-%g", rate), 0, rate*reached)
	t.Arrival, t.Rate, t.MeanInFlight = scenario.Constant, &rate, inFlight
	mean := measure.Figure{NS: inFlight / rate * 1e9, Known: true}
	t.ResponseTime = record.Times{Summary: measure.Summary{Mean: mean}}
	return t
}

func laddersOf(trials ...*record.Trial) []Ladder {
	run := &record.Run{}
	for i, t := range trials {
		t.Number = i + 1
		run.Trials = append(run.Trials, *t)
	}
	return Ladders(analyze.Rows(run))
}

// closedSteps returns closed loops whose throughput follows the law with the given parameters.
func closedSteps(name string, lambda, sigma, kappa float64, clients ...int) (all []*record.Trial) {
	for _, c := range clients {
		n := float64(c)
		all = append(all, step(fmt.Sprintf("%s-%d", name, c), c, lambda*n/(1+sigma*(n-1)+kappa*n*(n-1))))
	}
	return all
}

// The knee is the step with the highest ratio of throughput to mean time. The expected knee is
// computed from the law with the same σ and κ. The law is also found.
func TestLadderOfClients(t *testing.T) {
	clients := []int{1, 2, 4, 8, 16, 32, 64, 128, 256}
	trials := closedSteps("etcd", 1000, 0.02, 1e-4, clients...)
	trials[0], trials[5] = trials[5], trials[0] // trials may run in any order
	all := laddersOf(trials...)
	if len(all) != 1 || all[0].Name != "etcd" || len(all[0].Steps) != len(clients) {
		t.Fatalf("found %+v", all)
	}
	l := &all[0]
	power := func(c int) float64 {
		x := 1000 / (1 + 0.02*float64(c-1) + 1e-4*float64(c)*float64(c-1))
		return float64(c) * x * x
	}
	best := 0
	for i, c := range clients {
		if l.Steps[i].Load != fmt.Sprintf("%d clients", c) && c != 1 {
			t.Errorf("step %d has the load %s", i, l.Steps[i].Load)
		}
		if power(c) > power(clients[best]) {
			best = i
		}
	}
	if l.Knee != best || l.NoKneeReason != "" {
		t.Errorf("the knee is at %d (%s) and not at %d", l.Knee, l.NoKneeReason, best)
	}
	if s := l.Scaling; s == nil || math.Abs(s.Sigma.Value-0.02) > 1e-4 || math.Abs(s.Kappa.Value-1e-4) > 1e-6 || len(l.Doubts) != 0 {
		t.Errorf("the law is %+v (%s), with the doubts %q", s, l.NoScalingReason, l.Doubts)
	}
	if l.MaxConcurrency != 256 {
		t.Errorf("the most is %v", l.MaxConcurrency)
	}
}

// The knee depends neither on the unit of time nor on the range of the steps.
func TestKneeDoesNotDependOnRange(t *testing.T) {
	for _, lambda := range []float64{1, 60, 1e6} {
		for _, clients := range [][]int{{1, 2, 4, 8, 16, 32, 64, 128}, {8, 16, 32, 64, 128, 256, 512}} {
			l := laddersOf(closedSteps("put", lambda, 0.03, 1e-5, clients...)...)[0]
			if l.Knee < 0 || l.Steps[l.Knee].Load != "32 clients" {
				t.Errorf("λ %v, clients %v: the knee is at step %d (%s), want 32 clients", lambda, clients, l.Knee, l.NoKneeReason)
			}
		}
	}
}

// If a ladder has no knee or no law, a sentence gives the reason.
func TestLadderWithoutKneeOrLawHasAReason(t *testing.T) {
	for _, c := range []struct {
		name            string
		trials          []*record.Trial
		noKnee, noScale string
		doubt           string
	}{
		{"in proportion", closedSteps("a", 100, 0, 0, 1, 2, 4, 8, 16), "at the last step, 16 clients, the ratio of throughput to mean time is within 3 % of its highest value", "", "contention may be zero"},
		{"past it", closedSteps("a", 100, 0.9, 0, 1, 2, 4, 8, 16), "above the first step, 1 client, the mean time grows faster", "", ""},
		{"few", closedSteps("a", 100, 0.1, 0, 1, 16, 64), "", "needs 5 usable steps with different loads, but the ladder has only 3", ""},
		{"near", closedSteps("a", 100, 0.1, 0, 10, 11, 12, 13, 14), "", "", "only 1.4 times the smallest"},
		{"off", []*record.Trial{step("a1", 1, 100), step("a2", 2, 300), step("a4", 4, 200), step("a8", 8, 900), step("a16", 16, 500), step("a32", 32, 400)}, "", "deviate by 51 %", ""},
	} {
		all := laddersOf(c.trials...)
		if len(all) != 1 {
			t.Fatalf("%s: %d ladders", c.name, len(all))
		}
		l := &all[0]
		if !strings.Contains(l.NoKneeReason, c.noKnee) || (l.Knee < 0) != (l.NoKneeReason != "") {
			t.Errorf("%s: the knee is %d, %q", c.name, l.Knee, l.NoKneeReason)
		}
		if !strings.Contains(l.NoScalingReason, c.noScale) || (l.Scaling == nil) != (l.NoScalingReason != "") {
			t.Errorf("%s: the law is %v, %q", c.name, l.Scaling, l.NoScalingReason)
		}
		if !strings.Contains(strings.Join(l.Doubts, "; "), c.doubt) {
			t.Errorf("%s: the doubts are %q", c.name, l.Doubts)
		}
	}
}

// Invalid trials, and trials that did not reach their rate, are used neither for the knee nor for
// the law.
func TestLadderExcludesInvalidAndSlowTrials(t *testing.T) {
	l := laddersOf(openStep(100, 1, 0.2), openStep(200, 1.001, 0.42), openStep(400, 1, 0.9), openStep(800, 1, 2.2), openStep(1600, 0.999, 16), openStep(3200, 0.8, 900))[0]
	if !l.Open || l.Steps[5].ExclusionReason == "" || l.Steps[4].ExclusionReason != "" || l.Steps[1].ExclusionReason != "" || l.MaxConcurrency != 16 {
		t.Errorf("the ladder of trials with rates is %+v", l)
	}
	if l.Knee != 3 {
		t.Errorf("the knee is at %d: %s", l.Knee, l.NoKneeReason)
	}
	trials := closedSteps("a", 100, 0.05, 1e-4, 1, 4, 16, 64, 256, 512)
	trials[3].Verdict.State, trials[4].State = verdict.Invalid, record.Interrupted
	l = laddersOf(trials...)[0]
	if l.Scaling != nil || !strings.Contains(l.NoScalingReason, "has only 4") || l.Knee == 3 || l.Knee == 4 {
		t.Errorf("the ladder with two invalid steps is %+v", l)
	}
}

// Trials that differ in more than their clients are not steps of one load. The number of
// connections may depend on the number of clients.
func TestLaddersAreOfOneLoad(t *testing.T) {
	few := closedSteps("few", 100, 0.1, 0, 1, 4, 16, 64, 256)
	for _, one := range few {
		one.Connections = min(one.Clients, 32) // at most one connection per client
	}
	if all := laddersOf(few...); len(all) != 1 || len(all[0].Steps) != 5 {
		t.Fatalf("the ladders of trials with few connections are %+v", all)
	}
	trials := append(closedSteps("etcd", 100, 0.1, 0, 1, 4, 16), closedSteps("zookeeper", 100, 0.1, 0, 1, 4, 16)...)
	for _, one := range trials[3:] {
		one.Store, one.Connections = "zookeeper", one.Clients
	}
	all := laddersOf(trials...)
	if len(all) != 2 || all[0].Name != "etcd" || all[1].Name != "zookeeper" {
		t.Fatalf("found %+v", all)
	}
	for what, change := range map[string]func(*record.Trial){
		"value size": func(t *record.Trial) { t.ValueSize = 77 }, "version": func(t *record.Trial) { t.Version = "1" }, "connections": func(t *record.Trial) { t.Connections = 7 },
		"label": func(t *record.Trial) { t.Label = "x" }, "members": func(t *record.Trial) { t.Members = 5 }, "rate": func(t *record.Trial) { rate := 5.0; t.Arrival, t.Rate = scenario.Constant, &rate },
	} {
		trials := closedSteps("etcd", 100, 0.1, 0, 1, 4, 16)
		change(trials[1])
		if all := laddersOf(trials...); len(all) != 0 {
			t.Errorf("a trial with another %s is a step of the ladder", what)
		}
	}
	if all := laddersOf(step("a", 4, 100), step("b", 4, 100), step("c", 8, 100)); len(all) != 0 {
		t.Error("trials with only two loads form a ladder")
	}
}

func TestCommonNames(t *testing.T) {
	for want, names := range map[string][]string{
		"etcd": {"etcd-1", "etcd-16", "etcd-100"}, "put etcd": {"put-64-etcd", "put-128-etcd"}, "": {"a", "b"}, "put-step": {"put-step-25%", "put-step-50%"}, "é": {"é1", "é2"},
	} {
		if got := common(names); got != want {
			t.Errorf("%q have %q in common, not %q", names, got, want)
		}
	}
}
