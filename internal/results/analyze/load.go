package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// InOrder is a run's trials in the order of the scenario, the repeats of each
// side by side.
func InOrder(run *record.Run) []*record.Trial {
	all := make([]*record.Trial, 0, len(run.Trials))
	for i := range run.Trials {
		all = append(all, &run.Trials[i])
	}
	slices.SortStableFunc(all, func(a, b *record.Trial) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Repeat, b.Repeat))
	})
	return all
}

// condition is a part of a trial's load.
type condition struct {
	name string // as in "it ran with ... clients"
	of   func(*record.Conditions) string
}

// loadConditions are what must be equal for two trials to be compared.
func loadConditions() []condition {
	number := func(n int) string { return strconv.Itoa(n) }
	float := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return []condition{
		{"the operations", func(c *record.Conditions) string { return mixText(c) }},
		{"the target", func(c *record.Conditions) string { return c.Target }},
		{"the arrival", func(c *record.Conditions) string { return c.Arrival }},
		{"the trial whose throughput the rate follows", func(c *record.Conditions) string { return c.RateOf }},
		{"a new connection for each operation", func(c *record.Conditions) string { return strconv.FormatBool(c.NewConnection) }},
		{"the connections", func(c *record.Conditions) string { return number(c.Connections) }},
		{"the clients", func(c *record.Conditions) string {
			if c.Open() {
				return "" // have no meaning there
			}
			return number(c.Clients)
		}},
		{"the limit of operations in flight", func(c *record.Conditions) string { return number(c.MaxInFlight) }},
		{"the total of operations", func(c *record.Conditions) string { return strconv.FormatUint(c.Total, 10) }},
		{"the duration in seconds", func(c *record.Conditions) string { return float(c.DurationSeconds) }},
		{"the warm-up in seconds", func(c *record.Conditions) string { return float(c.WarmupSeconds) }},
		{"the timeout in seconds", func(c *record.Conditions) string { return float(c.TimeoutSeconds) }},
		{"the key's size in bytes", func(c *record.Conditions) string { return number(c.KeySize) }},
		{"the value's size in bytes", func(c *record.Conditions) string { return number(c.ValueSize) }},
		{"the number of keys", func(c *record.Conditions) string { return strconv.FormatUint(c.KeySpace, 10) }},
		{"the key's prefix", func(c *record.Conditions) string { return strconv.Quote(c.KeyPrefix) }},
		{"the distribution of keys", func(c *record.Conditions) string {
			return fmt.Sprintf("%s %g %g %g", c.Distribution, c.Theta, c.HotKeys, c.HotOps)
		}},
		{"the range", func(c *record.Conditions) string {
			return fmt.Sprintf("%q to %q, at most %d", c.RangeKey, c.RangeEnd, c.RangeLimit)
		}},
		{"the keys of a transaction", func(c *record.Conditions) string { return number(c.TxnKeys) }},
		{"the preload", func(c *record.Conditions) string { return strconv.FormatBool(c.Preloaded) }},
	}
}

func mixText(c *record.Conditions) string {
	text := ""
	for i, s := range c.Mix {
		if i > 0 {
			text += ", "
		}
		text += s.Operation
		if s.Consistency != "" {
			text += " " + s.Consistency
		}
		if len(c.Mix) > 1 {
			text += fmt.Sprintf(" %g", s.Weight)
		}
	}
	return text
}

// SameLoad refuses two trials whose load is not the same with a sentence that
// names the first difference. A rate that is a share of another trial's
// throughput, which no two runs have alike, need only be a share of the same.
func SameLoad(now, base *record.Conditions) error {
	for _, c := range slices.Concat(loadConditions(), scanConditions(), stmConditions(), besideConditions()) {
		if a, b := c.of(now), c.of(base); a != b {
			return differentLoad(now.Name, c.name, a, b)
		}
	}
	if now.RateOf == "" && now.Rate != nil && base.Rate != nil && *now.Rate != *base.Rate {
		return differentLoad(now.Name, "the rate a second", fmt.Sprint(*now.Rate), fmt.Sprint(*base.Rate))
	}
	return nil
}

func differentLoad(trial, what, now, base string) error {
	return fmt.Errorf("the baseline was made with another load: %s in %s: %s here, %s there; compare runs of the same scenario", what, trial, orNone(now), orNone(base))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
