package overtime

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// linesByName holds the lines of a panel, with one line for each name.
type linesByName struct {
	grid  *Grid
	lines []Line
}

// maxLines is the maximum number of lines in a panel. More lines are hard to distinguish.
const maxLines = 8

// add adds a value to the line with the given name. The value applies to the columns whose middles
// are between `from` and `to`. If there is no such column, the value applies to the column that
// contains the middle of the span.
func (l *linesByName) add(name string, from, to time.Time, v float64) {
	if math.IsNaN(v) {
		return
	}
	i := slices.IndexFunc(l.lines, func(one Line) bool { return one.Name == name })
	if i < 0 {
		if len(l.lines) == 64*maxLines { // more lines than any valid record has
			return
		}
		i = len(l.lines)
		l.lines = append(l.lines, l.grid.newLine(name))
	}
	l.lines[i].fillBetween(l.grid, from.Sub(l.grid.Opened).Seconds(), to.Sub(l.grid.Opened).Seconds(), v, v)
}

// rangeOf returns the range, from the minimum to the maximum, of the lines whose names the function
// `include` accepts.
func (l *linesByName) rangeOf(include func(name string) bool) Line {
	out := l.grid.newLine("")
	for i := range l.lines {
		if one := &l.lines[i]; include(one.Name) {
			for column := range one.Low {
				out.add(column, one.Low[column])
				out.add(column, one.High[column])
			}
		}
	}
	return out
}

