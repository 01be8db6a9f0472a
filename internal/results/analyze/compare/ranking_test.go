package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// rankedRun returns a run with a closed loop of puts on each of the given stores.
func rankedRun(perSecond map[string]float64, change func(i int, t *record.Trial)) *record.Run {
	run := &record.Run{}
	for i, store := range []string{"etcd", "zookeeper", "consul"} {
		if perSecond[store] == 0 {
			continue
		}
		t := record.Trial{State: record.Complete, Verdict: verdict.Verdict{State: verdict.Valid}}
		t.Number, t.Name, t.Store, t.PerSecond, t.Seconds, t.Operations = i+1, store, store, perSecond[store], 10, 100
		t.Load = scenario.Load{Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Clients: 50, Connections: 10 * (i + 1), KeySpace: 100}
		change(i, &t)
		run.Trials = append(run.Trials, t)
	}
	return run
}

// The ranking has the order and the ratios of the throughputs, whatever they are.
func TestRankingFollowsTheThroughput(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rates := map[string]float64{"etcd": 1 + r.Float64()*1e4, "zookeeper": 1 + r.Float64()*1e4, "consul": 1 + r.Float64()*1e4}
		rankings := RankThroughput(analyze.Rows(rankedRun(rates, func(int, *record.Trial) {})))
		if len(rankings) != 1 || len(rankings[0].Slower) != 2 {
			t.Fatalf("%v: %+v", rates, rankings)
		}
		fastest, before := rates[rankings[0].Fastest.First().Name], 1.0
		for _, s := range rankings[0].Slower {
			rate := rates[s.First().Name]
			if rate > fastest || s.Ratio < before || math.Abs(s.Ratio*rate-fastest) > 1e-6*fastest {
				t.Errorf("rates %v: the ratio of %s to the fastest store %s is %v, which is wrong or out of order", rates, s.First().Name, rankings[0].Fastest.First().Name, s.Ratio)
			}
			if s.Clear && s.Ratio <= 1.02 {
				t.Errorf("the ratio %v is called clear, want only ratios above 1.02", s.Ratio)
			}
			before = s.Ratio
		}
	}
}

// Trials are not ranked if their throughput does not show how fast a store is.
func TestOnlyEqualLoadsAreRanked(t *testing.T) {
	rates := map[string]float64{"etcd": 300, "zookeeper": 200, "consul": 100}
	for name, change := range map[string]func(i int, t *record.Trial){
		"an open loop":   func(_ int, t *record.Trial) { t.Arrival = scenario.Constant },
		"other clients":  func(i int, t *record.Trial) { t.Clients += i },
		"other values":   func(i int, t *record.Trial) { t.ValueSize += i },
		"one store":      func(_ int, t *record.Trial) { t.Store = "etcd" },
		"an application": func(_ int, t *record.Trial) { t.Application.Name = "kubernetes" },
		"other members":  func(i int, t *record.Trial) { t.Members += i },
		"other disks": func(i int, t *record.Trial) {
			t.Durability = &measure.Durability{FileSystem: "ext4", Synced: i == 0}
			t.Members += i / 2
		},
		"baselines":       func(i int, t *record.Trial) { t.BaselineOf = "x" },
		"no figures":      func(_ int, t *record.Trial) { t.State = record.Failed },
		"other operation": func(i int, t *record.Trial) { t.Mix = []scenario.Operation{{Kind: kv.Kind(i), Weight: 1}} },
	} {
		if rankings := RankThroughput(analyze.Rows(rankedRun(rates, change))); len(rankings) > 0 {
			t.Errorf("%s: %+v", name, rankings)
		}
	}
	if rankings := RankThroughput(analyze.Rows(rankedRun(map[string]float64{"etcd": 300}, func(int, *record.Trial) {}))); len(rankings) > 0 {
		t.Errorf("one trial: %+v", rankings)
	}
}

// A trial without a comparable repeat is not ranked, but counted. A single invalid repeat does not
// exclude its trial.
func TestRankingOmitsTrialsWithoutComparableRepeats(t *testing.T) {
	rates := map[string]float64{"etcd": 300, "zookeeper": 200, "consul": 100}
	run := rankedRun(rates, func(i int, t *record.Trial) {
		if i == 0 {
			t.Verdict = verdict.Verdict{State: verdict.Invalid}
		}
	})
	rankings := RankThroughput(analyze.Rows(run))
	if len(rankings) != 1 || rankings[0].Fastest.First().Name != "zookeeper" || rankings[0].Omitted != 1 {
		t.Fatalf("%+v", rankings)
	}
	repeat := run.Trials[0]
	repeat.Repeat, repeat.Verdict = 2, verdict.Verdict{State: verdict.Valid}
	run.Trials = append(run.Trials, repeat)
	if rankings = RankThroughput(analyze.Rows(run)); len(rankings) != 1 || rankings[0].Fastest.First().Name != "etcd" || rankings[0].Omitted != 0 || !rankings[0].Valid {
		t.Errorf("with a valid repeat, the rankings are %+v", rankings)
	}
}

// A disturbance of another figure does not make the ranking uncertain. Without intervals, the
// ranking is not bounded.
func TestRankingIsAsCertainAsTheThroughput(t *testing.T) {
	rates := map[string]float64{"etcd": 300, "zookeeper": 200}
	for figure, valid := range map[string]bool{"max": true, "ops": false} {
		rankings := RankThroughput(analyze.Rows(rankedRun(rates, func(_ int, t *record.Trial) {
			t.Verdict = verdict.Verdict{State: verdict.Suspect, Reasons: []verdict.Reason{{Rule: 10, Text: "CPU steal", Figures: []string{figure}}}}
		})))
		if len(rankings) != 1 || rankings[0].Valid != valid || rankings[0].Bounded {
			t.Errorf("%s: %+v", figure, rankings)
		}
	}
}
