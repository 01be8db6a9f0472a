package overtime

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Combined lists the repeats of a trial whose values are combined in charts.
type Combined struct {
	Included []*record.Trial
	// LeftOut holds the other repeats: those without charts or figures, and those that are less
	// reliable than the included repeats.
	LeftOut []*record.Trial

	// typical is the included repeat with the median throughput.
	typical *Charts
}

// String describes the included repeats, such as "3 of 5 repeats".
func (c *Combined) String() string {
	n, all := len(c.Included), len(c.Included)+len(c.LeftOut)
	if n == all {
		return text.Plural(uint64(n), "repeat")
	}
	return fmt.Sprintf("%d of %s", n, text.Plural(uint64(all), "repeat"))
}

// Note describes the lines and bands of the charts, and the repeats that are left out.
func (c *Combined) Note() string {
	n := len(c.Included)
	words := fmt.Sprintf("The line shows repeat %d.", c.Included[0].Repeat)
	if n > 1 {
		words = fmt.Sprintf("Lines show the median of %s, and bands show the range from the lowest to the highest repeat. A line has a gap where a repeat has no value.", c)
	}
	var rest []string
	for _, t := range c.LeftOut {
		state := string(t.Verdict.State)
		if t.State != record.Complete {
			state = string(t.State)
		}
		rest = append(rest, fmt.Sprintf("repeat %d (%s)", t.Repeat, state))
	}
	if len(rest) > 0 {
		words += " Left out: " + text.ShortList(rest, analyze.MaxListedRepeats) + "."
	}
	if state := analyze.WorstVerdict(c.Included); state != verdict.Valid {
		words += " No repeat is valid."
	}
	return words
}

// CombineRepeats combines the charts of a trial's repeats: each line becomes the median of the
// repeats, with their range. CombineRepeats includes only the valid repeats. If no repeat is valid,
// it includes the suspect repeats whose figures can be compared (see analyze.ExclusionReason). If
// there are no such repeats either, it includes all repeats. The result has only the charts that
// describe the load. CombineRepeats returns false if fewer than two repeats have charts and
// figures.
func CombineRepeats(r *analyze.Row, all []*Charts) (*Charts, bool) {
	all = slices.DeleteFunc(slices.Clone(all), func(o *Charts) bool { return len(o.Panels) == 0 || !analyze.HasFigures(o.Trial) })
	if len(all) < 2 {
		return nil, false
	}
	included := selectRepeats(all)
	c := &Combined{typical: typicalRepeat(included)}
	for _, o := range included {
		c.Included = append(c.Included, o.Trial)
	}
	for _, t := range r.Trials { // including failed repeats, which have no charts
		if !slices.Contains(c.Included, t) {
			c.LeftOut = append(c.LeftOut, t)
		}
	}
	out := &Charts{Trial: included[0].Trial, Combined: c, Grid: commonGrid(included), bands: map[string]Line{}}
	for i := range combinedPanels {
		out.combinePanel(&combinedPanels[i], included)
	}
	out.meanLine = out.combineLine("mean", figures.LowerIsBetter, linesOf(included, func(o *Charts) *Line { return &o.meanLine }))
	for panel := range included[0].bands {
		whole := out.Grid.newLine(panel)
		for _, o := range included {
			if l, ok := o.bands[panel]; ok {
				whole.include(&out.Grid, &l, o.Grid.rangeOf)
			}
		}
		out.bands[panel] = whole
	}
	out.Curves = combineCurves(r.First().Name, included)
	return out, true
}

// selectRepeats returns the repeats that CombineRepeats includes.
func selectRepeats(all []*Charts) []*Charts {
	counts := func(o *Charts) bool { return analyze.ExclusionReason(o.Trial) == "" }
	for _, keep := range []func(*Charts) bool{
		func(o *Charts) bool { return counts(o) && o.Trial.Verdict.State == verdict.Valid },
		counts,
	} {
		var kept []*Charts
		for _, o := range all {
			if keep(o) {
				kept = append(kept, o)
			}
		}
		if len(kept) > 0 {
			return kept
		}
	}
	return all
}

// typicalRepeat returns the repeat with the median throughput.
func typicalRepeat(all []*Charts) *Charts {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *Charts) int {
		return cmp.Or(cmp.Compare(a.Trial.PerSecond, b.Trial.PerSecond), cmp.Compare(a.Trial.Repeat, b.Trial.Repeat))
	})
	return sorted[analyze.MedianIndex(len(sorted), figures.HigherIsBetter)]
}

// commonGrid returns a grid that covers the grids of all repeats.
func commonGrid(all []*Charts) Grid {
	g := all[0].Grid
	end := g.EndSecond()
	for _, o := range all[1:] {
		g.Width, g.Window = max(g.Width, o.Grid.Width), max(g.Window, o.Grid.Window)
		g.From, end = min(g.From, o.Grid.From), max(end, o.Grid.EndSecond())
	}
	g.Columns = (end - g.From + g.Width - 1) / g.Width
	return g
}

// rangeOf returns the range of the axis that a column covers.
func (g *Grid) rangeOf(column int) (from, to float64) {
	from = float64(g.From + column*g.Width)
	return from, from + float64(g.Width)
}

// include adds the values of another line. The function `place` converts a column of the other line
// to a range on the axis of the grid.
func (l *Line) include(g *Grid, other *Line, place func(column int) (from, to float64)) {
	for i := range other.Low {
		if from, to := place(i); to > from && !math.IsNaN(other.Low[i]) {
			l.fillBetween(g, from, to, other.Low[i], other.High[i])
		}
	}
}

