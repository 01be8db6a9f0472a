package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
)

// synthetic is a series with known changes.
type synthetic struct {
	points []Point
	steps  []int // the first points of new levels
	drifts bool
}

// plain returns points with the given values and without standard errors.
func plain(values []float64) []Point {
	points := make([]Point, len(values))
	for i, v := range values {
		points[i].Value = v
	}
	return points
}

// family generates series of one kind.
type family struct {
	name string
	make func(r *rand.Rand) synthetic
}

// steps returns the logarithms of a series of `n` points with `count` steps. Each step changes the
// level up or down by a share from `least` to `most`. Each step is at least `apart` points away
// from the other steps and from the ends of the series. The result `at` contains the first points
// of the new levels.
func steps(r *rand.Rand, n, count, apart int, least, most float64) (values []float64, at []int) {
	for len(at) < count {
		k := apart + r.IntN(n-2*apart)
		if !slices.ContainsFunc(at, func(o int) bool { return max(o-k, k-o) < apart }) {
			at = append(at, k)
		}
	}
	slices.Sort(at)
	values = make([]float64, n)
	level, next := 0.0, 0
	for i := range values {
		if next < len(at) && at[next] == i {
			size := math.Log(1 + least + r.Float64()*(most-least))
			if r.IntN(2) == 0 {
				size = -size
			}
			level += size
			next++
		}
		values[i] = level
	}
	return values, at
}

// families returns the kinds of series by which detectors are compared.
func families() []family {
	noisy := func(r *rand.Rand, values []float64, sigma float64) []float64 {
		for i := range values {
			values[i] += sigma * r.NormFloat64()
		}
		return values
	}
	return []family{
		{"steps of 2 to 10 %, noise 1 %", func(r *rand.Rand) synthetic {
			v, at := steps(r, 200, 1+r.IntN(4), 15, 0.02, 0.10)
			return synthetic{points: plain(noisy(r, v, 0.01)), steps: at}
		}},
		{"steps of 2 to 10 %, noise 2 %", func(r *rand.Rand) synthetic {
			v, at := steps(r, 200, 1+r.IntN(4), 15, 0.02, 0.10)
			return synthetic{points: plain(noisy(r, v, 0.02)), steps: at}
		}},
		{"steps and single spikes of 10 to 50 %", func(r *rand.Rand) synthetic {
			v, at := steps(r, 200, 1+r.IntN(3), 15, 0.03, 0.10)
			noisy(r, v, 0.01)
			for range 8 {
				v[r.IntN(len(v))] += math.Log(1+0.1+0.4*r.Float64()) * float64(1-2*r.IntN(2))
			}
			return synthetic{points: plain(v), steps: at}
		}},
		{"steps, heavy tails", func(r *rand.Rand) synthetic {
			v, at := steps(r, 200, 1+r.IntN(3), 15, 0.03, 0.10)
			for i := range v {
				chi := 0.0
				for range 3 {
					x := r.NormFloat64()
					chi += x * x
				}
				v[i] += 0.01 * r.NormFloat64() / math.Sqrt(chi/3)
			}
			return synthetic{points: plain(v), steps: at}
		}},
		{"steps and changing variance", func(r *rand.Rand) synthetic {
			v, at := steps(r, 200, 1+r.IntN(3), 15, 0.04, 0.10)
			sigma := 0.01
			for i := range v {
				if i%50 == 0 {
					sigma = []float64{0.005, 0.01, 0.02, 0.03}[r.IntN(4)]
				}
				v[i] += sigma * r.NormFloat64()
			}
			return synthetic{points: plain(v), steps: at}
		}},
		{"drift of 5 to 20 %, no step", func(r *rand.Rand) synthetic {
			v := make([]float64, 200)
			from, to, size := r.IntN(80), 120+r.IntN(80), 0.05+0.15*r.Float64()
			for i := range v {
				v[i] = size * min(max(float64(i-from)/float64(to-from), 0), 1)
			}
			return synthetic{points: plain(noisy(r, v, 0.01)), drifts: true}
		}},
		{"no change, noise 2 %", func(r *rand.Rand) synthetic {
			return synthetic{points: plain(noisy(r, make([]float64, 200), 0.02))}
		}},
		{"no change, correlated noise", func(r *rand.Rand) synthetic {
			v, x := make([]float64, 200), 0.0
			for i := range v {
				x = 0.4*x + 0.01*r.NormFloat64()
				v[i] = x
			}
			return synthetic{points: plain(v)}
		}},
		{"steps, a third of the points imprecise", func(r *rand.Rand) synthetic {
			v, at := steps(r, 200, 1+r.IntN(3), 15, 0.03, 0.10)
			s := synthetic{points: plain(v), steps: at}
			for i := range s.points {
				own := 0.005
				if r.IntN(3) == 0 {
					own = 0.05
				}
				s.points[i].Error = own
				s.points[i].Value += math.Hypot(own, 0.005) * r.NormFloat64()
			}
			return s
		}},
	}
}

// score counts the found changes, the true changes, and the true changes that were found (hits).
type score struct{ hits, found, truth int }

// tolerance is the maximum distance, in points, between a true change and a found change that
// counts as this true change.
const tolerance = 5

// add scores one series. A true change matches at most one found change: the nearest one within the
// tolerance that does not match another true change.
func (s *score) add(found, truth []int) {
	s.found += len(found)
	s.truth += len(truth)
	used := make([]bool, len(found))
	for _, t := range truth {
		best := -1
		for i, f := range found {
			if d := max(f-t, t-f); !used[i] && d <= tolerance && (best < 0 || d < max(found[best]-t, t-found[best])) {
				best = i
			}
		}
		if best >= 0 {
			used[best] = true
			s.hits++
		}
	}
}

func (s *score) merge(o score) {
	s.hits, s.found, s.truth = s.hits+o.hits, s.found+o.found, s.truth+o.truth
}

// precision returns the share of the found changes that are true, or 1 if no change was found.
// recall returns the share of the true changes that were found, or 1 if the series have no true
// changes.
func (s *score) precision() float64 { return share(s.hits, s.found) }
func (s *score) recall() float64    { return share(s.hits, s.truth) }

func share(of, all int) float64 {
	if all == 0 {
		return 1
	}
	return float64(of) / float64(all)
}

func (s *score) f1() float64 {
	if s.found+s.truth == 0 {
		return 1
	}
	return 2 * float64(s.hits) / float64(s.found+s.truth)
}

// stepsOf returns the positions of the steps among the changes.
func stepsOf(changes []Change) (at []int) {
	for _, c := range changes {
		if c.Kind == Step {
			at = append(at, c.Index)
		}
	}
	return at
}
