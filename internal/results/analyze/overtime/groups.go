package overtime

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// ChartGroup draws several trials with the same load in common charts, with one line for each
// trial. The trials differ in their store, version, build or run.
type ChartGroup struct {
	Name  string // used in file names and links
	Title string // the operations and the kind of loop
	// OneStore is set if the trials have the same store and differ only in their run.
	OneStore bool
	Notes    []string
	// The horizontal axis of OverTime is the time since each window opened. The axis of ByWrites is
	// the number of writes completed in the window. ByWrites has no panels if a trial has
	// operations other than writes.
	OverTime, ByWrites Charts
}

// groupColumns is the maximum number of columns of these charts. A chart with eight lines cannot
// show more detail.
const groupColumns = 240

// GroupTrials groups the trials that are drawn in the same charts, and keeps their order.
// Repeats of a trial must have been combined (CombineRepeats).
func GroupTrials(all []*Charts) (out []ChartGroup) {
	var order []string
	groups := map[string][]*Charts{}
	for _, o := range all {
		t := o.Trial
		if len(o.Panels) == 0 || !analyze.HasFigures(t) {
			continue
		}
		key := groupTitle(t)
		order = analyze.AppendNew(order, key)
		groups[key] = append(groups[key], o)
	}
	for _, key := range order {
		if g, ok := newChartGroup(key, groups[key]); ok {
			if slices.ContainsFunc(out, func(o ChartGroup) bool { return o.Name == g.Name }) {
				g.Name += fmt.Sprint("-", len(out)+1)
			}
			out = append(out, g)
		}
	}
	return out
}

// storeAndRun returns a key that identifies the store and the run of a trial. Trials of the same
// store in the same run have the same key.
func storeAndRun(t *record.Trial) string { return t.Dir + "\x00" + analyze.Store(t) }

// groupTitle returns the title of the charts in which a trial is drawn. Trials with the same
// title share their charts.
func groupTitle(t *record.Trial) string {
	if t.Open() {
		return analyze.Headline(t) + ", open loop"
	}
	return analyze.Headline(t)
}

func newChartGroup(title string, all []*Charts) (ChartGroup, bool) {
	g := ChartGroup{Name: "together-" + record.Slug(title), Title: title}
	var sides, stores []string
	for _, o := range all {
		sides, stores = analyze.AppendNew(sides, storeAndRun(o.Trial)), analyze.AppendNew(stores, analyze.Store(o.Trial))
	}
	if len(sides) < 2 {
		return g, false
	}
	g.OneStore = len(stores) == 1
	if len(all) > maxLines { // a store has several trials in a run, with different loads
		fastest := make([]*Charts, len(sides))
		for _, o := range all {
			if i := slices.Index(sides, storeAndRun(o.Trial)); fastest[i] == nil || representsBetter(o.chooseRepeat().Trial, fastest[i].chooseRepeat().Trial) {
				fastest[i] = o
			}
		}
		all = fastest
		g.Notes = append(g.Notes, "For each store in each run, only the trial with the highest throughput is drawn. A trial whose figures cannot be compared is drawn only if no trial of that store in that run has comparable figures.")
	}
	if len(all) > maxLines {
		g.Notes = append(g.Notes, fmt.Sprintf("Only the first %d of %d trials are drawn.", maxLines, len(all)))
		all = all[:maxLines]
	}
	g.addRepeatNotes(all)
	for _, o := range all {
		if reason := analyze.ExclusionReason(o.Trial); reason != "" {
			g.Notes = append(g.Notes, fmt.Sprintf("%s is drawn, but its figures cannot be compared (%s).", analyze.Label(o.Trial), reason))
		}
	}
	if what := differingConditions(all); len(what) > 0 {
		g.Notes = append(g.Notes, "These trials also differ in "+strings.Join(what, ", ")+".")
	}
	g.overTime(all)
	g.byWrites(all)
	return g, true
}

// addRepeatNotes describes which repeats the lines show.
func (g *ChartGroup) addRepeatNotes(all []*Charts) {
	var drawn, doubtful []string
	for _, o := range all {
		if o.Combined == nil {
			continue
		}
		drawn = append(drawn, fmt.Sprintf("%s: %s", o.Trial.Name, o.Combined))
		if analyze.WorstVerdict(o.Combined.Included) != verdict.Valid {
			doubtful = append(doubtful, o.Trial.Name)
		}
	}
	if len(drawn) == 0 {
		return
	}
	g.Notes = append(g.Notes, "In charts over time, each line shows the median of a trial's valid repeats ("+text.ShortList(drawn, analyze.MaxListedRepeats)+").")
	if len(doubtful) > 0 {
		g.Notes = append(g.Notes, "Trials without a valid repeat: "+text.ShortList(doubtful, analyze.MaxListedRepeats)+". Their lines show the median of the suspect repeats or, if there are none, of all repeats.")
	}
	if len(all) > MaxBands {
		g.Notes = append(g.Notes, "The range of the repeats is not drawn, because the bands of all these trials would cover each other.")
	}
}

