package changepoint

import "github.com/quorumbench/quorumbench/internal/measure/stat"

// Size is the amount by which a change moved the level, with its 95 % confidence interval. Before
// and After are the levels before and after the change.
type Size struct{ Value, Low, High, Before, After float64 }

// Sizes returns the sizes of the changes that Find returned for the points. A size is the
// difference between the levels on both sides of a change; each level extends to the adjacent
// change. The sizes become more precise as more points are appended.
func Sizes(points []Point, changes []Change) []Size {
	f := finder{points: points}
	sizes := make([]Size, 0, len(changes))
	for i := range changes {
		c := &changes[i]
		first, last := 0, len(points)
		if i > 0 {
			first = changes[i-1].end()
		}
		if i+1 < len(changes) {
			last = changes[i+1].Low
		}
		// A drift may begin at the start of a level or last until its end. In this case, at most
		// minBefore points of the drift itself replace the missing level.
		from, to := max(first, c.Low-window), max(c.Low, min(first+minBefore, c.end()))
		start, end := c.end(), min(max(last, c.High+minAfter), c.end()+window, len(points))
		if c.Kind == Drift {
			start = max(min(start, end-minBefore), c.Index)
		}
		f.measure(from, end)
		before, after := f.levelOf(from, to), f.levelOf(start, end)
		correlation := 1.0
		if c.Kind == Step {
			correlation = correlationFactor(f.residuals(from, c.Index, end, before.mean, after.mean))
		}
		t := compare(before, after, f.scale, correlation)
		half := stat.Student(t.degreesOfFreedom).Quantile(0.975) * t.err
		sizes = append(sizes, Size{t.difference, t.difference - half, t.difference + half, before.mean, after.mean})
	}
	return sizes
}

// end returns the index of the first point after the change.
func (c *Change) end() int {
	if c.Kind == Drift {
		return c.LastDriftIndex
	}
	return c.High
}
