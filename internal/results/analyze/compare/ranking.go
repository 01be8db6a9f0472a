package compare

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Ranking orders trials with the same load by throughput.
type Ranking struct {
	Fastest *analyze.Row
	Slower  []SlowerRow // from the highest to the lowest throughput
	// Valid is set if the verdict on the throughput of all ranked trials is valid.
	Valid bool
	// Bounded is set if all throughputs have a confidence interval. A range of repeats does not
	// count as an interval.
	Bounded bool
	// Omitted is the number of trials with this load that have no comparable figures.
	Omitted int
}

// SlowerRow is a row that is not the fastest one.
type SlowerRow struct {
	*analyze.Row
	Ratio float64 // the fastest row's throughput divided by this row's throughput
	Clear bool    // the throughput is clearly worse than that of the fastest row
}

// RankThroughput ranks the trials of different stores by throughput. It returns one ranking for
// each load that several trials of a run share under the same conditions. It omits loads with a
// given rate, because their throughput does not show how fast a store is. It also omits a load if
// two of its trials have the same store, version and build, because such trials differ in another
// condition. The number of connections may differ, because some stores need a connection for each
// client. Baselines are not ranked.
func RankThroughput(rows []*analyze.Row) (rankings []Ranking) {
	var groups [][]*analyze.Row
	for _, r := range rows {
		t := r.First()
		if t.Open() || t.Application.Name != "" || t.BaselineOf != "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g []*analyze.Row) bool { return isRankable(g[0].First(), t) })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], r)
	}
	for _, g := range groups {
		ranked := slices.DeleteFunc(slices.Clone(g), func(r *analyze.Row) bool { return !hasComparableThroughput(r) })
		var stores []string
		for _, r := range ranked {
			stores = analyze.AppendNew(stores, analyze.Store(r.First()))
		}
		if len(ranked) > 1 && len(stores) == len(ranked) {
			ranking := rankRows(ranked)
			ranking.Omitted = len(g) - len(ranked)
			rankings = append(rankings, ranking)
		}
	}
	return rankings
}

// isRankable reports whether two trials of a run have the same load, apart from the number of
// connections, and the same conditions, apart from the store.
func isRankable(a, b *record.Trial) bool {
	x, y := a.Load, b.Load
	x.Connections, y.Connections = 0, 0
	if what, _, _ := scenario.FirstDifference(&x, &y); what != "" || a.Dir != b.Dir {
		return false
	}
	return !slices.ContainsFunc(environment(), func(c condition) bool { return !c.ofStore && c.describe(a) != c.describe(b) })
}

// hasComparableThroughput reports whether at least one repeat has a throughput that can be
// compared.
func hasComparableThroughput(r *analyze.Row) bool {
	throughput, _ := r.Figure(&opsFigure)
	return throughput.Number > 0 && slices.ContainsFunc(r.Done, func(t *record.Trial) bool { return analyze.ExclusionReason(t) == "" })
}

// opsFigure is the throughput, in operations per second.
var opsFigure = figures.Registered("ops")

func rankRows(rows []*analyze.Row) Ranking {
	throughputs := map[*analyze.Row]analyze.BoundedValue{}
	for _, r := range rows {
		throughputs[r] = analyze.BoundedValueOf(r, &opsFigure)
	}
	slices.SortStableFunc(rows, func(a, b *analyze.Row) int { return cmp.Compare(throughputs[b].Number, throughputs[a].Number) })
	fastest := throughputs[rows[0]]
	ranking := Ranking{Fastest: rows[0], Valid: true, Bounded: true}
	for i, r := range rows {
		value := throughputs[r]
		ranking.Valid = ranking.Valid && analyze.JudgeFigure("ops", r.ComparableTrials()).State == string(verdict.Valid)
		ranking.Bounded = ranking.Bounded && value.IsInterval()
		if i > 0 {
			ranking.Slower = append(ranking.Slower, SlowerRow{r, fastest.Number / value.Number, value.ClearlyWorse(fastest, figures.HigherIsBetter)})
		}
	}
	return ranking
}
