package report

import (
	"io"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CallsCSV writes the calls of applications: a row for each trial, repeat and kind of
// call.
func CallsCSV(w io.Writer, run *record.Run) error {
	var rows [][]string
	for i := range run.Trials {
		t := &run.Trials[i]
		if !analyze.Measured(t) {
			continue
		}
		for k := range t.ByCall {
			c := &t.ByCall[k]
			names, cells := []string{"call", "trial", "store", "version", "operation", "consistency"}, []string{c.Name, t.Name, t.Store, t.Version, c.Operation, c.Consistency}
			for i := range cells {
				cells[i] = text.Cell(cells[i])
			}
			for _, n := range callFigures(t, c) {
				names, cells = append(names, n.name), append(cells, n.cell())
			}
			if rows == nil {
				rows = append(rows, names)
			}
			rows = append(rows, cells)
		}
	}
	return writeCSV(w, rows)
}

// callFigures are the figures of a kind of call, as files have them.
func callFigures(t *record.Trial, c *record.Calls) []named {
	count := func(n uint64) *float64 { return new(float64(n)) }
	all := []named{
		{"repeat", count(uint64(max(t.Repeat, 0)))}, {"due", count(c.Due)}, {"operations", count(c.Operations)}, {"conflicts", count(c.Conflicts)}, {"misses", count(c.Misses)}, {"errors", count(c.Errors)},
		{"due_per_second", new(c.PerSecond)}, {"share", new(c.Share)},
		{"bound_ns", known(float64(c.BoundNS), c.BoundNS > 0)}, {"late", known(float64(c.Late), c.BoundNS > 0)},
	}
	for _, of := range []struct {
		name  string
		times *record.Times
	}{{"response_time", &c.ResponseTime}, {"service_time", &c.ServiceTime}} {
		for _, p := range []struct {
			name string
			at   float64
		}{{"_p50_ns", 50}, {"_p99_ns", 99}} {
			f := of.times.At(p.at)
			all = append(all, named{of.name + p.name, known(f.NS, f.Known)})
		}
		all = append(all, named{of.name + "_max_ns", known(of.times.Max.NS, of.times.Max.Known)})
	}
	return all
}
