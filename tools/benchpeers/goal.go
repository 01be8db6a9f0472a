package main

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Goal is a target value for a figure or for a ratio of two figures.
type Goal struct {
	Title string  `json:"what"`
	Limit float64 `json:"goal"`
	Aim   float64 `json:"aim,omitempty"` // a more ambitious value, or 0 for none
	// LowerIsBetter is true if lower values are better.
	LowerIsBetter bool `json:"at_most"`
	// JudgeWorstRound is true if the worst round is judged instead of the median round.
	JudgeWorstRound bool `json:"judged_by_worst_round"`
	// Show formats a value for the table.
	Show func(float64) string `json:"-"`
	// Values returns one value for each round.
	Values func(*Results) []float64 `json:"-"`
}

// Verdict is the result for a goal.
type Verdict struct {
	Goal
	Reached bool `json:"reached"`
	Spread
	Known      bool `json:"-"`
	AimReached bool `json:"-"` // the aim was also reached
}

// Judge determines whether a goal is reached.
func (g Goal) Judge(r *Results) Verdict {
	v := Verdict{Goal: g, Spread: Summarize(g.Values(r))}
	if v.N == 0 {
		return v
	}
	value := v.Median
	if g.JudgeWorstRound {
		value = v.Min
		if g.LowerIsBetter {
			value = v.Max
		}
	}
	v.Known, v.Reached = true, g.meets(value, g.Limit)
	v.AimReached = v.Reached && g.Aim != 0 && g.meets(value, g.Aim)
	return v
}

func (g Goal) meets(value, limit float64) bool {
	if g.LowerIsBetter {
		return value <= limit
	}
	return value >= limit
}

// The names of the cases to which goals refer.
const (
	CaseLocal           = "local"
	CaseLinearizable    = "linearizable"
	CasePut             = "put"
	CaseSingleClient    = "one"
	CaseManyConnections = "many"
	CaseOpen            = "open"
	CaseSoakShort       = "soak-1m"
	CaseSoakLong        = "soak-10m"
	CaseZooKeeperGet    = "zookeeper-get"
	CaseZooKeeperPut    = "zookeeper-put"
	CaseConsulGet       = "consul-get"
	CaseEtcdV2Get       = "etcdv2-get"
	CaseWatch           = "watch"
	CaseCheckL          = "check-l"
	CaseCheckXL         = "check-xl"
	CaseCheckTmpfs      = "check-tmpfs"
)

// The rates of the `check perf` loads, in writes per second.
const (
	RateL  = 8_000
	RateXL = 15_000
)

const (
	mebibyte = 1 << 20
	ours     = Quorumbench
)

