package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

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
}

// Judge adds a store's opinion, which is by its rule. On a file system that is not
// durable none holds.
func (c *DiskCheck) Judge(store string, rule kv.DiskRule) {
	c.Opinions = append(c.Opinions, c.opinion(store, rule))
}

func (c *DiskCheck) opinion(store string, rule kv.DiskRule) DiskOpinion {
	o := DiskOpinion{Store: store, Rule: rule}
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
	o.Text = fmt.Sprintf("%s is %s, %s %s: %s", what, measure.Duration(figure.NS), is, measure.Duration(float64(rule.Limit)), rule.Source)
	return o
}
