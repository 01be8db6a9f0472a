package analyze

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// distribution is a row in a table of times. The field `prefix` is the common prefix of the names
// of the distribution's figures in the registry of figures.
type distribution struct{ name, prefix string }

// TimesTable returns a table with a row for each of a trial's distributions of times. The first row
// contains the kind of time that the other tables also show first; see record.Trial.HeadlineTime.
func TimesTable(t *record.Trial) Table {
	rows := []distribution{{"service time", "service"}, {"response time", "response"}}
	if t.HeadlineTime() == record.Response {
		slices.Reverse(rows)
	}
	if t.Errors > 0 {
		rows = append(rows, distribution{"successes only", "success"})
	}
	if t.Lateness != nil {
		rows = append(rows, distribution{"lateness", "lateness"})
	}
	return timesTable(t, rows)
}

// WatchTimesTable returns the table with the delays of the watch events. The table has no rows if
// no event was timed.
func WatchTimesTable(t *record.Trial) Table {
	if t.Watch == nil || t.Watch.FromDue.Count == 0 {
		return Table{}
	}
	return timesTable(t, []distribution{{"from due to arrival", "watch"}, {"from sent to arrival", "watch-sent"}})
}

// briefStatistics returns the points of a distribution that are shown even on a narrow terminal.
func briefStatistics() []string { return []string{"mean", "p50", "p90", "p99", "p99.9", "max"} }

// timesTable returns a table with a row for each distribution and a column for each point, such as
// p99.
func timesTable(t *record.Trial, rows []distribution) Table {
	table := Table{Columns: []Column{{Title: "", LeftAligned: true}}}
	for i, r := range rows {
		table.Rows = append(table.Rows, []Cell{{Text: r.name}})
		for _, f := range figures.DistributionFigures(r.prefix) {
			if point := strings.TrimPrefix(f.Name, r.prefix+"-"); i == 0 {
				table.Columns = append(table.Columns, Column{Title: point, Wide: !slices.Contains(briefStatistics(), point)})
			}
			table.add(i, doubtedCell(t, f.Name, f.Value(t)))
		}
	}
	return table
}

// add appends a cell to a row.
func (t *Table) add(row int, c Cell) {
	t.Rows[row] = append(t.Rows[row], c)
	t.Doubted = t.Doubted || c.Doubted
}

// doubtedCell returns a cell that shows a figure of the trial, or of some of its operations. The
// cell is marked as doubted if the verdict doubts the figure `name`.
func doubtedCell(t *record.Trial, name string, v figures.Value) Cell {
	c := FigureCell(v)
	c.Doubted = v.Known && t.Verdict.IsFigureDoubtful(name)
	return c
}

// FigureCell returns a cell that shows a figure.
func FigureCell(v figures.Value) Cell { return Cell{Kind: FigureValueCell, Value: v} }

func shareValue(x float64) figures.Value {
	return figures.Value{Number: x, Unit: measure.Share, Known: true}
}

func numberValue(x float64) figures.Value {
	return figures.Value{Number: x, Unit: measure.Number, Known: true}
}

// CountCell returns a cell that shows a count.
func CountCell(n uint64) Cell { return FigureCell(numberValue(float64(n))) }

// RolesTable returns the times by operation and by the role of the member that served the
// operation. The table has no rows if there is only one combination of operation and role.
func RolesTable(t *record.Trial) Table {
	if len(t.ByRole) < 2 {
		return Table{}
	}
	table := Table{Columns: []Column{{Title: "operation", LeftAligned: true}, {Title: "consistency", LeftAligned: true}, {Title: "served by", LeftAligned: true}, {Title: "operations"}, {Title: "errors"},
		{Title: "service p50"}, {Title: "p99"}, {Title: "response p50"}, {Title: "p99"}}}
	for i := range t.ByRole {
		s := &t.ByRole[i]
		row := []Cell{{Text: s.Operation}, {Text: text.OrDash(s.Consistency)}, {Text: s.Role}, CountCell(s.Operations), CountCell(s.Errors)}
		table.Rows = append(table.Rows, row)
		for _, times := range []record.Times{s.ServiceTime, s.ResponseTime} {
			table.add(i, doubtedCell(t, "p50", figures.TimeValue(times.Percentile(50))))
			table.add(i, doubtedCell(t, "p99", figures.TimeValue(times.Percentile(99))))
		}
	}
	return table
}

