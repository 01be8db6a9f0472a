package web

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/text"
)

// shownTrials holds the trials that have charts, the repeats that have charts of their own, and the
// number of columns in each chart.
type shownTrials struct {
	rows    []*analyze.Row
	trials  []*record.Trial
	columns int
}

// Initial limits for the charts on a page. On the page, a column of a line takes about 24 bytes:
// its part of the path and its value for the script. The function HTML reduces the limits if the
// page becomes too large.
const (
	maxCells  = 50_000
	maxTrials = 24
	// The assumed size of a trial in charts that combine several trials: the number of its lines,
	// and the maximum number of columns in each line.
	groupLines = 16
	maxGroups  = 240
	// The number of lines, bands included, in the charts that combine the repeats of a trial.
	linesCombined = 16
)

// columnSteps lists the possible numbers of columns in a chart.
var columnSteps = [...]int{720, 480, 360, 240, 180, 120}

// chooseTrials selects the trials that get charts: trials with a timeline, or all trials if there
// are few. Then it selects the repeats that get charts of their own, and the number of columns of
// each chart. It selects as many repeats and columns as fit on the page, and takes the repeats from
// all trials in turn.
func chooseTrials(run *record.Run) shownTrials {
	drawable := func(t *record.Trial) bool { return len(t.Timeline) > 0 || len(run.Trials) <= maxTrials }
	var s shownTrials
	for _, r := range analyze.Rows(run) {
		if slices.ContainsFunc(r.Trials, drawable) && len(s.rows) < maxTrials {
			s.rows = append(s.rows, r)
		}
	}
	for _, t := range interleaveRepeats(s.rows) {
		if drawable(t) && len(s.trials) < maxTrials {
			s.trials = append(s.trials, t)
		}
	}
	for {
		for _, s.columns = range columnSteps {
			if s.cells() <= maxCells || len(s.trials) == 1 && s.columns == columnSteps[len(columnSteps)-1] {
				return s
			}
		}
		if len(s.trials) == 0 {
			return s
		}
		s.trials = s.trials[:len(s.trials)-1]
	}
}

// cells estimates the number of columns of all lines on the page.
func (s *shownTrials) cells() (cells int) {
	for _, t := range s.trials {
		lines := 20 + 10*t.Members // the lines in the charts, and the heat map
		cells += lines * min(len(t.Timeline), s.columns)
	}
	for _, r := range s.rows {
		n := 0
		for _, t := range r.Trials {
			n = max(n, len(t.Timeline))
		}
		cells += groupLines * min(n, maxGroups)
		if combines(r) {
			cells += linesCombined * min(n, s.columns)
		}
	}
	return cells
}

// shrink reduces the number of columns. If this number is at its minimum, it reduces the number of
// repeats with charts of their own, and then the number of trials. It reports whether a reduction
// was possible.
func (s *shownTrials) shrink() bool {
	if i := slices.Index(columnSteps[:], s.columns); i+1 < len(columnSteps) {
		s.columns = columnSteps[i+1]
		return true
	}
	if n := len(s.trials); n > 0 {
		s.trials = s.trials[:n-(n+3)/4]
		if len(s.trials) == 0 {
			s.rows = slices.DeleteFunc(s.rows, func(r *analyze.Row) bool { return !combines(r) })
		}
		return true
	}
	n := len(s.rows)
	s.rows = s.rows[:n-(n+3)/4]
	return n > 0
}

// shows reports whether a trial has charts.
func (s *shownTrials) shows(t *record.Trial) bool { return slices.Contains(s.trials, t) }

// combines reports whether the page has a section that combines the repeats of a trial. It must be
// called after the rows were drawn (see selectCombinedRows).
func (s *shownTrials) combines(t *record.Trial) bool {
	return slices.ContainsFunc(s.rows, func(r *analyze.Row) bool { return r.First().Number == t.Number && combines(r) })
}

// id returns the name by which links refer to the section of a repeat.
func id(t *record.Trial) string { return fmt.Sprintf("t%d-%d", t.Number, t.Repeat) }

// drawnTrial is a trial with its charts.
type drawnTrial struct {
	trial    *record.Trial
	overTime *overtime.Charts
	// colors contains the series of the members and of the other processes in machines.csv.
	colors  chart.Colors
	charts  []chart.Chart // charts over time
	events  bool          // whether the first element of charts shows the events
	heat    *chart.Chart
	curves  []byPercentile // charts by operation, by role and by member; charts with fewer than two curves are omitted
	clients *chart.Chart
}