// combinedPanel describes a chart that combines repeats.
type combinedPanel struct {
	panel  string
	lines  []string
	better figures.Direction
}

// combinedPanels lists the charts that combine repeats. They describe the load. Charts that
// describe members are not combined, because a member has different roles in different repeats.
var combinedPanels = []combinedPanel{
	{"throughput", []string{"completed", "due"}, figures.HigherIsBetter},
	{"latency", []string{"p50", "p99"}, figures.LowerIsBetter},
	{"errors", []string{"failed"}, figures.LowerIsBetter},
	{"watch-events", []string{"events"}, figures.HigherIsBetter},
	{"watch-latency", []string{"p50", "p99"}, figures.LowerIsBetter},
}

// combinePanel adds a chart that combines repeats, if a repeat has this chart.
func (o *Charts) combinePanel(c *combinedPanel, repeats []*Charts) {
	var p Panel
	for _, r := range repeats {
		if i := slices.IndexFunc(r.Panels, func(p Panel) bool { return p.Name == c.panel }); i >= 0 {
			p = r.Panels[i]
			break
		}
	}
	if p.Name == "" {
		return
	}
	p.Lines, p.Notes = nil, nil
	if len(repeats) > 1 {
		p.Key = fmt.Sprintf("lines: median of %s, bands: lowest to highest", o.Combined)
	}
	for _, name := range c.lines {
		lines := linesOf(repeats, panelLine(c.panel, name))
		if c.panel == "errors" {
			lines = linesOf(repeats, failedLine)
		}
		p.Lines = append(p.Lines, o.combineLine(name, c.better, lines))
	}
	o.addPanel(p)
}

// failedLine returns the rate of failed operations. A repeat without failures has no chart of
// errors; its rate is 0.
func failedLine(o *Charts) *Line {
	if l := panelLine("errors", "failed")(o); l != nil {
		return l
	}
	done := panelLine("throughput", "completed")(o)
	if done == nil {
		return nil
	}
	zero := o.Grid.newLine("failed")
	for i := range done.Low {
		if !math.IsNaN(done.Low[i]) {
			zero.add(i, 0)
		}
	}
	return &zero
}

// gridLine is a line of one repeat with its grid. The field `line` is nil if the repeat has no such
// line.
type gridLine struct {
	grid *Grid
	line *Line
}

func linesOf(repeats []*Charts, of func(*Charts) *Line) []gridLine {
	all := make([]gridLine, len(repeats))
	for i, o := range repeats {
		all[i] = gridLine{&o.Grid, of(o)}
	}
	return all
}

// combineLine returns the median of the repeats' lines, with their range. If the number of repeats
// is even, the median of a column is the worse of the two middle values (see analyze.Median). If a
// repeat has no value in a column, the median of this column is unknown. The median of a single
// repeat is its line, without a range.
func (o *Charts) combineLine(name string, better figures.Direction, repeats []gridLine) Line {
	g := &o.Grid
	out, whole := g.newLine(name), g.newLine(name)
	placed := make([]Line, len(repeats))
	for i, r := range repeats {
		placed[i] = g.newLine(name)
		if r.line != nil {
			placed[i].include(g, r.line, r.grid.rangeOf)
		}
		whole.include(g, &placed[i], g.rangeOf)
	}
	if len(placed) == 1 {
		return placed[0]
	}
	for column := range out.Low {
		low, high := make([]float64, 0, len(placed)), make([]float64, 0, len(placed))
		for i := range placed {
			low, high = append(low, placed[i].Low[column]), append(high, placed[i].High[column])
		}
		if !slices.ContainsFunc(low, math.IsNaN) {
			out.Low[column], out.High[column] = medianNumber(low, better), medianNumber(high, better)
		}
	}
	out.Repeats = &whole
	return out
}

// medianNumber returns the median of numbers, by the same rule as analyze.Median. It changes the
// order of the numbers.
func medianNumber(all []float64, better figures.Direction) float64 {
	slices.Sort(all)
	return all[analyze.MedianIndex(len(all), better)]
}

// combineCurves returns the curve of the medians of the repeats' percentiles, with their range. The
// curve ends at the last percentile that all repeats have.
func combineCurves(name string, repeats []*Charts) []PercentileCurve {
	out := PercentileCurve{Name: name, Repeats: len(repeats)}
	points := math.MaxInt
	for _, o := range repeats {
		if len(o.Curves) == 0 {
			return nil
		}
		c := &o.Curves[0]
		points = min(points, len(c.Points))
		out.Count, out.Failed = out.Count+c.Count, out.Failed+c.Failed
	}
	if points == 0 {
		out.Name += ": failed"
	}
	values := make([]float64, len(repeats))
	for k := range points {
		p := PercentilePoint{Percentile: repeats[0].Curves[0].Points[k].Percentile, Reliable: true}
		for i, o := range repeats {
			values[i] = o.Curves[0].Points[k].Nanoseconds
			p.Reliable = p.Reliable && o.Curves[0].Points[k].Reliable
		}
		p.Nanoseconds = medianNumber(values, figures.LowerIsBetter)
		p.Least, p.Most = values[0], values[len(values)-1]
		out.Points = append(out.Points, p)
	}
	return []PercentileCurve{out}
}
