package analyze

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// linesByName are the lines of a panel, one for each process or member.
type linesByName struct {
	grid *Grid
	all  []Line
}

// maxLines bounds the lines of a panel: more cannot be told apart.
const maxLines = 8

// add adds a value that holds between two times to a name's line: in the columns
// whose middles they include, or in that of their own middle.
func (l *linesByName) add(name string, from, to time.Time, v float64) {
	i := slices.IndexFunc(l.all, func(one Line) bool { return one.Name == name })
	if i < 0 {
		if len(l.all) == 8*maxLines { // no record of ours has so many
			return
		}
		i = len(l.all)
		l.all = append(l.all, l.grid.newLine(name))
	}
	l.all[i].spread(l.grid, from.Sub(l.grid.Opened).Seconds(), to.Sub(l.grid.Opened).Seconds(), v, v)
}

// band is from the least to the most of the lines of the names asked for.
func (l *linesByName) band(of func(name string) bool) Line {
	out := l.grid.newLine("")
	for i := range l.all {
		if one := &l.all[i]; of(one.Name) {
			for column := range one.Low {
				out.add(column, one.Low[column])
				out.add(column, one.High[column])
			}
		}
	}
	return out
}

// sorted are the lines by name, members before the rest, and a note where there
// were too many.
func (l *linesByName) sorted() (lines []Line, notes []string) {
	last := func(name string) int {
		switch {
		case name == record.GeneratorName:
			return 1
		case strings.HasPrefix(name, record.MachineName):
			return 2
		}
		return 0
	}
	slices.SortStableFunc(l.all, func(a, b Line) int {
		return cmp.Or(cmp.Compare(last(a.Name), last(b.Name)), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	if len(l.all) > maxLines {
		return l.all[:maxLines], []string{"Only the first 8 are drawn."}
	}
	return l.all, nil
}

// addMachines adds what processes and machines used, from machines.csv.
func (o *OverTime) addMachines() {
	g := &o.Grid
	cpu, memory, written, read := linesByName{grid: g}, linesByName{grid: g}, linesByName{grid: g}, linesByName{grid: g}
	network, traffic := linesByName{grid: g}, linesByName{grid: g}
	before := map[string]record.MachineRow{}
	for _, r := range o.Trial.Machines {
		last, seen := before[r.Name]
		before[r.Name] = r
		at := time.Unix(r.Unix, 0)
		if !seen || r.Unix <= last.Unix {
			continue
		}
		from, length := time.Unix(last.Unix, 0), float64(r.Unix-last.Unix)
		if r.RSSBytes > 0 {
			memory.add(r.Name, from, at, float64(r.RSSBytes))
		}
		rate := func(to *linesByName, name string, now, then float64) {
			if now > 0 && now >= then { // below: it was started again meanwhile
				to.add(name, from, at, (now-then)/length)
			}
		}
		rate(&cpu, r.Name, r.CPUSeconds, last.CPUSeconds)
		rate(&written, r.Name, r.DiskWritten, last.DiskWritten)
		rate(&read, r.Name, r.DiskRead, last.DiskRead)
		if strings.HasPrefix(r.Name, record.MachineName) {
			rate(&network, r.Name+", received", r.Received, last.Received)
			rate(&network, r.Name+", sent", r.Sent, last.Sent)
			rate(&network, r.Name+", loopback", r.Loopback, last.Loopback)
			rate(&traffic, r.Name, r.Received+r.Sent+r.Loopback, last.Received+last.Sent+last.Loopback)
		}
	}
	for _, p := range []struct {
		name, title string
		unit        measure.Unit
		lines       *linesByName
	}{
		{"processors", "Processors in use", measure.Number, &cpu},
		{"memory", "Resident memory", measure.Bytes, &memory},
		{"disk-written", "Written to disk, a second", measure.Bytes, &written},
		{"disk-read", "Read from disk, a second", measure.Bytes, &read},
		{"network", "Network of the machine, a second", measure.Bytes, &network},
	} {
		o.bands[p.name] = p.lines.band(isMember)
		o.addLines(p.name, p.title, p.unit, false, p.lines)
	}
	o.bands["network"] = traffic.band(func(string) bool { return true })
}

// isMember reports whether a name of machines.csv is that of a member's process.
func isMember(name string) bool {
	r := record.MachineRow{Name: name}
	return r.Member()
}

func (o *OverTime) addLines(name, title string, unit measure.Unit, log bool, lines *linesByName) {
	all, notes := lines.sorted()
	all = slices.DeleteFunc(all, func(l Line) bool { return l.zero() })
	o.addPanel(Panel{Name: name, Title: title, Unit: unit, Log: log, Lines: all, Notes: notes})
}

// zero reports whether the line never leaves 0.
func (l *Line) zero() bool {
	for _, v := range l.High {
		if v > 0 {
			return false
		}
	}
	return true
}

// addMembers adds what the members reported of themselves, from stores.csv.
func (o *OverTime) addMembers() {
	g := &o.Grid
	timers := [...]struct {
		metric      store.Metric
		name, title string
		lines       linesByName
	}{
		{store.FsyncSeconds, "log-sync", "Members' own: mean sync of the write-ahead log", linesByName{grid: g}},
		{store.CommitSeconds, "commit", "Members' own: mean commit of the database", linesByName{grid: g}},
		{store.PeerRoundTripSeconds, "peer-round-trip", "Members' own: mean round trip to the other members", linesByName{grid: g}},
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
		since := r.Metrics.Since(last.Metrics)
		for j := range timers {
			if mean, ok := since[timers[j].metric].Mean(); ok {
				timers[j].lines.add(r.Name, last.Time, r.Time, 1e9*mean)
			}
		}
		if n, ok := since[store.LeaderChanges]; ok {
			changes.add(r.Name, last.Time, r.Time, n.Value)
		}
	}
	o.bands["database"] = database.band(func(string) bool { return true })
	drawn := len(o.Panels)
	for i := range timers {
		o.addLines(timers[i].name, timers[i].title, measure.Nanoseconds, true, &timers[i].lines)
	}
	o.addLines("database", "Members' own: database on disk", measure.Bytes, false, &database)
	o.addLines("leader-changes", "Members' own: changes of the leader that they saw", measure.Number, false, &changes)
	for i := range o.Panels[drawn:] {
		p := &o.Panels[drawn+i]
		p.Notes = append(p.Notes, "A flat stretch is one answer, and the mean of that time: a member is asked once a second, and less often where it answers slowly.")
	}
}