// MaxBands is the maximum number of lines with a band in one chart. More bands would cover each
// other.
const MaxBands = 4

// representsBetter reports whether t represents its store better than the other trial. A trial
// without an analyze.ExclusionReason is better than a trial with one. Otherwise, the trial with the
// higher throughput is better.
func representsBetter(t, other *record.Trial) bool {
	if a, b := analyze.ExclusionReason(t) != "", analyze.ExclusionReason(other) != ""; a != b {
		return b
	}
	return t.PerSecond > other.PerSecond
}

// chooseRepeat returns the charts of a single repeat: the repeat with the median throughput.
func (o *Charts) chooseRepeat() *Charts {
	if o.Combined != nil {
		return o.Combined.typical
	}
	return o
}

// differingConditions returns the conditions in which the trials differ, except for the store and
// the conditions that lineName contains.
func differingConditions(all []*Charts) (conditions []string) {
	add := func(name string, text func(*record.Trial) string) {
		if slices.ContainsFunc(all, func(o *Charts) bool { return text(o.Trial) != text(all[0].Trial) }) {
			conditions = append(conditions, name)
		}
	}
	loads := make([]*scenario.Load, len(all))
	for i, o := range all {
		loads[i] = &o.Trial.Load
	}
	for _, p := range scenario.ParametersOf(loads...) {
		if p.DifferenceName != "" && p.Key != "clients" && p.Key != "rate" {
			add(p.DifferenceName, func(t *record.Trial) string { return p.Text(&t.Load) })
		}
	}
	add("the number of members", func(t *record.Trial) string { return fmt.Sprint(t.Members) })
	return conditions
}

// source describes a chart of all trials. The function `line` returns a trial's line.
type source struct {
	name, title string
	unit        measure.Unit
	log, bands  bool
	line        func(*Charts) *Line
}

// panelLine returns a function that returns the named line in one of a trial's panels, or nil if
// the trial has no such line.
func panelLine(panel, line string) func(*Charts) *Line {
	return func(o *Charts) *Line {
		for i := range o.Panels {
			if p := &o.Panels[i]; p.Name == panel {
				if k := slices.IndexFunc(p.Lines, func(l Line) bool { return l.Name == line }); k >= 0 {
					return &p.Lines[k]
				}
			}
		}
		return nil
	}
}

// bandOf returns a function that returns the range over all of a trial's members in one panel.
func bandOf(panel string) func(*Charts) *Line {
	return func(o *Charts) *Line {
		l, ok := o.bands[panel]
		if !ok || l.isZero() {
			return nil
		}
		return &l
	}
}

var (
	meanSource   = source{"mean", "Mean time of successful operations", measure.Nanoseconds, true, false, func(o *Charts) *Line { return &o.meanLine }}
	p99Source    = source{"p99", "p99", measure.Nanoseconds, true, false, panelLine("latency", "p99")}
	memorySource = source{"memory", "Resident memory of a member's process", measure.Bytes, false, true, bandOf("memory")}
	diskSource   = source{"disk-written", "Written to disk per second by a member's process", measure.Bytes, false, true, bandOf("disk-written")}
	overTimeOf   = []source{
		{"throughput", "Throughput", measure.Rate, false, false, panelLine("throughput", "completed")},
		meanSource, p99Source,
		{"processors", "CPUs used by a member's process", measure.Number, false, true, bandOf("processors")},
		memorySource, diskSource,
		{"disk-read", "Read from disk per second by a member's process", measure.Bytes, false, true, bandOf("disk-read")},
		{"network", "Network traffic of a machine per second (received, sent and loopback)", measure.Bytes, false, true, bandOf("network")},
	}
	byWritesOf = []source{meanSource, p99Source, memorySource, diskSource,
		{"database", "Database on disk, as reported by a member", measure.Bytes, false, true, bandOf("database")}}
)

// bandNote explains the colored band in a chart.
const bandNote = "The band spans the values of all members, from the lowest to the highest."