// sorted returns the lines sorted by name, with the members first. If there are too many lines, it
// returns the first ones and a note.
func (l *linesByName) sorted() (lines []Line, notes []string) {
	slices.SortStableFunc(l.lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(record.KindOf(a.Name), record.KindOf(b.Name)), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	if len(l.lines) > maxLines {
		return l.lines[:maxLines], []string{fmt.Sprintf("Only the first %d lines are drawn.", maxLines)}
	}
	return l.lines, nil
}

// machinePanel is a chart of one figure from machines.csv.
type machinePanel struct {
	name, heading string
	unit          measure.Unit
	// The function `addLines` computes the figures from a pair of rows. It calls the function
	// `line` once for each line of the chart. The name of the line is the name of the row, followed
	// by the suffix. The value NaN means that the figure is unknown.
	addLines func(s samples.Pair, line func(suffix string, v float64))
	// minHighest is the value that a line must reach at least once in order to be drawn. This limit
	// omits charts that explain nothing.
	minHighest float64
}

// singleLine returns a function for the field machinePanel.addLines. The chart then has one line
// for each row name of the given kinds.
func singleLine(value func(samples.Pair) float64, kinds ...record.RowKind) func(samples.Pair, func(string, float64)) {
	return func(s samples.Pair, line func(string, float64)) {
		if slices.Contains(kinds, s.Later.Kind()) {
			line("", value(s))
		}
	}
}

// percent returns a function for a counter that counts seconds. The function converts the increase
// of the counter to a percentage of the elapsed time.
func percent(counter func(*record.MachineRow) float64) func(samples.Pair) float64 {
	return func(s samples.Pair) float64 { return 100 * s.Rate(counter) }
}

// figureAtTime returns a function that returns the figure in the later row of a pair.
func figureAtTime(figure func(*record.MachineRow) float64) func(samples.Pair) float64 {
	return func(s samples.Pair) float64 { return figure(s.Later) }
}

// network adds the lines for a machine's network, or for a host's network if it is recorded in
// separate rows.
func network(s samples.Pair, line func(suffix string, v float64)) {
	if !samples.HasNetwork(s.Later) {
		return
	}
	line(", received", s.Rate(func(r *record.MachineRow) float64 { return r.Received }))
	line(", sent", s.Rate(func(r *record.MachineRow) float64 { return r.Sent }))
	line(", loopback", s.Rate(func(r *record.MachineRow) float64 { return r.Loopback }))
}

// pressure adds lines that show what a machine's tasks were stalled for: CPUs, disks or memory.
func pressure(s samples.Pair, line func(suffix string, v float64)) {
	if s.Later.Kind() != record.WholeMachineRow {
		return
	}
	line(", some for a CPU", percent(func(r *record.MachineRow) float64 { return r.CPUStalled })(s))
	line(", some for disks", percent(func(r *record.MachineRow) float64 { return r.IOStalled })(s))
	line(", all for disks", percent(samples.IOFull)(s))
	line(", some for memory", percent(func(r *record.MachineRow) float64 { return r.MemoryStalled })(s))
}

// coreLines adds a line for the busiest CPU and a line for the least busy CPU.
func coreLines(s samples.Pair, line func(suffix string, v float64)) {
	if all := s.Cores(); len(all) > 1 {
		line(", busiest", 100*slices.Max(all))
		line(", least busy", 100*slices.Min(all))
	}
}

var machinePanels = []machinePanel{
	{"processors", "CPUs in use", measure.Number, singleLine(samples.Pair.Processors, record.MemberRow, record.GeneratorRow, record.WholeMachineRow), 0},
	{"cores", "Busiest and least busy CPU of the machine, percent of the time", measure.Number, coreLines, 0},
	{"programs", "Other programs: CPUs in use", measure.Number, nil, 0.05},
	{"pressure", "Share of the time in which tasks of the machine were stalled, in percent", measure.Number, pressure, 1},
	{"throttled", "CPUs withheld by quotas", measure.Number, singleLine(samples.PerSecondOf(samples.Throttled), record.MemberRow, record.GeneratorRow), 0.001},
	{"memory", "Resident memory", measure.Bytes, singleLine(figureAtTime(func(r *record.MachineRow) float64 { return r.RSS }), record.MemberRow, record.GeneratorRow), 0},
	{"major-faults", "Major page faults per second", measure.Number, singleLine(samples.PerSecondOf(samples.MajorFaults), record.MemberRow), 1},
	{"data-folder", "Data folder on disk", measure.Bytes, singleLine(figureAtTime(func(r *record.MachineRow) float64 { return r.FolderBytes }), record.MemberRow), 0},
	{"disk-written", "Written to disk per second", measure.Bytes, singleLine(samples.PerSecondOf((*record.MachineRow).DiskWritten), record.MemberRow, record.GeneratorRow, record.WholeMachineRow), 0},
	{"disk-read", "Read from disk per second", measure.Bytes, singleLine(samples.PerSecondOf((*record.MachineRow).DiskRead), record.MemberRow, record.GeneratorRow, record.WholeMachineRow), 0},
	{"disk-queue", "Mean disk queue length", measure.Number, singleLine(samples.PerSecondOf(samples.Queue), record.DiskRow), 0.05},
	{"disk-flush", "Mean flush time of a disk", measure.Nanoseconds, singleLine(func(s samples.Pair) float64 { return 1e9 * s.Mean(samples.FlushTime, samples.Flushes) }, record.DiskRow), 1e5},
	{"network", "Network traffic of the machine per second", measure.Bytes, network, 0},
	{"retransmitted", "Retransmitted TCP segments per second", measure.Number, singleLine(samples.PerSecondOf(samples.Retransmitted), record.MemberRow, record.WholeMachineRow, record.NetworkRow), 1},
	{"tcp-queues", "Bytes in TCP buffers", measure.Bytes, singleLine(figureAtTime(func(r *record.MachineRow) float64 { return r.SendQueue + r.ReceiveQueue }), record.MemberRow, record.GeneratorRow), 4096},
}

// IsMachinePanel reports whether the chart with the given name shows the resource use of processes
// and machines.
func IsMachinePanel(name string) bool {
	return slices.ContainsFunc(machinePanels, func(p machinePanel) bool { return p.name == name })
}

// addMachines adds the charts of the resource use of processes and machines, from machines.csv.
func (o *Charts) addMachines() {
	g := &o.Grid
	all := make([]linesByName, len(machinePanels))
	for i := range all {
		all[i].grid = g
	}
	traffic := linesByName{grid: g}
	var s samples.Pair
	var panel int
	add := func(suffix string, v float64) { all[panel].add(s.Later.Name+suffix, s.Earlier.Time, s.Later.Time, v) }
	samples.EachPair(o.Trial.Machines, samples.AllTime(), func(next samples.Pair) {
		s = next
		for panel = range machinePanels {
			if of := machinePanels[panel].addLines; of != nil {
				of(s, add)
			}
		}
		if samples.HasNetwork(s.Later) {
			traffic.add(s.Later.Name, s.Earlier.Time, s.Later.Time, s.Rate(func(r *record.MachineRow) float64 { return r.Received + r.Sent + r.Loopback }))
		}
	})
	for i := range o.Trial.Machines { // rows of other programs contain no counters
		if r := &o.Trial.Machines[i]; r.Kind() == record.ProgramRow {
			at := slices.IndexFunc(machinePanels, func(p machinePanel) bool { return p.addLines == nil })
			all[at].add(r.Name, r.Since(), r.Time, r.Processors)
		}
	}
	for i := range machinePanels {
		p := &machinePanels[i]
		o.bands[p.name] = all[i].rangeOf(isMember)
		all[i].lines = slices.DeleteFunc(all[i].lines, func(l Line) bool { return !l.reachesValue(p.minHighest) })
		// if there are many programs, draw those with the highest use
		if p.addLines == nil && len(all[i].lines) > maxLines {
			slices.SortStableFunc(all[i].lines, func(a, b Line) int { return cmp.Compare(b.highestValue(), a.highestValue()) })
			all[i].lines = all[i].lines[:maxLines]
		}
		o.addLines(p.name, p.heading, p.unit, p.name == "disk-flush", &all[i])
	}
	o.bands["network"] = traffic.rangeOf(func(string) bool { return true })
}

// reachesValue reports whether at least one value of the line is at least `least`.
func (l *Line) reachesValue(least float64) bool {
	return slices.ContainsFunc(l.High, func(v float64) bool { return v >= least })
}

// highestValue returns the highest value of the line, or 0 if the line has no values.
func (l *Line) highestValue() (most float64) {
	for _, v := range l.High {
		if v > most {
			most = v
		}
	}
	return most
}

// isMember reports whether a name in machines.csv belongs to a member's process.
func isMember(name string) bool { return record.KindOf(name) == record.MemberRow }

func (o *Charts) addLines(name, title string, unit measure.Unit, log bool, lines *linesByName) {
	all, notes := lines.sorted()
	all = slices.DeleteFunc(all, func(l Line) bool { return l.isZero() })
	o.addPanel(Panel{Name: name, Title: title, Unit: unit, Log: log, Lines: all, Notes: notes})
}

// isZero reports whether the line is 0 everywhere.
func (l *Line) isZero() bool {
	for _, v := range l.High {
		if v > 0 {
			return false
		}
	}
	return true
}

// addMembers adds the charts of the metrics that members report about themselves, from stores.csv.
func (o *Charts) addMembers() {
	g := &o.Grid
	timers := [...]struct {
		metric      store.Metric
		name, title string
		lines       linesByName
	}{
		{store.FsyncSeconds, "log-sync", "Reported by members: mean sync time of the write-ahead log", linesByName{grid: g}},
		{store.CommitSeconds, "commit", "Reported by members: mean commit time of the database", linesByName{grid: g}},
		{store.PeerRoundTripSeconds, "peer-round-trip", "Reported by members: mean round-trip time to other members", linesByName{grid: g}},
	}
	database, changes := linesByName{grid: g}, linesByName{grid: g}
	before := map[string]*record.StoreRow{}
	for i := range o.Trial.Stores {
		r := &o.Trial.Stores[i]
		if r.Metrics == nil || r.Failure != "" {
			continue
		}
		last := before[r.Name]
		before[r.Name] = r
		if last == nil || !r.Time.After(last.Time) {
			continue
		}
		if size, ok := r.Metrics[store.DatabaseBytes]; ok {
			database.add(r.Name, last.Time, r.Time, size.Value)
		}
		for j := range timers {
			if mean, ok := samples.MetricIncrease(timers[j].metric, r, last).Mean(); ok {
				timers[j].lines.add(r.Name, last.Time, r.Time, 1e9*mean)
			}
		}
		if _, ok := r.Metrics[store.LeaderChanges]; ok {
			changes.add(r.Name, last.Time, r.Time, samples.MetricIncrease(store.LeaderChanges, r, last).Value)
		}
	}
	o.bands["database"] = database.rangeOf(func(string) bool { return true })
	drawn := len(o.Panels)
	for i := range timers {
		o.addLines(timers[i].name, timers[i].title, measure.Nanoseconds, true, &timers[i].lines)
	}
	o.addLines("database", "Reported by members: database on disk", measure.Bytes, false, &database)
	o.addLines("leader-changes", "Reported by members: leader changes seen", measure.Number, false, &changes)
	for i := range o.Panels[drawn:] {
		p := &o.Panels[drawn+i]
		flat := "the mean between two responses"
		switch p.Name {
		case "database":
			flat = "the size in the later of two responses"
		case "leader-changes":
			flat = "the number of changes between two responses"
		}
		p.Notes = append(p.Notes, "A flat part of a line is "+flat+". Members are queried once per second, or less often if they respond slowly.")
	}
}
