package report

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Calls reports the calls of applications. It has one row for each kind of call in each trial and
// repeat.
func Calls(run *record.Run) Finding {
	return Finding{rows: func() (columns []string, all []record.Object) {
		for i := range run.Trials {
			t := &run.Trials[i]
			if !analyze.HasFigures(t) {
				continue
			}
			for k := range t.ByCall {
				all = append(all, callFields(t, &t.ByCall[k]))
			}
		}
		return nil, all
	}}
}

// callFields returns the fields of one row.
func callFields(t *record.Trial, c *record.Calls) (o record.Object) {
	o.Add("call", c.Name)
	o.Add("trial", t.Name)
	o.Add("store", t.Store)
	o.Add("version", t.Version)
	o.Add("operation", c.Operation)
	o.Add("consistency", c.Consistency)
	o.Add("repeat", number(max(t.Repeat, 0)))
	o.Add("due", number(c.Due))
	o.Add("operations", number(c.Operations))
	o.Add("conflicts", number(c.Conflicts))
	o.Add("misses", number(c.Misses))
	o.Add("errors", number(c.Errors))
	o.Add("due_per_second", &c.PerSecond)
	o.Add("share", &c.Share)
	o.Add("bound_ns", numberOrNil(float64(c.BoundNS), c.BoundNS > 0))
	o.Add("late", numberOrNil(float64(c.Late), c.BoundNS > 0))
	times := func(name string, distribution *record.Times) {
		p50, p99 := distribution.Percentile(50), distribution.Percentile(99)
		o.Add(name+"_p50_ns", numberOrNil(p50.NS, p50.Known))
		o.Add(name+"_p99_ns", numberOrNil(p99.NS, p99.Known))
		o.Add(name+"_max_ns", numberOrNil(distribution.Max.NS, distribution.Max.Known))
	}
	times("response_time", &c.ResponseTime)
	times("service_time", &c.ServiceTime)
	return o
}
