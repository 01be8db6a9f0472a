package web

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// drawnRow is a trial with its charts.
type drawnRow struct {
	row *analyze.Row
	// combined has the charts that combine the repeats. It is nil if fewer than two repeats have
	// charts.
	combined *drawnTrial
	repeats  []drawnTrial // the repeats that have charts of their own
}

// chooseCharts returns the charts that describe the trial as a whole, or nil if the trial has no
// charts. If the repeats are not combined, chooseCharts prefers a repeat whose figures can be
// compared.
func (r *drawnRow) chooseCharts() *drawnTrial {
	if r.combined != nil {
		return r.combined
	}
	for _, suits := range []func(*record.Trial) bool{
		func(t *record.Trial) bool { return analyze.ExclusionReason(t) == "" },
		analyze.HasFigures,
		func(*record.Trial) bool { return true },
	} {
		for i := range r.repeats {
			if suits(r.repeats[i].trial) {
				return &r.repeats[i]
			}
		}
	}
	return nil
}

// rowID returns the name by which links refer to the section of a trial with all its repeats.
func rowID(r *analyze.Row) string { return fmt.Sprintf("t%d", r.First().Number) }

// combines reports whether a trial has several repeats that can be combined.
func combines(r *analyze.Row) bool {
	drawable := 0
	for _, t := range r.Done {
		if len(t.Timeline) > 0 {
			drawable++
		}
	}
	return drawable > 1
}

// interleaveRepeats returns the trials of all rows: one repeat of each row, then a second repeat of
// each row, and so on. Repeats whose figures can be compared come first.
func interleaveRepeats(rows []*analyze.Row) (all []*record.Trial) {
	most := 0
	sorted := make([][]*record.Trial, len(rows))
	for i, r := range rows {
		sorted[i] = slices.Clone(r.Trials)
		slices.SortStableFunc(sorted[i], func(a, b *record.Trial) int {
			rank := func(t *record.Trial) int {
				if analyze.ExclusionReason(t) == "" {
					return 0
				}
				return 1
			}
			return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Repeat, b.Repeat))
		})
		most = max(most, len(r.Trials))
	}
	for n := range most {
		for _, trials := range sorted {
			if n < len(trials) {
				all = append(all, trials[n])
			}
		}
	}
	return all
}

// drawRows reads and draws the trials with charts. It omits trials for which no chart was selected.
// It keeps the data of a repeat only if the repeat has its charts in a separate section. The result
// `problems` contains sentences about data that cannot be read.
func drawRows(shown shownTrials) (all []drawnRow, problems []string) {
	for _, r := range shown.rows {
		one := drawnRow{row: r}
		var overs []*overtime.Charts
		combined := combines(r)
		trials := slices.Clone(r.Trials)
		slices.SortStableFunc(trials, func(a, b *record.Trial) int { return cmp.Compare(a.Repeat, b.Repeat) })
		for _, t := range trials {
			own := shown.shows(t)
			if !own && (!combined || !analyze.HasFigures(t)) {
				continue
			}
			over, err := overtime.Read(t, shown.columns)
			if err != nil {
				problems = append(problems, fmt.Sprintf("The charts of %s are incomplete: %v.", analyze.Label(t), err))
			}
			overs = append(overs, over)
			if own {
				one.repeats = append(one.repeats, draw(t, over))
			}
		}
		if over, ok := overtime.CombineRepeats(r, overs); combined && ok {
			one.combined = new(drawCombined(over))
		}
		if one.chooseCharts() != nil {
			all = append(all, one)
		}
	}
	return all, problems
}

// selectCombinedRows returns the trials whose repeats are combined on the page.
func selectCombinedRows(drawn []drawnRow) (rows []*analyze.Row) {
	for i := range drawn {
		if drawn[i].combined != nil {
			rows = append(rows, drawn[i].row)
		}
	}
	return rows
}

// drawCombined draws the charts that combine the repeats of a trial.
func drawCombined(over *overtime.Charts) drawnTrial {
	d := drawnTrial{trial: over.Trial, overTime: over, colors: chart.Colors{}}
	for i := range over.Panels {
		d.charts = append(d.charts, chart.OverTime(over, &over.Panels[i], d.colors))
	}
	if c, ok := chart.Percentiles("percentiles", over.TimeTitle()+" by percentile", over.Curves); ok {
		d.curves = append(d.curves, byPercentile{c, over.Curves})
	}
	return d
}

// trialRow is the section of the page about a trial. It contains one section for each repeat whose
// charts are on the page.
type trialRow struct {
	ID, Name, Headline string
	Verdict            string
	Open               bool // whether the page shows the section unfolded
	Note               string
	Pictures           []picture
	Series             *series
	Trials             []trial
	More               string // a sentence about the repeats without charts of their own
}

// newTrialRow returns the section of the page about a trial.
func newTrialRow(d *drawnRow) trialRow {
	out := trialRow{}
	for i := range d.repeats {
		out.Trials = append(out.Trials, trialOf(&d.repeats[i]))
	}
	if d.combined == nil {
		return out
	}
	c := d.combined.overTime.Combined
	out.ID, out.Name, out.Verdict = rowID(d.row), d.row.First().Name, analyze.JudgeTrials(d.row.Trials).State
	out.Headline = fmt.Sprintf("%s on %s, %d repeats", analyze.Headline(d.combined.trial), analyze.Store(d.combined.trial), len(d.row.Trials))
	out.Note = c.Note()
	prefix := out.ID + "-"
	for i := range d.combined.charts {
		out.Pictures = append(out.Pictures, newPicture(&d.combined.charts[i], prefix, "over-time"))
	}
	for i := range d.combined.curves {
		p := curvesPicture(&d.combined.curves[i].Chart, prefix, d.combined.curves[i].curves)
		p.Notes = append(p.Notes, percentilesNote)
		out.Pictures = append(out.Pictures, p)
	}
	out.Series = seriesOf(d.combined.overTime)
	if more := len(d.row.Trials) - len(d.repeats); more > 0 {
		out.More = fmt.Sprintf("Repeats without charts of their own on this page: %d of %d.", more, len(d.row.Trials))
	}
	return out
}
