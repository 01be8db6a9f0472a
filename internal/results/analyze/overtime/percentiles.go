package overtime

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// pointsPerHalf is the number of points after which the share of slower operations has halved.
// HdrHistogram's own output uses the same number.
const pointsPerHalf = 5

// byCells groups the histograms in a trial's window by the key that the function `of` returns for a
// series, and merges the histograms of each group.
func byCells[K comparable](all map[measure.Series]*measure.Histogram, of func(measure.Series) K) map[K]*measure.Histogram {
	out := map[K]*measure.Histogram{}
	for s, h := range all {
		out[of(s)] = measure.Add(out[of(s)], h)
	}
	return out
}

// curvesByKind returns the curve of all operations in the window. If there are several kinds of
// operations, it adds a curve for each kind.
func curvesByKind(o *Charts, all map[measure.Series]*measure.Histogram) []PercentileCurve {
	merged := byCells(all, func(measure.Series) bool { return true })[true]
	if measure.Count(merged) == 0 {
		return nil
	}
	kinds := byCells(all, func(s measure.Series) kv.Kind { return s.Kind })
	out := []PercentileCurve{curve(analyze.Label(o.Trial), merged, o.Trial.Errors)}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		// the histograms of a single kind contain only successes
		if len(kinds) > 1 && measure.Count(kinds[kind]) > 0 {
			out = append(out, curve(kind.String()+", successes", kinds[kind], 0))
		}
	}
	return out
}

// curvesByRole returns a curve for each role (leader, followers, non-voters) that served operations
// in the window. It returns nil if there is only one such role.
func curvesByRole(t *record.Trial, all map[measure.Series]*measure.Histogram) (out []PercentileCurve) {
	roles := byCells(all, func(s measure.Series) kv.Role { return t.Roles.Resolve(s.Member, s.Term) })
	for _, role := range []kv.Role{kv.Leader, kv.Follower, kv.NonVoter, kv.UnknownRole} {
		done, failed := uint64(0), uint64(0)
		for i := range t.ByRole {
			if t.ByRole[i].Role == role.String() {
				done, failed = done+t.ByRole[i].Operations, failed+t.ByRole[i].Errors
			}
		}
		if h := roles[role]; measure.Count(h) > 0 || done == 0 && failed > 0 {
			name := "by the " + role.String()
			switch role {
			case kv.Follower:
				name = "by followers"
			case kv.NonVoter:
				name = "by members without a vote"
			case kv.UnknownRole:
				name = "by members of unknown role"
			}
			out = append(out, curve(name, h, failed))
		}
	}
	return severalCurves(out)
}

// curvesByMember returns a curve for each member that served operations in the window. It returns
// nil if there is only one such member. The name of a curve says whether the member was the leader.
func curvesByMember(t *record.Trial, all map[measure.Series]*measure.Histogram) (out []PercentileCurve) {
	members := byCells(all, func(s measure.Series) uint64 { return s.Member })
	for i := range t.ByMember {
		m := &t.ByMember[i]
		h := members[uint64(m.ID)]
		if m.ID == 0 && m.Name != "" { // an endpoint whose member was never identified
			h = nil
		}
		if measure.Count(h) == 0 && (m.Operations > 0 || m.Errors == 0) {
			continue
		}
		led, followed := false, false
		for s := range all {
			if s.Member == uint64(m.ID) && s.Member != 0 {
				role := t.Roles.Resolve(s.Member, s.Term)
				led, followed = led || role == kv.Leader, followed || role == kv.Follower
			}
		}
		name := cmp.Or(m.Name, "unknown")
		switch {
		case led && followed:
			name += " (leader for a time)"
		case led:
			name += " (leader)"
		}
		out = append(out, curve(name, h, m.Errors))
	}
	return severalCurves(out)
}

// severalCurves returns at most maxLines of the given curves. It returns nil if there are fewer
// than two curves.
func severalCurves(all []PercentileCurve) []PercentileCurve {
	if len(all) < 2 {
		return nil
	}
	return all[:min(len(all), maxLines)]
}

// curve returns a percentile curve. The share of slower operations becomes smaller from point to
// point, until only the slowest operation is left.
func curve(name string, h *measure.Histogram, failed uint64) PercentileCurve {
	if measure.Count(h) == 0 {
		return PercentileCurve{Name: name + ": failed", Count: failed, Failed: failed}
	}
	succeeded := uint64(h.TotalCount())
	c := PercentileCurve{Name: name, Count: succeeded + failed, Failed: failed}
	var at []float64
	for step := 0; ; step++ {
		beyond := math.Pow(0.5, float64(step)/pointsPerHalf)
		// if fewer than 0.5 operations are slower, further points would only repeat the slowest
		// operation
		if beyond*float64(c.Count) < 0.5 {
			break
		}
		at = append(at, 100*(1-beyond))
	}
	last := 0.0
	for _, p := range at {
		// Use the nearest rank, as measure.Percentile does. measure.Percentile itself cannot be
		// used: it supports only three decimals, so the curve would end at 99.999.
		rank := max(uint64(math.Ceil(p/100*float64(c.Count))), 1)
		if rank > succeeded {
			break
		}
		ns := float64(h.ValueAtPercentile(100 * float64(rank) / float64(succeeded)))
		last = max(last, ns)
		c.Points = append(c.Points, PercentilePoint{Percentile: p, Nanoseconds: last, Reliable: c.Count-rank >= measure.MinBeyond})
	}
	return c
}
