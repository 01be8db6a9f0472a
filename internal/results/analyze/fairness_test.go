package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// service returns a random duration of an operation in seconds. The mean is 1.
type service func(r *rand.Rand) float64

// services contains several distributions of durations, from a constant to one with two modes that
// differ by a factor of 50.
var services = map[string]service{
	"constant":    func(*rand.Rand) float64 { return 1 },
	"uniform":     func(r *rand.Rand) float64 { return 2 * r.Float64() },
	"exponential": func(r *rand.Rand) float64 { return r.ExpFloat64() },
	"two modes": func(r *rand.Rand) float64 {
		if r.IntN(100) == 0 {
			return 50 / 1.49
		}
		return 1 / 1.49
	},
	"lognormal": func(r *rand.Rand) float64 { return math.Exp(1.2*r.NormFloat64() - 0.72) },
}

// warmup is long enough for clients to be at any point of their operations when the window opens.
const warmup = 200

// serve returns the trial of a closed loop whose clients have the given paces. A pace of 1 is the
// mean, and 0.5 is half as fast. The clients are assigned to the members in turn.
func serve(r *rand.Rand, of service, window float64, members int, pace []float64) *record.Trial {
	connections := make([]measure.Connection, len(pace))
	m := &measure.Totals{Seconds: window}
	sum, squares := 0.0, 0.0
	for i, p := range pace {
		c := measure.Connection{Endpoint: fmt.Sprintf("h%d:1", i%members+1)}
		done := uint64(0)
		for at := -warmup * r.Float64(); at < window; {
			took := of(r) / p
			switch {
			case at >= 0: // due in the window, and completed
				done++
				sum, squares = sum+took, squares+took*took
			case at+took >= 0:
				m.OldestInFlightAge = max(m.OldestInFlightAge, int64(-at*1e9))
			}
			at += took
		}
		c.Completed = []uint64{done}
		connections[i] = c
		m.Due += done
	}
	for k := range members {
		m.Links = append(m.Links, measure.Link{Endpoint: fmt.Sprintf("h%d:1", k+1), Connections: 1, LostAt: -1, BackAt: -1})
	}
	m.Connections, m.Outcomes[0], m.Done = connections, m.Due, m.Due
	var known []record.Member
	for k := range members {
		known = append(known, record.Member{Name: fmt.Sprintf("m%d", k+1), Endpoint: fmt.Sprintf("h%d:1", k+1), ID: record.ID(k + 1)})
	}
	t := record.NewTrial(record.Conditions{Load: scenario.Load{Clients: len(pace)}}, record.Observed{CPUSeconds: 1, Members: known}, m, nil, nil)
	if n := float64(m.Due); n > 0 {
		t.StddevNS = new(1e9 * math.Sqrt(max(squares/n-sum/n*sum/n, 0)))
	}
	return &t
}

func alike(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

// If clients are served evenly, at most 1 % of the runs are reported as uneven, for windows of any
// length and for each distribution of times (docs/explanation/method.md shows the results).
func TestEvenServiceIsNotCalledUnfair(t *testing.T) {
	settle.SkipUnderRace(t)
	for name, of := range services {
		r := rand.New(rand.NewPCG(1984, 301))
		const runs = 600
		alarms := 0
		for range runs {
			// a client executes 30 to 2,000 operations
			window := 30 * math.Exp(r.Float64()*math.Log(2000./30))
			trial := serve(r, of, window, 1+r.IntN(5), alike(2+r.IntN(60)))
			if u, ok := UnfairnessOf(trial); ok {
				alarms++
				t.Logf("%s: %d clients, %.0f operations each: %+v", name, trial.ByClient.Count, window, u)
			}
		}
		t.Logf("%s: %.2f %% of runs", name, 100*float64(alarms)/runs)
		if alarms > runs/100 {
			t.Errorf("%s: called unfair in %d of %d runs", name, alarms, runs)
		}
	}
}

// If a member serves its clients at half the pace, this member is reported and no other. A single
// client that completes almost nothing is also reported.
func TestUnevenServiceIsFound(t *testing.T) {
	settle.SkipUnderRace(t)
	for name, of := range services {
		r := rand.New(rand.NewPCG(4, 2))
		const runs = 100
		missed, others, starved := 0, 0, 0
		for range runs {
			members := 2 + r.IntN(3)
			slow := r.IntN(members)
			pace := alike(members * (4 + r.IntN(8)))
			for i := range pace {
				if i%members == slow {
					pace[i] = 0.5
				}
			}
			u, _ := UnfairnessOf(serve(r, of, 2000, members, pace))
			found := false
			for _, m := range u.Members {
				if m.Name == fmt.Sprintf("m%d", slow+1) {
					found = m.OperationsPerClient.Number < 0.6*m.OthersPerClient.Number && m.Clients == len(pace)/members
				} else {
					others++
				}
			}
			if !found {
				missed++
			}
			pace = alike(40)
			pace[r.IntN(40)] = 0.02
			if u, ok := UnfairnessOf(serve(r, of, 4000, 1, pace)); !ok || u.Starved != 1 || len(u.Members) > 0 {
				starved++
			}
		}
		if missed+starved > 0 || others > 0 {
			t.Errorf("%s: in %d runs, the slow member was missed %d times, a wrong member was named %d times, and the starved client was missed %d times", name, runs, missed, others, starved)
		}
	}
}

// If a tenth of the clients lags, it is reported with its share. A trial without the operations per
// client is not checked.
func TestLaggingTenth(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	pace := alike(100)
	for i := range 10 {
		pace[7*i] = 0.4
	}
	trial := serve(r, services["exponential"], 2000, 1, pace)
	u, ok := UnfairnessOf(trial)
	if !ok || !u.Lagging || u.Tenth != 10 || math.Abs(u.TenthShare.Number-4.0/94) > 0.003 || u.FairShare.Number != 0.1 || u.Starved > 0 || len(u.Members) > 0 {
		t.Errorf("%+v", u)
	}
	if want := 94.0 * 94 / 100 / (90 + 10*0.16); math.Abs(u.Fairness.Number-want) > 0.005 {
		t.Errorf("the index is %v and not %v", u.Fairness.Number, want)
	}
	if c, ok := ClientsCurveOf(trial); !ok || c.Clients != 100 || len(c.Operations) != 21 || math.Abs(c.Mean*100-float64(trial.Due)) > 1e-6*float64(trial.Due) {
		t.Errorf("%+v", c)
	}
	for what, change := range map[string]func(*record.Trial){
		"not measured": func(t *record.Trial) { t.State = record.Failed },
		"older":        func(t *record.Trial) { t.ByClient = nil },
		"no spread":    func(t *record.Trial) { t.StddevNS = nil },
		"nothing due":  func(t *record.Trial) { t.Due = 0 },
		"one client":   func(t *record.Trial) { t.ByClient.Count = 1 },
	} {
		one := *trial
		by := *trial.ByClient
		one.ByClient = &by
		if change(&one); what == "older" {
			if _, ok := ClientsCurveOf(&one); ok {
				t.Error("ClientsCurveOf returns a curve for a trial without figures by client")
			}
		}
		if _, ok := UnfairnessOf(&one); ok {
			t.Errorf("%s: UnfairnessOf judges the trial", what)
		}
	}
}
