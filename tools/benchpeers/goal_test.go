package main

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func runGoal(round int, name, who string, f Figures) Run {
	return Run{Round: round, Case: name, Peer: who, Figures: f}
}

// If the machine becomes twice as slow with each round, the ratio must stay the same.
func TestRatiosAreTakenWithinRounds(t *testing.T) {
	r := &Results{}
	for round, slow := range []float64{1, 2, 4} {
		// The order of the peers rotates, so it differs between rounds.
		a := runGoal(round, CaseLocal, Quorumbench, Figures{CPUPerOp: 2 * slow})
		b := runGoal(round, CaseLocal, H2load, Figures{CPUPerOp: 4 * slow})
		if round == 1 {
			a, b = b, a
		}
		r.Add(a)
		r.Add(b)
	}
	r.Add(runGoal(3, CaseLocal, Quorumbench, Figures{CPUPerOp: 100})) // h2load failed in this round
	r.Add(runGoal(4, CaseLocal, Quorumbench, Figures{CPUPerOp: 100}))
	r.Add(runGoal(4, CaseLocal, H2load, Figures{})) // a run without figures
	r.Add(runGoal(5, CasePut, Quorumbench, Figures{CPUPerOp: 100}))
	r.Add(runGoal(5, CaseLocal, H2load, Figures{CPUPerOp: 1}))
	got := r.Ratios(CaseLocal, Quorumbench, H2load, cpuPerOp)
	if d := cmp.Diff([]float64{0.5, 0.5, 0.5}, got); d != "" {
		t.Error(d)
	}
}

func TestJudge(t *testing.T) {
	values := func(v ...float64) func(*Results) []float64 {
		return func(*Results) []float64 { return v }
	}
	for _, c := range []struct {
		name string
		goal Goal
		want string
	}{
		{"below an upper limit", Goal{Limit: 1, LowerIsBetter: true, Values: values(0.9, 2, 0.8)}, "yes"},
		{"at an upper limit", Goal{Limit: 1, LowerIsBetter: true, Values: values(1)}, "yes"},
		{"above an upper limit", Goal{Limit: 1, LowerIsBetter: true, Values: values(0.9, 1.1, 1.2)}, "NO"},
		{"the aim too", Goal{Limit: 1, Aim: 0.8, LowerIsBetter: true, Values: values(0.8)}, "yes, the aim too"},
		{"short of the aim", Goal{Limit: 6, Aim: 10, Values: values(9)}, "yes"},
		{"above a lower limit", Goal{Limit: 6, Aim: 10, Values: values(11)}, "yes, the aim too"},
		{"below a lower limit", Goal{Limit: 6, Aim: 10, Values: values(5.99)}, "NO"},
		{"one round is over", Goal{Limit: 64, LowerIsBetter: true, JudgeWorstRound: true, Values: values(40, 65, 41)}, "NO"},
		{"one round is under", Goal{Limit: 64, JudgeWorstRound: true, Values: values(70, 63, 80)}, "NO"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.goal.Judge(&Results{})
			if !v.Known || v.reachedText() != c.want {
				t.Errorf("got %q (known: %v), want %q", v.reachedText(), v.Known, c.want)
			}
		})
	}
	if v := (Goal{Values: values()}).Judge(&Results{}); v.Known || v.Reached {
		t.Errorf("without measurements, the goal is judged as %+v", v)
	}
}

// A generator that sends 0.1 % too little must deviate as much as one that sends 0.1 % too much.
func TestDeviations(t *testing.T) {
	got := deviations([]float64{19_980, 20_020, 20_000}, 20_000)
	for i, want := range []float64{0.001, 0.001, 0} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("got %v", got)
		}
	}
}

// Every goal must find its figures: if all runs have plausible figures, every goal must have a
// value.
func TestEveryGoalIsMeasured(t *testing.T) {
	r := &Results{}
	f := Figures{
		Operations: 1, PerSecond: 20_000, CPUPerOp: 1, ServiceP50: 1, MaxRSS: 1,
		LatenessP50: 1, LatenessP99: 1, LatenessP999: 1,
		Check: &Check{},
	}
	for _, name := range []string{
		CaseLocal, CaseLinearizable, CasePut, CaseSingleClient, CaseManyConnections, CaseOpen, CaseSoakShort, CaseSoakLong,
		CaseZooKeeperGet, CaseZooKeeperPut, CaseConsulGet, CaseEtcdV2Get,
		CaseWatch, CaseCheckL, CaseCheckXL, CaseCheckTmpfs,
	} {
		for _, who := range []string{
			Quorumbench, H2load, ClientV3, GoZooKeeper, Wrk, Hey,
		} {
			r.Add(runGoal(0, name, who, f))
		}
	}
	for _, g := range Goals(20_000) {
		if v := g.Judge(r); !v.Known {
			t.Errorf("%q has no value", g.Title)
		}
	}
	// Equal figures do not meet a goal that requires a factor of six.
	if v := Goals(20_000)[1].Judge(r); v.Reached || v.Median != 1 {
		t.Errorf("the goal %q is judged as %+v", v.Title, v.Spread)
	}
}

// If one of four checks fails, the goal's value must be 0.75, the share of checks that passed.
func TestChecksThatPass(t *testing.T) {
	r := &Results{}
	for round := range 4 {
		r.Add(runGoal(round, CaseCheckTmpfs, Quorumbench, Figures{Check: &Check{Pass: round != 2}}))
		r.Add(runGoal(round, CaseCheckTmpfs, Etcdctl, Figures{Check: &Check{}}))
	}
	if got := r.passed(CaseCheckTmpfs, Quorumbench); len(got) != 1 || got[0] != 0.75 {
		t.Errorf("got %v", got)
	}
	if got := r.passed(CaseCheckTmpfs, Etcdctl); len(got) != 1 || got[0] != 0 {
		t.Errorf("the shares of passed etcdctl checks are %v", got)
	}
	if got := r.passed(CaseCheckL, Quorumbench); got != nil {
		t.Errorf("without checks, the shares of passed checks are %v", got)
	}
}