// CallsTable returns the results for each kind of call that an application made. The table has no
// rows for other loads.
func CallsTable(t *record.Trial) Table {
	if len(t.ByCall) == 0 {
		return Table{}
	}
	table := Table{Kind: CallsKind, CommonLoad: Label(t), Columns: []Column{{Title: "call", LeftAligned: true}, {Title: "due"}, {Title: "share", Drop: 4}, {Title: "completed", Drop: 2}, {Title: "conflicts", Drop: 3},
		{Title: "errors"}, {Title: "response p50"}, {Title: "p99"}, {Title: "max"}}}
	bounded := slices.ContainsFunc(t.ByCall, func(c record.Calls) bool { return c.BoundNS > 0 })
	if bounded {
		table.Columns = append(table.Columns, Column{Title: "late"}, Column{Title: "later than"})
	}
	spans := spansOf(t)
	for _, s := range spans {
		table.Columns = append(table.Columns, Column{Title: "per " + s.name, Drop: 1})
	}
	for i := range t.ByCall {
		c := &t.ByCall[i]
		share := FigureCell(shareValue(c.Share))
		if c.Span {
			share = Cell{}
		}
		row := []Cell{{Text: c.Name}, FigureCell(figures.Value{Number: c.PerSecond, Unit: measure.Rate, Known: true}), share, CountCell(c.Operations), CountCell(c.Conflicts), CountCell(c.Errors)}
		for _, f := range []measure.Figure{c.ResponseTime.Percentile(50), c.ResponseTime.Percentile(99), c.ResponseTime.Max} {
			row = append(row, FigureCell(figures.TimeValue(f)))
		}
		switch {
		case c.BoundNS > 0:
			row = append(row, CountCell(c.Late), Cell{Text: text.Duration(float64(c.BoundNS))})
		case bounded:
			row = append(row, Cell{}, Cell{})
		}
		for _, s := range spans {
			row = append(row, s.callsPerSpan(c))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// callSpan is a period that consists of several calls, such as a failover.
type callSpan struct {
	name      string
	completed uint64                       // the number of completed spans of this name
	calls     func(c *record.Calls) uint64 // returns how many calls of a kind belong to such spans
}

// spansOf returns the spans in a trial for which calls are counted.
func spansOf(t *record.Trial) (all []callSpan) {
	for i := range t.ByCall {
		c := &t.ByCall[i]
		switch {
		case !c.Span:
		case c.Name == measure.Handover:
			all = append(all, callSpan{c.Name, c.Operations, func(c *record.Calls) uint64 { return c.Spanned }})
		case c.Name == measure.Failover:
			all = append(all, callSpan{c.Name, c.Operations, func(c *record.Calls) uint64 { return c.SpannedByFailovers }})
		}
	}
	return all
}

// callsPerSpan returns a cell with the mean number of calls of a kind per span, without the calls
// before the first span. The cell is empty if no calls of this kind belong to a span.
func (s *callSpan) callsPerSpan(c *record.Calls) Cell {
	n := s.calls(c)
	if c.Span || s.completed == 0 || n == 0 {
		return Cell{}
	}
	return Cell{Text: strconv.FormatFloat(float64(n)/float64(s.completed), 'f', 2, 64)}
}

// MeasuredTables returns the table of each measured trial, without empty tables. The function
// `table` returns the table of a trial, for example HostsTable.
func MeasuredTables(run *record.Run, table func(*record.Trial) Table) (all []Table) {
	for i := range run.Trials {
		if one := table(&run.Trials[i]); len(one.Rows) > 0 && HasFigures(&run.Trials[i]) {
			all = append(all, one)
		}
	}
	return all
}

// MembersTable returns each member's share of the load. The table has no rows if the load was even
// and no connection was lost.
func MembersTable(t *record.Trial) Table {
	if !unevenMembers(t) {
		return Table{}
	}
	table := Table{Columns: []Column{{Title: "member", LeftAligned: true}, {Title: "connections"}, {Title: "lost"}, {Title: "operations"}, {Title: "share"}, {Title: "errors"}}}
	for i := range t.ByMember {
		b := &t.ByMember[i]
		connections, lost := FigureCell(figures.Value{}), FigureCell(figures.Value{})
		if l := b.Connections; l != nil {
			connections, lost = CountCell(uint64(max(l.AtOpening, 0))), CountCell(uint64(max(l.Lost, 0)))
		}
		table.Rows = append(table.Rows, []Cell{{Text: cmp.Or(b.Name, "nobody")}, connections, lost, CountCell(b.Operations), FigureCell(shareValue(b.Share)), CountCell(b.Errors)})
	}
	return table
}

// WorkersTable returns the work that each worker did. The table has no rows if there was only one
// worker.
func WorkersTable(t *record.Trial) Table {
	if len(t.ByWorker) == 0 {
		return Table{}
	}
	table := Table{Kind: WorkersKind, CommonLoad: Label(t), Columns: []Column{{Title: "worker", LeftAligned: true}, {Title: "machine", LeftAligned: true, Drop: 2}, {Title: "start delay", Drop: 3}, {Title: "operations"}, {Title: "errors"},
		{Title: "throughput"}, {Title: "response p50"}, {Title: "p99"}, {Title: "p50 difference"}}}
	if t.Open() {
		table.Columns = append(table.Columns, Column{Title: "lateness p99"})
	}
	table.Columns = append(table.Columns, Column{Title: "loop CPU", Drop: 5}, Column{Title: "longest pause", Drop: 4})
	of := func(x float64, unit measure.Unit) Cell {
		return FigureCell(figures.Value{Number: x, Unit: unit, Known: true})
	}
	last := t.LastToBegin()
	table.Footnotes = []string{workerStartText(t, last)}
	for i := range t.ByWorker {
		w := &t.ByWorker[i]
		began := of(float64(w.StartDelayNS), measure.Nanoseconds)
		if w == last {
			began = Cell{Text: text.Duration(float64(w.StartDelayNS)), Notes: []int{1}}
		}
		apart, late := figures.Value{}, figures.Value{}
		if w.MedianDifference != nil {
			apart = shareValue(*w.MedianDifference)
		}
		if w.Lateness != nil {
			late = figures.TimeValue(w.Lateness.Percentile(99))
		}
		row := []Cell{{Text: w.Name}, {Text: text.OrDash(w.Machine)}, began, CountCell(w.Operations), CountCell(w.Errors),
			of(w.PerSecond, measure.Rate), FigureCell(figures.TimeValue(w.ResponseTime.Percentile(50))), FigureCell(figures.TimeValue(w.ResponseTime.Percentile(99))), FigureCell(apart)}
		if t.Open() {
			row = append(row, FigureCell(late))
		}
		table.Rows = append(table.Rows, append(row, of(float64(w.LoopCPUNS), measure.Nanoseconds), of(float64(w.LongestPauseNS), measure.Nanoseconds)))
	}
	return table
}

// workerStartText describes when the workers started.
func workerStartText(t *record.Trial, last *record.ByWorker) string {
	how := "This worker started last, " + text.Duration(float64(last.StartDelayNS)) + " after the first worker"
	if t.StartSpreadNS != nil {
		how += "; half of the workers started within " + text.Duration(float64(*t.StartSpreadNS)) + " of the first worker's start"
	}
	bound := int64(0)
	for i := range t.ByWorker {
		bound = max(bound, t.ByWorker[i].ClockBoundNS)
	}
	if bound > 0 {
		how += "; the clocks have an uncertainty of up to " + text.Duration(float64(bound))
	}
	return how + "."
}

// ErrorKind describes the errors of one kind in a trial.
type ErrorKind struct {
	Kind    string
	Count   uint64
	Slowest figures.Value // the longest time from due to the error
	Text    string        // the text of the first such error; may be empty
}

// ErrorKinds returns a trial's errors by kind, the most frequent kind first.
func ErrorKinds(t *record.Trial) []ErrorKind {
	all := make([]ErrorKind, 0, len(t.ErrorsByKind))
	for kind, n := range t.ErrorsByKind {
		e := ErrorKind{Kind: kind, Count: n, Text: t.ErrorTexts[kind]}
		if times, ok := t.ErrorTimes[kind]; ok {
			e.Slowest = figures.TimeValue(times.Max)
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b ErrorKind) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// maxUnevenness limits the relative difference between a member's share of the load and its share
// of the connections. If at least one member exceeds this limit, MembersTable lists the members.
const maxUnevenness = 0.1

// unevenMembers reports whether a connection to a member was lost, or a member's share of the load
// differed noticeably from its share of the connections.
func unevenMembers(t *record.Trial) bool {
	connections, share := 0, 0.0
	for i := range t.ByMember {
		if l := t.ByMember[i].Connections; l != nil {
			connections += l.AtOpening
			share += t.ByMember[i].Share
			if l.Lost > 0 || l.LostAt != nil {
				return true
			}
		}
	}
	return connections > 0 && share > 0 && slices.ContainsFunc(t.ByMember, func(b record.ByMember) bool {
		if b.Connections == nil {
			return false
		}
		equal := float64(b.Connections.AtOpening) / float64(connections)
		return math.Abs(b.Share/share-equal) > maxUnevenness*equal
	})
}

// LostConnections returns the members that lost connections.
func LostConnections(t *record.Trial) []*record.ByMember {
	var lost []*record.ByMember
	for i := range t.ByMember {
		b := &t.ByMember[i]
		if l := b.Connections; l != nil && (l.Lost > 0 || l.LostAt != nil) {
			lost = append(lost, b)
		}
	}
	return lost
}
