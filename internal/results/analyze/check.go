package analyze

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// mostSpread is the largest standard deviation that passes; leastShare and
// mostSlow are the limits of the throughput and of the slowest write. All are
// those of `etcdctl check perf`.
const mostSpread = 100 * time.Millisecond

// PerfCheck is whether a cluster took a load in time.
type PerfCheck struct {
	Trial *record.Trial
	Pass  bool
	// NotKnown says why a check that does not pass does not fail either: a phrase, or
	// empty. Nothing failed but what disturbances of the measuring can have made.
	NotKnown string
	// Lines are the judgement in words, those of `etcdctl check perf` but for the
	// last one, PASS or FAIL.
	Lines           []string
	ByError         []Failure
	Slowest, Spread float64 // seconds
	NotSent         uint64
	Limits          Limits
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
	slowest, spread := record.Registered("slowest"), record.Registered("spread")
	c.Slowest, c.Spread = slowest.Of(t).Number/1e9, spread.Of(t).Number/1e9
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
	low := say(t.Rate != nil && t.PerSecond <= leastShare**t.Rate,
		"FAIL: Throughput too low: %.0f writes/s", "PASS: Throughput is %.0f writes/s", t.PerSecond)
	slow := say(c.Slowest > mostSlow.Seconds(),
		"Slowest request took too long: %fs", "PASS: Slowest request took %fs", c.Slowest)
	uneven := say(c.Spread > mostSpread.Seconds(),
		"Stddev too high: %fs", "PASS: Stddev is %fs", c.Spread)
	c.Pass = Measured(t) && len(c.ByError) == 0 && !low && !slow && !uneven
	within := func(seconds float64, name string, limit time.Duration) bool {
		return seconds <= limit.Seconds()*(1+t.Verdict.Effect.Of(name))
	}
	if !c.Pass && Measured(t) && len(c.ByError) == 0 && !low && within(c.Slowest, "slowest", mostSlow) && within(c.Spread, "spread", mostSpread) {
		c.NotKnown = "the measuring was disturbed, and what is above a limit can be so for that alone: " + t.Verdict.Effect.String()
	}
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
		c.Members = append(c.Members, MemberCost{Name: m.Name, Endpoint: m.Endpoint, Unread: m.Unread,
			Memory: growth(t, m.Endpoint, store.ResidentBytes), Disk: growth(t, m.Endpoint, store.DatabaseBytes)})
	}
	return c
}

// growth is what a member's gauge rose by from the first row that has it to the
// last one; it is known if the member's last row has it.
func growth(t *record.Trial, endpoint string, metric store.Metric) (c Growth) {
	for i := range t.Stores {
		if t.Stores[i].Endpoint != endpoint {
			continue
		}
		reading, ok := t.Stores[i].Metrics[metric]
		if ok && c.Before == 0 {
			c.Before = int64(reading.Value)
		}
		if ok {
			c.After = int64(reading.Value)
		}
		c.Known = ok && c.Before > 0 && c.After > 0
	}
	return c
}

// DiskCheck is how long a disk takes for records that are made durable one after
// the other, and what the stores make of it.
type DiskCheck struct {
	Dir         string
	Record      int // bytes of one
	Records     int
	Seconds     float64
	FileSystem  string
	Durable     bool
	Sync, Whole measure.Summary // of fdatasync, and of the write with it
	Opinions    []DiskOpinion
}

// PerSecond is records a second, to a tenth.
func (c *DiskCheck) PerSecond() float64 {
	if c.Seconds <= 0 {
		return 0
	}
	return math.Round(10*float64(c.Records)/c.Seconds) / 10
}

// NS is how long it took, in nanoseconds.
func (c *DiskCheck) NS() float64 { return 1e9 * c.Seconds }

// DiskTimes are the times of one part of what a record takes.
type DiskTimes struct {
	Name string
	measure.Summary
}

// Times are those of fdatasync, and of the write with it.
func (c *DiskCheck) Times() []DiskTimes {
	return []DiskTimes{{"fdatasync", c.Sync}, {"write + fdatasync", c.Whole}}
}

// SecondsOf are the percentiles that are known, in seconds, by name.
func SecondsOf(s measure.Summary) map[string]float64 {
	out := map[string]float64{}
	for i, f := range s.Percentiles {
		if f.Known {
			out[fmt.Sprintf("p%g", measure.Percentiles[i])] = f.NS / 1e9
		}
	}
	return out
}

// SecondsWithMax are those and the longest.
func SecondsWithMax(s measure.Summary) map[string]float64 {
	out := SecondsOf(s)
	if s.Max.Known {
		out["max"] = s.Max.NS / 1e9
	}
	return out
}

// Pass reports whether a store's rule holds.
func (c *DiskCheck) Pass(store string) bool {
	return slices.ContainsFunc(c.Opinions, func(o DiskOpinion) bool { return o.Store == store && o.Pass })
}

// Unknown reports whether so few records were written that a store's rule could be
// neither kept nor broken.
func (c *DiskCheck) Unknown(store string) bool {
	return slices.ContainsFunc(c.Opinions, func(o DiskOpinion) bool { return o.Store == store && o.Unknown() })
}

// DiskOpinion is what a store makes of a disk.
type DiskOpinion struct {
	Store string
	Pass  bool
	// Known is false where so few syncs were made that the percentile of the
	// rule is not known, and where nothing was synced. It does not pass then.
	Known  bool
	Figure float64 // seconds
	Rule   kv.DiskRule
	Text   string
	// volatile says that nothing is kept at power loss, so that the rule is broken.
	volatile bool
}

// Unknown reports whether the opinion is neither that the rule holds nor that it does not.
func (o *DiskOpinion) Unknown() bool { return !o.Known && !o.volatile }

// Judge adds a store's opinion, which is by its rule. On a file system that is not
// durable none holds.
func (c *DiskCheck) Judge(store string, rule kv.DiskRule) {
	c.Opinions = append(c.Opinions, c.opinion(store, rule))
}

func (c *DiskCheck) opinion(store string, rule kv.DiskRule) DiskOpinion {
	o := DiskOpinion{Store: store, Rule: rule, volatile: !c.Durable}
	if !c.Durable {
		o.Text = c.FileSystem + " keeps nothing at power loss, so that no acknowledged write is safe there"
		return o
	}
	what, figure := "the longest", c.Sync.Max
	if rule.Percentile < 100 {
		what, figure = fmt.Sprintf("the p%g", rule.Percentile), c.Sync.At(rule.Percentile)
	}
	o.Known = figure.Known
	if !o.Known {
		o.Text = what + " of so few records is not known"
		return o
	}
	o.Figure = figure.NS / 1e9
	o.Pass = figure.NS < float64(rule.Limit)
	is := "below"
	if !o.Pass {
		is = "not below"
	}
	o.Text = fmt.Sprintf("%s is %s, %s %s: %s", what, text.Duration(figure.NS), is, text.Duration(float64(rule.Limit)), rule.Source)
	return o
}
