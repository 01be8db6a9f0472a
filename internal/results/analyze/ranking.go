package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Ranking orders trials with the same load by throughput.
type Ranking struct {
	Fastest *Row
	Slower  []SlowerRow // from the highest to the lowest throughput
}

// SlowerRow is a row that is not the fastest one.
type SlowerRow struct {
	*Row
	Ratio float64 // the fastest row's throughput divided by this row's throughput
	// Clear is set if the throughputs differ by more than stats.Margin and their intervals, if
	// known, do not overlap.
	Clear bool
}

// RankThroughput ranks the trials of different stores by throughput. It returns one ranking for each
// load that several trials have. It omits loads with a given rate, because their throughput does not
// show how fast a store is. It also omits a load if two of its trials have the same store, because
// they differ in another condition, such as a fault. The number of connections may differ, because
// some stores need a connection for each client.
func RankThroughput(rows []*Row) (rankings []Ranking) {
	var groups [][]*Row
	for _, r := range rows {
		if t := r.First(); len(r.Done) == 0 || t.Open() || t.Application.Name != "" || throughput(r) <= 0 {
			continue
		}
		i := slices.IndexFunc(groups, func(g []*Row) bool { return hasSameLoad(g[0].First(), r.First()) })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], r)
	}
	for _, g := range groups {
		var stores []string
		for _, r := range g {
			stores = AppendNew(stores, Store(r.First()))
		}
		if len(g) > 1 && len(stores) == len(g) {
			rankings = append(rankings, rankRows(g))
		}
	}
	return rankings
}

func rankRows(rows []*Row) (ranking Ranking) {
	ops := record.Registered("ops")
	sorted := slices.SortedStableFunc(slices.Values(rows), func(a, b *Row) int { return cmp.Compare(throughput(b), throughput(a)) })
	ranking.Fastest = sorted[0]
	for _, r := range sorted[1:] {
		ratio := throughput(ranking.Fastest) / throughput(r)
		ranking.Slower = append(ranking.Slower, SlowerRow{r, ratio, ratio > 1+stats.Margin && !certaintiesOverlap(ranking.Fastest, r, &ops)})
	}
	return ranking
}

// throughput returns a row's throughput, in operations per second.
func throughput(r *Row) float64 {
	ops := record.Registered("ops")
	v, _ := r.Figure(&ops)
	return v.Number
}

// hasSameLoad reports whether two trials have the same load, apart from the number of connections.
func hasSameLoad(a, b *record.Trial) bool {
	x, y := a.Load, b.Load
	x.Connections, y.Connections = 0, 0
	what, _, _ := scenario.FirstDifference(&x, &y)
	return what == ""
}

// certaintiesOverlap reports whether the intervals or ranges of a figure of two rows overlap. It
// returns false if one of them is not known.
func certaintiesOverlap(a, b *Row, f *record.Figure) bool {
	x, known := CertaintyOf(a, f)
	y, alsoKnown := CertaintyOf(b, f)
	if !known || !alsoKnown || x.RunTooShort || y.RunTooShort {
		return false
	}
	return math.Max(rank(x.Low), rank(y.Low)) <= math.Min(rank(x.High), rank(y.High))
}
