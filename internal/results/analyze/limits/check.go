package limits

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// maxSpread is the largest standard deviation that `check perf` accepts. Its other limits are
// minThroughputShare and maxSlowest. All three are the limits of `etcdctl check perf`.
const maxSpread = 100 * time.Millisecond

// PerfCheck is the result of a performance check of a cluster.
type PerfCheck struct {
	Trial *record.Trial
	Pass  bool
	// UndecidedReason explains why the check neither passes nor fails: disturbances may have caused
	// every missed limit. It is empty if the result is known.
	UndecidedReason string
	// Lines contains the result in the words of `etcdctl check perf`, without the last line (PASS
	// or FAIL).
	Lines           []string
	ByError         []Failure
	Slowest, Spread float64 // in seconds
	NotSent         uint64
	Limits          Limits
	// Disk is a line with the result of probing the data folder that the user specified. It is
	// empty if the user specified none.
	Disk string
}

// Failure describes the errors of one kind.
type Failure struct {
	Kind  string `json:"kind"`           // the name of the kind, as in errors_by_kind
	Text  string `json:"text,omitempty"` // the text of the first error, from the store
	Count uint64 `json:"count"`
}

// String formats the errors as they appear in the parentheses of the line FAIL: ERROR(...).
func (f Failure) String() string {
	if f.Text == "" {
		return f.Kind
	}
	return f.Kind + ": " + f.Text
}

// failures returns the errors by kind. It omits operations that were never sent: they show that the
// store was slow, but they are not errors in its responses.
func failures(t *record.Trial) []Failure {
	out := []Failure{}
	for o := kv.NotSent + 1; o < kv.NumOutcomes; o++ {
		if kind := o.String(); t.ErrorsByKind[kind] > 0 {
			out = append(out, Failure{Kind: kind, Text: t.ErrorTexts[kind], Count: t.ErrorsByKind[kind]})
		}
	}
	return out
}

