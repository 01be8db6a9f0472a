package main

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Goal is something to be reached.
type Goal struct {
	Title string  `json:"what"`
	Limit float64 `json:"goal"`
	Aim   float64 `json:"aim,omitempty"` // if not 0, what we would like better
	// AtMost means that lower is better.
	AtMost bool `json:"at_most"`
	// Worst judges the worst round instead of the median.
	Worst bool `json:"judged_by_worst_round"`
	// Show writes a value.
	Show func(float64) string `json:"-"`
	// Values are the rounds' values.
	Values func(*Results) []float64 `json:"-"`
}

// Verdict is how a goal was met.
type Verdict struct {
	Goal
	Reached bool `json:"reached"`
	Spread
	Known bool `json:"-"`
	Aimed bool `json:"-"` // reached the aim too
}

// Judge looks at a goal's values.
func (g Goal) Judge(r *Results) Verdict {
	v := Verdict{Goal: g, Spread: Summarize(g.Values(r))}
	if v.N == 0 {
		return v
	}
	value := v.Median
	if g.Worst {
		value = v.Min
		if g.AtMost {
			value = v.Max
		}
	}
	v.Known, v.Reached = true, g.meets(value, g.Limit)
	v.Aimed = v.Reached && g.Aim != 0 && g.meets(value, g.Aim)
	return v
}

func (g Goal) meets(value, limit float64) bool {
	if g.AtMost {
		return value <= limit
	}
	return value >= limit
}

// The cases' names, as the goals refer to them.
const (
	CaseLocal        = "local"
	CaseLinearizable = "linearizable"
	CasePut          = "put"
	CaseOne          = "one"
	CaseMany         = "many"
	CaseOpen         = "open"
	CaseSoakShort    = "soak-1m"
	CaseSoakLong     = "soak-10m"
	CaseZooKeeperGet = "zookeeper-get"
	CaseZooKeeperPut = "zookeeper-put"
	CaseConsulGet    = "consul-get"
	CaseEtcdV2Get    = "etcdv2-get"
	CaseWatch        = "watch"
	CaseCheckL       = "check-l"
	CaseCheckXL      = "check-xl"
	CaseCheckTmpfs   = "check-tmpfs"
)

// The rates of the checks' loads, in writes a second.
const (
	RateL  = 8_000
	RateXL = 15_000
)

const (
	mebibyte = 1 << 20
	ours     = Quorumbench
)

// Goals are those of this project. rate is that of the open loop.
func Goals(rate float64) []Goal {
	const h2, v3, zk, wrk, hey = H2load, ClientV3, GoZooKeeper, Wrk, Hey
	lateness := func(f Figures) float64 { return f.LatenessP999 }
	return []Goal{
		between("CPU per local range, ours / h2load", CaseLocal, ours, h2, cpuPerOp, 1, 0.8, true),
		between("CPU per local range, client/v3 / ours", CaseLocal, v3, ours, cpuPerOp, 6, 10, false),
		between("CPU per linearizable range, client/v3 / ours", CaseLinearizable, v3, ours, cpuPerOp, 6, 10, false),
		between("CPU per put, client/v3 / ours", CasePut, v3, ours, cpuPerOp, 5, 10, false),
		between("throughput, local ranges, ours / client/v3", CaseLocal, ours, v3, perSecond, 1.6, 2, false),
		between("throughput, linearizable ranges, ours / client/v3", CaseLinearizable, ours, v3, perSecond, 1.4, 1.8, false),
		between("throughput, puts, ours / client/v3", CasePut, ours, v3, perSecond, 1.25, 1.5, false),
		between("service time p50 of one client, ours / h2load", CaseOne, ours, h2, serviceP50, 1, 0, true),
		between("CPU per watch event, client/v3 / ours", CaseWatch, v3, ours, cpuPerOp, 5, 0, false),
		resident("resident memory, 100 connections x 10", 64*mebibyte, CaseLocal, CaseLinearizable, CasePut),
		resident("resident memory, 1,000 connections x 10", 200*mebibyte, CaseMany),
		{Title: "resident memory after ten minutes / after one", Limit: 1.1, AtMost: true, Show: showRatio, Values: soak},
		off("open loop, achieved rate off the one asked for", 0.001, CaseOpen, rate),
		{
			Title: "open loop, lateness p99.9", Limit: 1e6, AtMost: true, Show: text.Duration,
			Values: func(r *Results) []float64 { return r.Values(CaseOpen, ours, lateness) },
		},
		off("check perf --load l, null server: off its rate", 0.005, CaseCheckL, RateL),
		off("check perf --load xl, null server: off its rate", 0.005, CaseCheckXL, RateXL),
		{
			Title: "check perf --load l, one member on tmpfs: passes", Limit: 1, Show: measure.Percent,
			Values: func(r *Results) []float64 { return r.passed(CaseCheckTmpfs, ours) },
		},
		between("CPU per ZooKeeper local read, go-zookeeper / ours", CaseZooKeeperGet, zk, ours, cpuPerOp, 2.2, 4, false),
		between("CPU per ZooKeeper write, go-zookeeper / ours", CaseZooKeeperPut, zk, ours, cpuPerOp, 2.2, 4, false),
		between("throughput, ZooKeeper local reads, ours / go-zookeeper", CaseZooKeeperGet, ours, zk, perSecond, 1.2, 0, false),
		between("throughput, ZooKeeper writes, ours / go-zookeeper", CaseZooKeeperPut, ours, zk, perSecond, 1.2, 0, false),
		between("CPU per Consul local read, ours / wrk", CaseConsulGet, ours, wrk, cpuPerOp, 1, 0, true),
		between("CPU per Consul local read, hey / ours", CaseConsulGet, hey, ours, cpuPerOp, 3, 0, false),
		between("CPU per etcd v2 local read, ours / wrk", CaseEtcdV2Get, ours, wrk, cpuPerOp, 1, 0, true),
		between("CPU per etcd v2 local read, hey / ours", CaseEtcdV2Get, hey, ours, cpuPerOp, 3, 0, false),
	}
}

// between is a goal for the ratio of a figure of two peers.
func between(title, name, over, under string, figure Figure, limit, aim float64, atMost bool) Goal {
	return Goal{
		Title: title, Limit: limit, Aim: aim, AtMost: atMost, Show: showRatio,
		Values: func(r *Results) []float64 { return r.Ratios(name, over, under, figure) },
	}
}

// resident is a goal for our memory in the worst round of some cases.
func resident(title string, limit float64, names ...string) Goal {
	return Goal{
		Title: title, Limit: limit, AtMost: true, Worst: true, Show: showMemory,
		Values: func(r *Results) []float64 {
			var all []float64
			for _, name := range names {
				all = append(all, r.Values(name, ours, memory)...)
			}
			return all
		},
	}
}

func soak(r *Results) []float64 {
	short, long := r.Values(CaseSoakShort, Quorumbench, memory), r.Values(CaseSoakLong, Quorumbench, memory)
	if len(short) == 0 || len(long) == 0 {
		return nil
	}
	return []float64{long[0] / short[0]}
}

// off is a goal for how far our rate was from the one asked for, as a share of
// that.
func off(title string, limit float64, name string, rate float64) Goal {
	return Goal{
		Title: title, Limit: limit, AtMost: true, Show: measure.Percent,
		Values: func(r *Results) []float64 { return deviations(r.Values(name, ours, perSecond), rate) },
	}
}

// deviations are the values' relative distances from what was asked for.
func deviations(values []float64, asked float64) []float64 {
	out := slices.Clone(values)
	for i, v := range out {
		out[i] = math.Abs(v-asked) / asked
	}
	return out
}
