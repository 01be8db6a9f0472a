package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// PercentileCurve is a distribution of times by percentile, over everything due
// as in the tables: to where the sample ends.
type PercentileCurve struct {
	Name   string
	Points []PercentilePoint // in rising order
	// Count is how many operations there are, failed ones included, and Failed
	// how many failed: they are slower than any success.
	Count, Failed uint64
}

// PercentilePoint is one percentile.
type PercentilePoint struct {
	Percentile float64 // from 0 to below 100
	NS         float64
	// Sure says that ten operations at least lie beyond it.
	Sure bool
}

// pointsPerHalf is how many points a curve has from one halving of what lies
// beyond to the next, as HdrHistogram's own output has.
const pointsPerHalf = 5

// curves are the trial's window by percentile: all, and each kind where there
// are several.
func curves(o *OverTime, all map[kv.Kind]*measure.Sum) []PercentileCurve {
	merged := measure.NewHistogram()
	kinds := make([]kv.Kind, 0, len(all))
	for kind, sum := range all {
		kinds = append(kinds, kind)
		merged = measure.Add(merged, sum.Histogram())
	}
	if merged.TotalCount() == 0 {
		return nil
	}
	slices.SortFunc(kinds, func(a, b kv.Kind) int { return cmp.Compare(a, b) })
	out := []PercentileCurve{curve(Label(o.Trial), merged, o.Trial.Errors)}
	for _, kind := range kinds {
		if len(kinds) > 1 && all[kind].Total() > 0 { // by kind, only successes are timed here
			out = append(out, curve(kind.String()+", successes", all[kind].Histogram(), 0))
		}
	}
	return out
}

// curve has the percentiles at which what lies beyond is halved, some between
// them, and the last operation's.
func curve(name string, h *measure.Histogram, failed uint64) PercentileCurve {
	succeeded := uint64(h.TotalCount())
	c := PercentileCurve{Name: name, Count: succeeded + failed, Failed: failed}
	var at []float64
	for step := 0; ; step++ {
		beyond := math.Pow(0.5, float64(step)/pointsPerHalf)
		if beyond*float64(c.Count) < 0.5 { // from 1 to 0.5 the nearest rank is the last
			break
		}
		at = append(at, 100*(1-beyond))
	}
	last := 0.0
	for _, p := range at {
		// The nearest rank, as in measure.Percentile, which three decimals would
		// end at 99.999.
		rank := max(uint64(math.Ceil(p/100*float64(c.Count))), 1)
		if rank > succeeded {
			break
		}
		ns := float64(h.ValueAtPercentile(100 * float64(rank) / float64(succeeded)))
		last = max(last, ns)
		c.Points = append(c.Points, PercentilePoint{Percentile: p, NS: last, Sure: c.Count-rank >= measure.MinBeyond})
	}
	return c
}
