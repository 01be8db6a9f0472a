package analyze

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Ranking orders trials with the same load by throughput.
type Ranking struct {
	Fastest *Row
	Slower  []SlowerRow // from the highest to the lowest throughput
	// Bounded is set if the intervals of all throughputs are known.
	Bounded bool
}

// SlowerRow is a row that is not the fastest one.
type SlowerRow struct {
	*Row
	Ratio float64 // the fastest row's throughput divided by this row's throughput
	// Clear is set if the throughputs differ by more than stats.Margin, and if their intervals do not
	// overlap. If an interval is not known, the throughput takes its place.
	Clear bool
}

// RankThroughput ranks the trials of different stores by throughput. It returns one ranking for each
// load that several trials of a run have under the same conditions. It omits loads with a given
// rate, because their throughput does not show how fast a store is. It also omits a load if two of
// its trials have the same store and version, because they differ in another condition. The number
// of connections may differ, because some stores need a connection for each client. Invalid trials
// and baselines are not ranked.
func RankThroughput(rows []*Row) (rankings []Ranking) {
	var groups [][]*Row
	for _, r := range rows {
		t := r.First()
		if len(r.Done) == 0 || t.Open() || t.Application.Name != "" || t.BaselineOf != "" || throughput(r) <= 0 || WorstVerdict(r.Trials) == verdict.Invalid {
			continue
		}
		i := slices.IndexFunc(groups, func(g []*Row) bool { return isComparable(g[0].First(), t) })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], r)
	}
	for _, g := range groups {
		var stores []string
		for _, r := range g {
			stores = AppendNew(stores, r.First().Store+" "+r.First().Version)
		}
		if len(g) > 1 && len(stores) == len(g) {
			rankings = append(rankings, rankRows(g))
		}
	}
	return rankings
}

func rankRows(rows []*Row) Ranking {
	ops := record.Registered("ops")
	sorted := slices.SortedStableFunc(slices.Values(rows), func(a, b *Row) int { return cmp.Compare(throughput(b), throughput(a)) })
	ranking := Ranking{Fastest: sorted[0], Bounded: true}
	bounds := func(r *Row) (low, high float64) {
		if c, known := CertaintyOf(r, &ops); known && !c.RunTooShort {
			return rank(c.Low), rank(c.High)
		}
		ranking.Bounded = false
		return throughput(r), throughput(r)
	}
	low, high := bounds(ranking.Fastest)
	for _, r := range sorted[1:] {
		ratio := throughput(ranking.Fastest) / throughput(r)
		otherLow, otherHigh := bounds(r)
		overlaps := otherHigh >= low && otherLow <= high
		ranking.Slower = append(ranking.Slower, SlowerRow{r, ratio, ratio > 1+stats.Margin && !overlaps})
	}
	return ranking
}

// throughput returns a row's throughput, in operations per second.
func throughput(r *Row) float64 {
	ops := record.Registered("ops")
	v, _ := r.Figure(&ops)
	return v.Number
}

// isComparable reports whether two trials belong to the same run, and have the same machine, number
// of members, security and durability. They must also have the same load, except for the number of
// connections.
func isComparable(a, b *record.Trial) bool {
	x, y := a.Load, b.Load
	x.Connections, y.Connections = 0, 0
	what, _, _ := scenario.FirstDifference(&x, &y)
	return what == "" && a.Dir == b.Dir && a.Members == b.Members && a.TLS == b.TLS && a.Authenticated == b.Authenticated &&
		hostName(a) == hostName(b) && isSynced(a) == isSynced(b)
}

// hostName returns the name of the machine of the load generator, if it is known.
func hostName(t *record.Trial) string {
	if t.Machine == nil {
		return ""
	}
	return t.Machine.Name
}

// isSynced reports whether the store syncs writes before it acknowledges them, as far as is known.
func isSynced(t *record.Trial) bool { return t.Durability == nil || t.Durability.Synced }