func draw(t *record.Trial, over *overtime.Charts) drawnTrial {
	d := drawnTrial{trial: t, overTime: over, colors: chart.Colors{}}
	for i := range over.Panels {
		if p := &over.Panels[i]; p.Name == "processors" || p.Name == "log-sync" {
			for j := range p.Lines {
				if _, seen := d.colors[p.Lines[j].Name]; !seen {
					d.colors[p.Lines[j].Name] = len(d.colors)
				}
			}
		}
	}
	if c, ok := chart.Events(over, d.colors, analyze.KindName, markText); ok {
		d.charts, d.events = append(d.charts, c), true
	}
	for i := range over.Panels {
		d.charts = append(d.charts, chart.OverTime(over, &over.Panels[i], d.colors))
	}
	if c, ok := chart.Heat(over); ok {
		d.heat = &c
	}
	curves := func(name, title string, of []overtime.PercentileCurve) {
		if c, ok := chart.Percentiles(name, title, of); ok && len(of) > 1 {
			d.curves = append(d.curves, byPercentile{c, of})
		}
	}
	curves("percentiles-by-operation", "By percentile and operation", over.Curves)
	curves("percentiles-by-role", "By percentile and role of the member", over.ByRole)
	curves("percentiles-by-member", "By percentile and member", over.ByMember)
	if curve, ok := analyze.ClientsCurveOf(t); ok {
		d.clients = new(chart.Clients(&curve))
		if n := len(curve.Operations); n < curve.Clients {
			d.clients.Notes = append(d.clients.Notes, fmt.Sprintf("Only %d of %s are shown: an evenly spaced sample of the clients in ascending order.", n, text.Plural(uint64(curve.Clients), "client")))
		}
	}
	return d
}

// markText describes an event and includes its time.
func markText(m *overtime.Mark) string {
	return fmt.Sprintf("%s: %s", chart.Seconds(m.From, 1), report.EventText(&m.Events))
}

// byPercentile is a chart with its curves.
type byPercentile struct {
	chart.Chart
	curves []overtime.PercentileCurve
}

// sideBySide returns charts of percentiles. Each chart shows the drawn trials that have the same
// kind of loop and the same headline time.
func sideBySide(all []drawnRow) (out []byPercentile) {
	for _, of := range []struct {
		open        bool
		time        record.Time
		name, title string
	}{
		{false, record.Service, "percentiles-closed", "Closed loop: service time by percentile"},
		{false, record.Response, "percentiles-waiting", "Closed loop with operations that waited for connections: response time by percentile"},
		{true, record.Response, "percentiles-open", "Open loop: response time by percentile"},
	} {
		var curves []overtime.PercentileCurve
		name, title := of.name, of.title
		for i := range all {
			d := all[i].chooseCharts()
			if d == nil {
				continue
			}
			if o, t := d.overTime, d.trial; t.Open() == of.open && t.HeadlineTime() == of.time && len(o.Curves) > 0 {
				curves = append(curves, o.Curves[0])
			}
		}
		const most = 8
		var notes []string
		if len(curves) > most {
			notes = append(notes, fmt.Sprintf("Only the first %d of %d trials are drawn.", most, len(curves)))
			curves = curves[:most]
		}
		if c, ok := chart.Percentiles(name, title, curves); ok {
			c.Notes = append(notes, percentilesNote)
			out = append(out, byPercentile{c, curves})
		}
	}
	return out
}

const percentilesNote = "At each division of the axis, the number of slower operations is a tenth of the number at the previous division. A line ends at the slowest operation or, if operations failed, before the first percentile that includes a failed operation. The line is dashed where fewer than ten operations are slower."