// addGroupChart adds a chart with one line per trial. The function `place` converts a column of a
// trial's own grid to a range on the chart's axis.
func (o *Charts) addGroupChart(prefix string, s *source, all []*Charts, place func(of *Charts, column int) (from, to float64)) {
	p := Panel{Name: prefix + s.name, Title: s.title, Unit: s.unit, Log: s.log, MemberRanges: s.bands}
	if s.bands {
		p.Notes = []string{bandNote}
		if slices.ContainsFunc(all, func(o *Charts) bool { return o.Combined != nil }) {
			p.Notes[0] += " It includes all combined repeats."
		}
	}
	if s.name == "network" {
		p.Notes = []string{"All network traffic of the machine, including that of other programs. Loopback traffic is counted once."}
	}
	for _, of := range all {
		line := o.Grid.newLine(lineName(of.Trial))
		if l := s.line(of); l != nil {
			at := func(column int) (from, to float64) { return place(of, column) }
			line.include(&o.Grid, l, at)
			if l.Repeats != nil && len(all) <= MaxBands {
				whole := o.Grid.newLine(line.Name)
				whole.include(&o.Grid, l.Repeats, at)
				line.Repeats = &whole
				p.Key = "lines: median of the repeats, bands: lowest to highest"
			}
		}
		p.Lines = append(p.Lines, line)
	}
	// keep lines without values, so that each store has the same color in all charts
	if slices.ContainsFunc(p.Lines, func(l Line) bool { return !l.Empty() }) {
		o.Panels = append(o.Panels, p)
	}
}

// lineName returns the name of a trial's line: the trial and its number of clients or rate.
func lineName(t *record.Trial) string {
	if t.Open() {
		return t.Name + ", " + analyze.DueRate(t)
	}
	return t.Name + ", " + text.Plural(uint64(max(t.Clients, 0)), "client")
}

// overTime draws the charts over time. All windows start at 0.
func (g *ChartGroup) overTime(all []*Charts) {
	o, width, span := &g.OverTime, 1, 1
	for _, of := range all {
		width = max(width, of.Grid.Width)
		span = max(span, int(math.Ceil(of.Grid.Window)))
	}
	o.Grid = Grid{Width: max(width, (span+groupColumns-1)/groupColumns), Window: float64(span)}
	o.Grid.Columns = (span + o.Grid.Width - 1) / o.Grid.Width
	if o.Grid.Width > 1 {
		g.Notes = append(g.Notes, fmt.Sprintf("In the charts over time, each column is %d s wide and shows the minimum and maximum in this time. Columns that overlap the warm-up are not drawn.", o.Grid.Width))
	}
	for i := range overTimeOf {
		o.addGroupChart("", &overTimeOf[i], all, func(of *Charts, column int) (from, to float64) {
			if from, to = of.Grid.rangeOf(column); from < 0 {
				return 0, 0 // the column is at least partly in the warm-up
			}
			return from, to
		})
	}
}

// byWrites draws the charts over the number of completed writes. Repeats complete different numbers
// of writes, so these charts show only one repeat of each trial.
func (g *ChartGroup) byWrites(trials []*Charts) {
	most, all := 0.0, make([]*Charts, 0, len(trials))
	for _, o := range trials {
		all = append(all, o.chooseRepeat())
	}
	for _, of := range all {
		if of.completedWrites == nil {
			return
		}
		most = max(most, of.completedWrites[len(of.completedWrites)-1])
	}
	if most < 1 {
		return
	}
	o := &g.ByWrites
	width := max(int(math.Ceil(most/groupColumns)), 1)
	o.Grid = Grid{Writes: true, Width: width, Columns: int(math.Ceil(most / float64(width)))}
	for i := range byWritesOf {
		o.addGroupChart("by-writes-", &byWritesOf[i], all, func(of *Charts, column int) (from, to float64) {
			return of.completedWrites[column], of.completedWrites[column+1]
		})
	}
	if len(o.Panels) > 0 {
		p := &o.Panels[len(o.Panels)-1]
		p.Notes = append(p.Notes, writesNote(all))
		if slices.ContainsFunc(trials, func(o *Charts) bool { return o.Combined != nil }) {
			p.Notes = append(p.Notes, "The charts by number of writes show the repeat with the median throughput.")
		}
	}
}

// writesNote explains which writes are counted on the horizontal axis of the charts by writes.
func writesNote(all []*Charts) string {
	note := "The axis counts the writes completed in the window, without the warm-up."
	if slices.ContainsFunc(all, func(o *Charts) bool {
		t := o.Trial
		return t.Preload || t.KeySpace > 0 && t.KeySpace < t.Completed || t.Distribution.Name != scenario.Sequential
	}) {
		note += " Some of these writes overwrite a key."
	}
	return note
}

// onlyWrites reports whether all operations of a trial are writes. Here, deletions do not count as
// writes.
func onlyWrites(t *record.Trial) bool {
	return len(t.Mix) > 0 && !slices.ContainsFunc(t.Mix, func(o scenario.Operation) bool { return !o.Kind.Writes() || o.Kind == kv.Delete })
}
