package overtime

import (
	"fmt"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// percentilesOverTime lists the percentiles in the latency chart. The chart also has a line for the
// maximum.
var percentilesOverTime = [...]float64{50, 99, 99.9}

// timesReader reads a trial's times for each second from latency.hlog.
type timesReader struct {
	overTime *Charts
	latency  []Line // one line for each percentile in percentilesOverTime, then the maximum
	lateness []Line // p50, p99 and maximum
	watch    []Line // p50, p99 and maximum of the watch events
	heat     *heatCounter
	all      map[measure.Series]*measure.Sum // sums over the measurement window

	rows map[int64]*record.Row // by start time in milliseconds
	// The following fields describe the second that is currently read.
	start time.Time
	phase measure.Phase
	// nil if the run was killed after it wrote the times but before it wrote the row
	row                           *record.Row
	column                        int // the column of the row; -1 if there is none
	times, latenesses, watchTimes measure.Sum
}

func newTimesReader(o *Charts) *timesReader {
	g := &o.Grid
	x := &timesReader{overTime: o, heat: newHeatCounter(g), all: map[measure.Series]*measure.Sum{}, rows: map[int64]*record.Row{}, column: -1,
		latency:  []Line{g.newLine("p50"), g.newLine("p99"), g.newLine("p99.9"), g.newLine("max")},
		lateness: []Line{g.newLine("p50"), g.newLine("p99"), g.newLine("max")},
		watch:    []Line{g.newLine("p50"), g.newLine("p99"), g.newLine("max")}}
	o.meanLine = g.newLine("mean")
	for i := range o.Trial.Timeline {
		r := &o.Trial.Timeline[i]
		x.rows[r.Time.Round(time.Millisecond).UnixMilli()] = r
	}
	return x
}

// maxSeries is the maximum number of series in a trial. The times of each series are added up, and
// each sum needs 240 KB. The limit allows 16 operations for each combination of member and term
// that a load distinguishes.
const maxSeries = 16 * measure.MaxReported

// read reads the whole file latency.hlog.
func (x *timesReader) read() error {
	headline := x.overTime.Trial.HeadlineTime()
	keep := func(tag record.Tag) bool {
		return tag.Time == headline || tag.Time == record.Lateness || tag.Time == record.WatchDue
	}
	err := record.ReadIntervals(x.overTime.Trial.Dir, x.overTime.Trial.Folder, keep, func(i *record.Interval) error {
		if !i.Start.Equal(x.start) || i.Phase != x.phase {
			x.second()
			x.begin(i)
		}
		switch i.Time {
		case record.Lateness:
			x.latenesses.Add(&i.Steps)
		case record.WatchDue:
			x.watchTimes.Add(&i.Steps)
		default:
			x.times.Add(&i.Steps)
			if x.column >= 0 {
				x.heat.add(x.column, &i.Steps)
			}
			if i.Phase == measure.Measured {
				if x.all[i.Series] == nil {
					if len(x.all) == maxSeries {
						return fmt.Errorf("latency.hlog contains more than %d series (operation, consistency, member, term); no run writes that many, so the record is damaged", maxSeries)
					}
					x.all[i.Series] = &measure.Sum{}
				}
				x.all[i.Series].Add(&i.Steps)
			}
		}
		return nil
	})
	x.second()
	return err
}

// second adds the times of the current second to the lines, and resets the sums.
func (x *timesReader) second() {
	defer func() {
		for _, sum := range []*measure.Sum{&x.times, &x.latenesses, &x.watchTimes} {
			sum.Reset()
		}
	}()
	if x.column < 0 {
		return
	}
	addPercentiles(x.latency, x.column, &x.times, x.row.Errors, 1, percentilesOverTime[:]...)
	addPercentiles(x.lateness, x.column, &x.latenesses, 0, 1, 50, 99)
	addPercentiles(x.watch, x.column, &x.watchTimes, 0, x.overTime.Trial.EventsPerWrite(), 50, 99)
	x.overTime.meanLine.add(x.column, x.times.Mean())
}

// begin starts a new second, and finds its row in the timeline. The times in the log are rounded to
// milliseconds.
func (x *timesReader) begin(i *record.Interval) {
	x.start, x.phase, x.row, x.column = i.Start, i.Phase, nil, -1
	at := x.start.UnixMilli()
	for _, ms := range [...]int64{at, at - 1, at + 1} {
		if r := x.rows[ms]; r != nil && r.Phase == x.phase.String() {
			x.row = r
			break
		}
	}
	if x.row != nil {
		if column, ok := x.overTime.Grid.Column(x.row.Time); ok {
			x.column = column
		}
	}
}

// addPercentiles adds the percentiles of one second, and the maximum over its successes, to the
// lines. A percentile is omitted if the operation at its rank failed, or if the second has too few
// samples. The parameter `eventsPerWrite` is the number of samples that share a cause, such as the
// watch events of one write.
func addPercentiles(lines []Line, column int, times *measure.Sum, failed, eventsPerWrite uint64, percentiles ...float64) {
	if times.Total() == 0 {
		return
	}
	for i, f := range measure.DropUnsupported(times.PercentilesOf(failed, percentiles...), uint64(times.Total())+failed, eventsPerWrite, percentiles...) {
		if f.Known {
			lines[i].add(column, f.NS)
		}
	}
	lines[len(lines)-1].add(column, times.Slowest(0).NS)
}

// addOperations adds the charts of the load's operations over time.
func (o *Charts) addOperations(x *timesReader) {
	g := &o.Grid
	throughput, due := g.newLine("completed"), g.newLine("due")
	flight, errors, events := g.newLine("in flight"), g.newLine("failed"), g.newLine("events")
	failures, done := false, make([]float64, g.Columns)
	for i := range o.Trial.Timeline {
		r := &o.Trial.Timeline[i]
		column, ok := g.Column(r.Time)
		if !ok {
			continue
		}
		if r.Phase == measure.Measured.String() {
			done[column] += float64(r.Done)
		}
		length := g.lengthOf(r)
		if length >= min(samples.MinIntervalSeconds, g.Window) && length > 0 {
			throughput.add(column, float64(r.Done)/length)
			if o.Trial.Open() {
				due.add(column, float64(r.Due)/length)
			}
			if r.Watch != nil {
				events.add(column, float64(r.Watch.Events)/length)
			}
			errors.add(column, float64(r.Errors)/length)
		}
		flight.add(column, float64(r.InFlight))
		failures = failures || r.Errors > 0
	}
	o.addPanel(Panel{Name: "throughput", Title: "Throughput", Unit: measure.Rate, Lines: []Line{throughput, due}})
	o.addPanel(Panel{Name: "latency", Title: o.TimeTitle(), Unit: measure.Nanoseconds, Log: true, Lines: x.latency, Notes: notesOnEmptyLines(x.latency)})
	if failures {
		o.addPanel(Panel{Name: "errors", Title: "Failed operations by due time", Unit: measure.Rate, Lines: []Line{errors}})
	}
	o.addPanel(Panel{Name: "in-flight", Title: "Operations in flight at the end of each second", Unit: measure.Number, Lines: []Line{flight}})
	o.addPanel(Panel{Name: "lateness", Title: "Lateness (sent − due)", Unit: measure.Nanoseconds, Log: true, Lines: x.lateness})
	o.addPanel(Panel{Name: "watch-events", Title: "Watch events delivered", Unit: measure.Rate, Lines: []Line{events}})
	o.addPanel(Panel{Name: "watch-latency", Title: "Watch events: arrival − due time of the write", Unit: measure.Nanoseconds, Log: true, Lines: x.watch})
	o.Heat = x.heat.finish(o.TimeTitle())
	all := map[measure.Series]*measure.Histogram{}
	for series, sum := range x.all {
		all[series] = sum.Histogram()
		delete(x.all, series) // frees the sum, which is as large as the histogram
	}
	o.Curves, o.ByRole, o.ByMember = curvesByKind(o, all), curvesByRole(o.Trial, all), curvesByMember(o.Trial, all)
	if onlyWrites(o.Trial) {
		o.completedWrites = append(o.completedWrites, 0)
		for i, n := range done {
			o.completedWrites = append(o.completedWrites, o.completedWrites[i]+n)
		}
	}
}

// TimeTitle returns the name of the times that the trial's tables show first.
func (o *Charts) TimeTitle() string {
	if o.Trial.HeadlineTime() == record.Response {
		return "Response time"
	}
	return "Service time"
}

// lengthOf returns the length of a row's interval in seconds. It is usually 1, but the last
// interval of a phase may be shorter.
func (g *Grid) lengthOf(r *record.Row) float64 {
	at := r.Time.Sub(g.Opened).Seconds()
	if r.Phase == measure.Measured.String() {
		return math.Min(1, g.Window-at)
	}
	return math.Min(1, -at)
}

// notesOnEmptyLines returns a note for each percentile without points. The note contains the
// reason.
func notesOnEmptyLines(lines []Line) (notes []string) {
	for i := range lines {
		if lines[i].Empty() && i < len(lines)-1 {
			notes = append(notes, lines[i].Name+" is not drawn: in every second, fewer than ten operations are slower than this percentile, or the operation at its rank failed.")
		}
	}
	return notes
}