// trialOf returns the section of the page about a trial.
func trialOf(d *drawnTrial) trial {
	t := d.trial
	out := trial{ID: id(t), Name: analyze.Label(t), Headline: fmt.Sprintf("%s on %s, target %s of %s", analyze.Headline(t), analyze.Store(t), t.Target, text.Plural(uint64(max(t.Members, 0)), "member"))}
	if t.Failure != "" {
		out.Notes = append(out.Notes, t.Failure)
	}
	out.Facts = analyze.Conditions(t)
	if analyze.HasFigures(t) {
		out.addResults(t)
	} else {
		out.Verdict = "no result: " + string(t.State)
	}
	prefix := out.ID + "-"
	for i := range d.charts {
		p := newPicture(&d.charts[i], prefix, "over-time")
		if i == 0 && d.events {
			p.Class = "events"
		}
		out.OverTime = append(out.OverTime, p)
	}
	if len(out.OverTime) > 0 {
		out.OverTime[len(out.OverTime)-1].Notes = append(out.OverTime[len(out.OverTime)-1].Notes, gridNote(&d.overTime.Grid)...)
	} else {
		out.Notes = append(out.Notes, "No charts, because no complete second was recorded.")
	}
	if d.heat != nil {
		p := newPicture(d.heat, prefix, "heat")
		p.Notes = append(p.Notes, heatNote(d.overTime))
		out.Times = append(out.Times, p)
	}
	for i := range d.curves {
		p := curvesPicture(&d.curves[i].Chart, prefix, d.curves[i].curves)
		p.Notes = append(p.Notes, percentilesNote)
		out.Times = append(out.Times, p)
	}
	if d.clients != nil {
		out.Clients = append(out.Clients, newPicture(d.clients, prefix, "clients"))
	}
	for _, c := range violations(t) {
		out.Violations = append(out.Violations, newPicture(&c, prefix, "violation"))
	}
	out.Spikes, out.SpikesNote = spikesOf(t)
	out.Series = seriesOf(d.overTime)
	return out
}

// addResults adds the results of a trial that has finished.
func (out *trial) addResults(t *record.Trial) {
	out.Facts = append(out.Facts, report.Results(t)...)
	watched, _ := report.WatchFacts(t)
	out.Facts = append(out.Facts, watched...)
	for _, table := range []analyze.Table{analyze.TimesTable(t), analyze.WatchTimesTable(t), analyze.CallsTable(t), analyze.RolesTable(t), analyze.MembersTable(t), analyze.WorkersTable(t), analyze.HostsTable(t)} {
		if len(table.Rows) > 0 {
			s := limitRows(report.TableOf(&table))
			s.Heading = ""
			out.Sheets = append(out.Sheets, s)
		}
	}
	out.Verdict = string(t.Verdict.State)
	for _, r := range t.Verdict.Reasons {
		out.Reasons = append(out.Reasons, r.String())
	}
	out.Notes = append(out.Notes, analyze.Notes(t)...)
	out.Errors = report.ErrorLines(t)
	out.LostConnections = report.LostConnectionLines(t)
	out.Unevenness = report.UnevennessLines(t)
	out.Verification = report.VerificationLines(t.Verification)
	events := analyze.EventsOf(t)
	out.Events = report.EventLines(&events)
	found := limits.Find(t)
	causes, more := found.MainCauses()
	for i, c := range causes {
		out.Limits = append(out.Limits, report.LimitText(&c, more[i]))
	}
	if len(out.Limits) == 0 && len(found.Causes) == 0 {
		out.Evidence = found.Evidence
	}
}

// gridNote returns notes that explain the columns in a trial's charts.
func gridNote(g *overtime.Grid) []string {
	text := "Time 0 is the start of the window, " + clock(g.Opened) + " UTC"
	if g.From < 0 {
		text += "; the warm-up is shaded"
	}
	text += ". "
	if g.Width > 1 {
		text += fmt.Sprintf("Each column is %d s wide and shows its minimum and maximum. ", g.Width)
	}
	return []string{text + "A gap in a line is a second without a value. For example, too few operations were due, or a percentile includes failed operations."}
}

// heatNote returns a note that explains the cells of the heat map.
func heatNote(o *overtime.Charts) string {
	return fmt.Sprintf("Each cell covers %s of the trial and a range of times whose upper end is 21 %% above the lower end. A darker cell (brighter on a dark page) contains more successful operations. The darkest cell contains %s.",
		text.Plural(uint64(max(o.Grid.Width, 1)), "second"), text.Count(o.Heat.HighestCount))
}

// trial is the section of the page about one trial.
type trial struct {
	ID, Name, Headline string
	Open               bool // whether the page shows the section unfolded
	Verdict            string
	Reasons            []string
	Facts              []analyze.Fact
	Sheets             []sheet
	Errors             []string
	Events             []string
	Limits             []string
	Evidence           []string
	LostConnections    []string
	OverTime           []picture
	Times              []picture
	Unevenness         []string
	Verification       []string
	Violations         []picture
	Clients            []picture
	Spikes             []spike
	SpikesNote         string
	Notes              []string
	Series             *series
}

// clock formats the time of an event.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
