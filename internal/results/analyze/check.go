package analyze

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// mostSpread is the largest standard deviation that passes; leastShare and
// mostSlow are the limits of the throughput and of the slowest write. All are
// those of `etcdctl check perf`.
const mostSpread = 100 * time.Millisecond

// PerfCheck is whether a cluster took a load in time.
type PerfCheck struct {
	Trial *record.Trial
	Pass  bool
	// Lines are the judgement in words, those of `etcdctl check perf` but for the
	// last one, PASS or FAIL.
	Lines []string
	// Which limits were missed.
	TooLow, TooSlow, TooUneven bool
	ByError                    []Failure
	Slowest, Spread            float64 // seconds
	NotSent                    uint64
	Limits                     Limits
}

// Failure is one kind of error.
type Failure struct {
	Kind  string `json:"kind"`           // as errors_by_kind spells it
	Text  string `json:"text,omitempty"` // the first one's, as the store said it
	Count uint64 `json:"count"`
}

// String is an error as FAIL: ERROR() names it.
func (f Failure) String() string {
	if f.Text == "" {
		return f.Kind
	}
	return f.Kind + ": " + f.Text
}

// failures lists the errors by kind, but for what was not sent: that is the
// store's pace, and not its answer.
func failures(t *record.Trial) []Failure {
	out := []Failure{}
	for o := kv.NotSent + 1; o < kv.NumOutcomes; o++ {
		if kind := o.String(); t.ErrorsByKind[kind] > 0 {
			out = append(out, Failure{Kind: kind, Text: t.ErrorTexts[kind], Count: t.ErrorsByKind[kind]})
		}
	}
	return out
}

// CheckPerf holds an open loop of writes to the limits. Response times run from
// when a write was due, so one that waited for a client to be free waited for the
// store. Writes that were never sent are not the store's errors: they stand in the
// throughput that they lack, and in the slowest with the time that they waited.
func CheckPerf(t *record.Trial) PerfCheck {
	c := PerfCheck{Trial: t, ByError: failures(t), NotSent: t.ErrorsByKind[kv.NotSent.String()], Limits: WhatLimited(t)}
	for _, of := range []struct {
		to   *float64
		name string
	}{{&c.Slowest, "slowest"}, {&c.Spread, "spread"}} {
		f := record.Registered(of.name)
		*of.to = f.Of(t).Number / 1e9
	}
	say := func(failed bool, bad, good string, figure float64) bool {
		if failed {
			good = bad
		}
		c.Lines = append(c.Lines, fmt.Sprintf(good, figure))
		return failed
	}
	if len(c.ByError) > 0 {
		c.Lines = append(c.Lines, errorLines(c.ByError)...)
	}
	c.TooLow = say(t.Rate != nil && t.PerSecond <= leastShare**t.Rate,
		"FAIL: Throughput too low: %.0f writes/s", "PASS: Throughput is %.0f writes/s", t.PerSecond)
	c.TooSlow = say(c.Slowest > mostSlow.Seconds(),
		"Slowest request took too long: %fs", "PASS: Slowest request took %fs", c.Slowest)
	c.TooUneven = say(c.Spread > mostSpread.Seconds(),
		"Stddev too high: %fs", "PASS: Stddev is %fs", c.Spread)
	c.Pass = Measured(t) && len(c.ByError) == 0 && !c.TooLow && !c.TooSlow && !c.TooUneven
	return c
}

func errorLines(all []Failure) []string {
	lines := []string{"FAIL: too many errors"}
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("FAIL: ERROR(%s) -> %d", e, e.Count))
	}
	return lines
}

// ScaleCheck is what so many keys cost the members.
type ScaleCheck struct {
	Trial   *record.Trial
	Pass    bool
	Lines   []string     // of the errors, in etcdctl's words
	Members []MemberCost // the member at the first endpoint given first
	ByError []Failure
}

// MemberCost is what a member took before the load and after it, in bytes.
type MemberCost struct {
	Name, Endpoint string
	Memory, Disk   Growth
	Unread         string // why its memory is not known
}

// Growth is a figure before and after; Known says that both are.
type Growth struct {
	Before, After int64
	Known         bool
}

// Grown is by how much it rose.
func (c Growth) Grown() int64 { return c.After - c.Before }

// MB is the same in mebibytes, which etcdctl calls MB.
func (c Growth) MB() float64 { return float64(c.Grown()) / (1 << 20) }

// Each is what it rose by for each of so many; ok is false where that means nothing.
func (c Growth) Each(n uint64) (bytes float64, ok bool) {
	if !c.Known || n == 0 || c.Grown() < 0 {
		return 0, false
	}
	return float64(c.Grown()) / float64(n), true
}

// CheckScale compares what the members took before and after a load.
func CheckScale(t *record.Trial) ScaleCheck {
	c := ScaleCheck{Trial: t, ByError: failures(t), Pass: true}
	if len(c.ByError) > 0 {
		c.Pass, c.Lines = false, errorLines(c.ByError)
	}
	for _, m := range MembersMetrics(t) {
		cost := MemberCost{Name: m.Name, Endpoint: m.Endpoint, Unread: m.Unread}
		cost.Memory = growth(&m, store.ResidentBytes)
		cost.Disk = growth(&m, store.DatabaseBytes)
		c.Members = append(c.Members, cost)
	}
	return c
}

// growth is what a gauge rose by from the first row to the last.
func growth(m *MemberMetrics, metric store.Metric) Growth {
	c := Growth{Before: int64(m.Before[metric].Value), After: int64(m.After[metric].Value)}
	c.Known = c.Before > 0 && c.After > 0 && m.Answered
	return c
}