// CheckPerf compares an open loop of writes with the limits. Response times start when a write
// became due, so they include the wait for a free client. Writes that were never sent are not
// errors of the store. But they reduce the throughput, and the slowest write can be one of them: in
// this case, its time is how long it waited.
func CheckPerf(t *record.Trial) PerfCheck {
	c := PerfCheck{Trial: t, ByError: failures(t), NotSent: t.ErrorsByKind[kv.NotSent.String()], Limits: Find(t)}
	if t.DataDir != nil {
		c.Disk = diskEvidence(t)
	}
	slowest, spread := figures.Registered("slowest"), figures.Registered("spread")
	c.Slowest, c.Spread = slowest.Value(t).Number/1e9, spread.Value(t).Number/1e9
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
	low := say(t.Rate != nil && t.PerSecond <= minThroughputShare**t.Rate,
		"FAIL: Throughput too low: %.0f writes/s", "PASS: Throughput is %.0f writes/s", t.PerSecond)
	slow := say(c.Slowest > maxSlowest.Seconds(),
		"Slowest request took too long: %fs", "PASS: Slowest request took %fs", c.Slowest)
	uneven := say(c.Spread > maxSpread.Seconds(),
		"Stddev too high: %fs", "PASS: Stddev is %fs", c.Spread)
	c.Pass = analyze.HasFigures(t) && len(c.ByError) == 0 && !low && !slow && !uneven
	within := func(seconds float64, name string, limit time.Duration) bool {
		return seconds <= limit.Seconds()*(1+t.Verdict.Effect.ForFigure(name))
	}
	if !c.Pass && analyze.HasFigures(t) && len(c.ByError) == 0 && !low && within(c.Slowest, "slowest", maxSlowest) && within(c.Spread, "spread", maxSpread) {
		c.UndecidedReason = "the measurement was disturbed, which may explain the figures above their limits: " + t.Verdict.Effect.String()
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

// ScaleCheck reports how much memory and disk space a large number of keys needs on each member.
type ScaleCheck struct {
	Trial   *record.Trial
	Pass    bool
	Lines   []string     // the errors, in etcdctl's words
	Members []MemberCost // in the order in which the user gave the endpoints
	ByError []Failure
}

// MemberCost holds a member's memory and disk use before and after the load, in bytes.
type MemberCost struct {
	Name, Endpoint string
	Memory, Disk   Growth
	UnreadReason   string // the reason why the member's memory is unknown
}

// Growth holds a value before and after the load. Known is set if both values are known.
type Growth struct {
	Before, After int64
	Known         bool
}

// Increase returns the difference between the two values.
func (c Growth) Increase() int64 { return c.After - c.Before }

// MB returns the difference in MiB, which etcdctl calls MB.
func (c Growth) MB() float64 { return float64(c.Increase()) / (1 << 20) }

// PerKey returns the growth per key for n keys. It returns false if the growth is unknown or
// negative, or n is 0.
func (c Growth) PerKey(n uint64) (bytes float64, ok bool) {
	if !c.Known || n == 0 || c.Increase() < 0 {
		return 0, false
	}
	return float64(c.Increase()) / float64(n), true
}

// CheckScale compares the members' memory and disk use before and after a load.
func CheckScale(t *record.Trial) ScaleCheck {
	c := ScaleCheck{Trial: t, ByError: failures(t), Pass: true}
	if len(c.ByError) > 0 {
		c.Pass, c.Lines = false, errorLines(c.ByError)
	}
	for _, m := range samples.AllMemberMetrics(t) {
		c.Members = append(c.Members, MemberCost{Name: m.Name, Endpoint: m.Endpoint, UnreadReason: m.UnreadReason,
			Memory: growth(t, m.Endpoint, store.ResidentBytes), Disk: growth(t, m.Endpoint, store.DatabaseBytes)})
	}
	return c
}

// growth returns the first and the last value of a member's gauge. Known is set only if the
// member's last row contains the gauge.
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

// DiskCheck is the result of writing records to a disk and syncing each record before writing the
// next. It contains the times of the syncs, and whether these times meet each store's rule.
type DiskCheck struct {
	Dir         string
	RecordBytes int // bytes per record
	Records     int
	Seconds     float64
	FileSystem  string
	Durable     bool
	// times of fdatasync alone, and of the write including fdatasync
	Sync, WriteAndSync measure.Summary
	Opinions           []DiskOpinion
}

// PerSecond returns the number of records written per second, rounded to one decimal.
func (c *DiskCheck) PerSecond() float64 {
	if c.Seconds <= 0 {
		return 0
	}
	return math.Round(10*float64(c.Records)/c.Seconds) / 10
}

// NS returns the duration of the whole check in nanoseconds.
func (c *DiskCheck) NS() float64 { return 1e9 * c.Seconds }

// DiskTimes holds the times of one step: fdatasync alone, or the write including fdatasync.
type DiskTimes struct {
	Name string
	measure.Summary
}

// Times returns the times of fdatasync, and the times of the write including fdatasync.
func (c *DiskCheck) Times() []DiskTimes {
	return []DiskTimes{{"fdatasync", c.Sync}, {"write + fdatasync", c.WriteAndSync}}
}

// Pass reports whether the disk meets the store's rule.
func (c *DiskCheck) Pass(store string) bool {
	return slices.ContainsFunc(c.Opinions, func(o DiskOpinion) bool { return o.Store == store && o.Pass })
}

// Unknown reports whether too few records were written to decide whether the disk meets the store's
// rule.
func (c *DiskCheck) Unknown(store string) bool {
	return slices.ContainsFunc(c.Opinions, func(o DiskOpinion) bool { return o.Store == store && o.Unknown() })
}

// DiskOpinion is the result of applying a store's rule to a disk.
type DiskOpinion struct {
	Store string
	Pass  bool
	// Known is set if the figure is known. It is not set if there were too few syncs for the rule's
	// percentile, or if the file system is not durable. Then the check does not pass.
	Known  bool
	Figure float64 // in seconds
	Rule   kv.DiskRule
	Text   string
	// volatile is set if data do not survive a power loss, so that the disk cannot meet the rule.
	volatile bool
}

// Unknown reports whether there were too few records to decide the rule.
func (o *DiskOpinion) Unknown() bool { return !o.Known && !o.volatile }

// Judge applies a store's rule to the disk and adds the result. A file system that is not durable
// meets no rule.
func (c *DiskCheck) Judge(store string, rule kv.DiskRule) {
	c.Opinions = append(c.Opinions, c.judgeRule(store, rule))
}

func (c *DiskCheck) judgeRule(store string, rule kv.DiskRule) DiskOpinion {
	o := DiskOpinion{Store: store, Rule: rule, volatile: !c.Durable}
	if !c.Durable {
		o.Text = c.FileSystem + " loses its data at power loss, so acknowledged writes are not durable on it"
		return o
	}
	what, figure := "max", c.Sync.Max
	if rule.Percentile < 100 {
		what, figure = fmt.Sprintf("p%g", rule.Percentile), c.Sync.Percentile(rule.Percentile)
	}
	o.Known = figure.Known
	if !o.Known {
		o.Text = what + " is unknown with so few records; use a larger --size"
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