// Goals returns this project's goals. rate is the open loop's rate in operations per second.
func Goals(rate float64) []Goal {
	const h2, v3, zk, wrk, hey = H2load, ClientV3, GoZooKeeper, Wrk, Hey
	lateness := func(f Figures) float64 { return f.LatenessP999 }
	return []Goal{
		quotient{CaseLocal, ours, h2, cpuPerOp}.atMost("CPU per local range, ours / h2load", 1, 0.8),
		quotient{CaseLocal, v3, ours, cpuPerOp}.atLeast("CPU per local range, client/v3 / ours", 6, 10),
		quotient{CaseLinearizable, v3, ours, cpuPerOp}.atLeast("CPU per linearizable range, client/v3 / ours", 6, 10),
		quotient{CasePut, v3, ours, cpuPerOp}.atLeast("CPU per put, client/v3 / ours", 5, 10),
		quotient{CaseLocal, ours, v3, perSecond}.atLeast("throughput, local ranges, ours / client/v3", 1.6, 2),
		quotient{CaseLinearizable, ours, v3, perSecond}.atLeast("throughput, linearizable ranges, ours / client/v3", 1.4, 1.8),
		quotient{CasePut, ours, v3, perSecond}.atLeast("throughput, puts, ours / client/v3", 1.25, 1.5),
		quotient{CaseSingleClient, ours, h2, serviceP50}.atMost("service time p50 of one client, ours / h2load", 1, 0),
		quotient{CaseWatch, v3, ours, cpuPerOp}.atLeast("CPU per watch event, client/v3 / ours", 5, 0),
		memoryGoal("resident memory, 100 connections x 10", 64*mebibyte, CaseLocal, CaseLinearizable, CasePut),
		memoryGoal("resident memory, 1,000 connections x 10", 200*mebibyte, CaseManyConnections),
		{Title: "resident memory after ten minutes / after one", Limit: 1.1, LowerIsBetter: true, Show: showRatio, Values: soakMemoryRatio},
		distanceGoal("open loop, difference from the requested rate", 0.001, CaseOpen, rate),
		{
			Title: "open loop, lateness p99.9", Limit: 1e6, LowerIsBetter: true, Show: text.Duration,
			Values: func(r *Results) []float64 { return r.Values(CaseOpen, ours, lateness) },
		},
		distanceGoal("check perf --load l, null server: difference from the load's rate", 0.005, CaseCheckL, RateL),
		distanceGoal("check perf --load xl, null server: difference from the load's rate", 0.005, CaseCheckXL, RateXL),
		{
			Title: "check perf --load l, one member on tmpfs: passes", Limit: 1, Show: text.Share,
			Values: func(r *Results) []float64 { return r.passed(CaseCheckTmpfs, ours) },
		},
		quotient{CaseZooKeeperGet, zk, ours, cpuPerOp}.atLeast("CPU per ZooKeeper local read, go-zookeeper / ours", 2.2, 4),
		quotient{CaseZooKeeperPut, zk, ours, cpuPerOp}.atLeast("CPU per ZooKeeper write, go-zookeeper / ours", 2.2, 4),
		quotient{CaseZooKeeperGet, ours, zk, perSecond}.atLeast("throughput, ZooKeeper local reads, ours / go-zookeeper", 1.2, 0),
		quotient{CaseZooKeeperPut, ours, zk, perSecond}.atLeast("throughput, ZooKeeper writes, ours / go-zookeeper", 1.2, 0),
		quotient{CaseConsulGet, ours, wrk, cpuPerOp}.atMost("CPU per Consul local read, ours / wrk", 1, 0),
		quotient{CaseConsulGet, hey, ours, cpuPerOp}.atLeast("CPU per Consul local read, hey / ours", 3, 0),
		quotient{CaseEtcdV2Get, ours, wrk, cpuPerOp}.atMost("CPU per etcd v2 local read, ours / wrk", 1, 0),
		quotient{CaseEtcdV2Get, hey, ours, cpuPerOp}.atLeast("CPU per etcd v2 local read, hey / ours", 3, 0),
	}
}

// quotient is a figure of the peer `numerator` divided by the same figure of the peer
// `denominator`, in the case `caseName`.
type quotient struct {
	caseName, numerator, denominator string
	figure                           Figure
}

// atMost returns the goal that the ratio does not exceed `limit`. The parameter `aim` is a lower,
// more ambitious limit.
func (q quotient) atMost(title string, limit, aim float64) Goal {
	g := q.atLeast(title, limit, aim)
	g.LowerIsBetter = true
	return g
}

// atLeast returns the goal that the ratio reaches `limit`. The parameter `aim` is a higher, more
// ambitious limit.
func (q quotient) atLeast(title string, limit, aim float64) Goal {
	return Goal{
		Title: title, Limit: limit, Aim: aim, Show: showRatio,
		Values: func(r *Results) []float64 { return r.Ratios(q.caseName, q.numerator, q.denominator, q.figure) },
	}
}

// memoryGoal returns a goal for the maximum resident memory of quorumbench in the worst round of
// the named cases.
func memoryGoal(title string, limit float64, names ...string) Goal {
	return Goal{
		Title: title, Limit: limit, LowerIsBetter: true, JudgeWorstRound: true, Show: showMemory,
		Values: func(r *Results) []float64 {
			var all []float64
			for _, name := range names {
				all = append(all, r.Values(name, ours, memory)...)
			}
			return all
		},
	}
}

func soakMemoryRatio(r *Results) []float64 {
	short, long := r.Values(CaseSoakShort, Quorumbench, memory), r.Values(CaseSoakLong, Quorumbench, memory)
	if len(short) == 0 || len(long) == 0 {
		return nil
	}
	return []float64{long[0] / short[0]}
}

// distanceGoal returns a goal for the relative difference between quorumbench's rate and the
// requested rate.
func distanceGoal(title string, limit float64, name string, rate float64) Goal {
	return Goal{
		Title: title, Limit: limit, LowerIsBetter: true, Show: text.Share,
		Values: func(r *Results) []float64 { return deviations(r.Values(name, ours, perSecond), rate) },
	}
}

// deviations returns the relative difference between each value and the requested value.
func deviations(values []float64, requested float64) []float64 {
	out := slices.Clone(values)
	for i, v := range out {
		out[i] = math.Abs(v-requested) / requested
	}
	return out
}
