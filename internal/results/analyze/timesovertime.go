package analyze

import (
	"fmt"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// percentilesOverTime lists the percentiles in the latency chart; the maximum follows them.
var percentilesOverTime = [...]float64{50, 99, 99.9}

// timesOverTime reads a trial's times from latency.hlog, second by second.
type timesOverTime struct {
	o        *OverTime
	latency  []Line // percentilesOverTime, and the maximum
	lateness []Line // median, p99 and maximum
	watch    []Line // of watch events: median, p99 and maximum
	heat     *heatCounter
	all      map[measure.Series]*measure.Sum // of the window

	rows map[int64]*record.Row // by start time in milliseconds
	// The second that is being read.
	start                time.Time
	phase                measure.Phase
	row                  *record.Row // nil if a killed run wrote the times without the row
	column               int         // of the row; -1 for none
	times, late, watched measure.Sum
}

func newTimesOverTime(o *OverTime) *timesOverTime {
	g := &o.Grid
	x := &timesOverTime{o: o, heat: newHeatCounter(g), all: map[measure.Series]*measure.Sum{}, rows: map[int64]*record.Row{}, column: -1,
		latency:  []Line{g.newLine("p50"), g.newLine("p99"), g.newLine("p99.9"), g.newLine("max")},
		lateness: []Line{g.newLine("p50"), g.newLine("p99"), g.newLine("max")},
		watch:    []Line{g.newLine("p50"), g.newLine("p99"), g.newLine("max")}}
	o.mean = g.newLine("mean")
	for i := range o.Trial.Timeline {
		r := &o.Trial.Timeline[i]
		x.rows[r.Time.Round(time.Millisecond).UnixMilli()] = r
	}
	return x
}

// mostSeries limits the series of a trial that are summed, each in 240 KB: 16 operations for each
// pair of member and term that a load distinguishes.
const mostSeries = 16 * measure.MaxReported

// read reads latency.hlog once.
func (x *timesOverTime) read() error {
	headline := x.o.Trial.HeadlineTime()
	keep := func(tag record.Tag) bool {
		return tag.Time == headline || tag.Time == record.Lateness || tag.Time == record.WatchDue
	}
	err := record.ReadIntervals(x.o.Trial.Dir, x.o.Trial.Folder, keep, func(i *record.Interval) error {
		if !i.Start.Equal(x.start) || i.Phase != x.phase {
			x.second()
			x.begin(i)
		}
		switch i.Time {
		case record.Lateness:
			x.late.Add(&i.Steps)
		case record.WatchDue:
			x.watched.Add(&i.Steps)
		default:
			x.times.Add(&i.Steps)
			if x.column >= 0 {
				x.heat.add(x.column, &i.Steps)
			}
			if i.Phase == measure.Measured {
				if x.all[i.Series] == nil {
					if len(x.all) == mostSeries {
						return fmt.Errorf("latency.hlog has more than %d series (operation, consistency, member, term), which no run writes; the record is damaged", mostSeries)
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

// second processes the second that was read, and clears it.
func (x *timesOverTime) second() {
	defer func() {
		for _, sum := range []*measure.Sum{&x.times, &x.late, &x.watched} {
			sum.Reset()
		}
	}()
	if x.column < 0 {
		return
	}
	addPercentiles(x.latency, x.column, &x.times, x.row.Errors, 1, percentilesOverTime[:]...)
	addPercentiles(x.lateness, x.column, &x.late, 0, 1, 50, 99)
	addPercentiles(x.watch, x.column, &x.watched, 0, x.o.Trial.EventsPerWrite(), 50, 99)
	x.o.mean.add(x.column, x.times.Mean())
}

// begin begins the second of an interval and finds its row of the timeline, whose time the log
// rounds.
func (x *timesOverTime) begin(i *record.Interval) {
	x.start, x.phase, x.row, x.column = i.Start, i.Phase, nil, -1
	at := x.start.UnixMilli()
	for _, ms := range [...]int64{at, at - 1, at + 1} {
		if r := x.rows[ms]; r != nil && r.Phase == x.phase.String() {
			x.row = r
			break
		}
	}
	if x.row != nil {
		if column, ok := x.o.Grid.Column(x.row.Time); ok {
			x.column = column
		}
	}
}

// addPercentiles adds the percentiles of a second, and the maximum of its successes, to the lines.
// A percentile has no value if it falls on a failed operation, or the second has too few samples.
// each is the number of samples that share a cause.
func addPercentiles(lines []Line, column int, times *measure.Sum, failed, each uint64, percentiles ...float64) {
	if times.Total() == 0 {
		return
	}
	for i, f := range measure.Grouped(times.PercentilesOf(failed, percentiles...), uint64(times.Total())+failed, each, percentiles...) {
		if f.Known {
			lines[i].add(column, f.NS)
		}
	}
	lines[len(lines)-1].add(column, times.Slowest(0).NS)
}

// addOperations adds the load's operations in each second.
func (o *OverTime) addOperations(x *timesOverTime) {
	g := &o.Grid
	throughput, due := g.newLine("completed"), g.newLine("due")
	flight, errors, events := g.newLine("in flight"), g.newLine("failed"), g.newLine("events")
	failures, done := false, make([]float64, g.N)
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
		if length >= min(leastLength, g.Window) && length > 0 {
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
	o.addPanel(Panel{Name: "latency", Title: o.headline(), Unit: measure.Nanoseconds, Log: true, Lines: x.latency, Notes: unsupported(x.latency)})
	if failures {
		o.addPanel(Panel{Name: "errors", Title: "Failed operations by due time", Unit: measure.Rate, Lines: []Line{errors}})
	}
	o.addPanel(Panel{Name: "in-flight", Title: "Operations in flight at the end of each second", Unit: measure.Number, Lines: []Line{flight}})
	o.addPanel(Panel{Name: "lateness", Title: "Lateness (sent − due)", Unit: measure.Nanoseconds, Log: true, Lines: x.lateness})
	o.addPanel(Panel{Name: "watch-events", Title: "Watch events delivered", Unit: measure.Rate, Lines: []Line{events}})
	o.addPanel(Panel{Name: "watch-latency", Title: "Watch events: arrival − due time of the write", Unit: measure.Nanoseconds, Log: true, Lines: x.watch})
	o.Heat = x.heat.finish(o.headline())
	all := map[measure.Series]*measure.Histogram{}
	for series, sum := range x.all {
		all[series] = sum.Histogram()
		delete(x.all, series) // frees the sum, which is as large as the histogram
	}
	o.Curves, o.ByRole, o.ByMember = curvesByKind(o, all), curvesByRole(o.Trial, all), curvesByMember(o.Trial, all)
	if onlyWrites(o.Trial) {
		o.written = append(o.written, 0)
		for i, n := range done {
			o.written = append(o.written, o.written[i]+n)
		}
	}
}

// headline returns the name of the times that the trial's tables show first.
func (o *OverTime) headline() string {
	if o.Trial.HeadlineTime() == record.Response {
		return "Response time"
	}
	return "Service time"
}

// leastLength is the shortest part of a second, in seconds, whose throughput is comparable with
// whole seconds.
const leastLength = 0.2

// lengthOf returns the length of a second: the last one of a phase may be cut.
func (g *Grid) lengthOf(r *record.Row) float64 {
	at := r.Time.Sub(g.Opened).Seconds()
	if r.Phase == measure.Measured.String() {
		return math.Min(1, g.Window-at)
	}
	return math.Min(1, -at)
}

// unsupported lists the lines without points, with the reason.
func unsupported(lines []Line) (notes []string) {
	for i := range lines {
		if lines[i].Empty() && i < len(lines)-1 {
			notes = append(notes, lines[i].Name+" is not drawn: no second has ten operations beyond it, or it falls on failed ones.")
		}
	}
	return notes
}
