package record

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/printable"
)

// Calls is what became of one kind of an application's calls that were due in the
// window.
type Calls struct {
	Name        string `json:"name"`        // such as "create pod"
	Operation   string `json:"operation"`   // what it counts as among all operations
	Consistency string `json:"consistency"` // of a read; else empty
	Due         uint64 `json:"due"`
	Operations  uint64 `json:"operations"` // of those: completed
	Conflicts   uint64 `json:"conflicts"`  // of Operations: guards did not hold
	Misses      uint64 `json:"misses"`     // of Operations: the object was not there
	Errors      uint64 `json:"errors"`     // of Due: failed, or never taken up
	// PerSecond is how many became due a second, and Share their part of all calls.
	PerSecond    float64 `json:"due_per_second"`
	Share        float64 `json:"share"`
	ResponseTime Times   `json:"response_time_ns"`
	ServiceTime  Times   `json:"service_time_ns"`
	// BoundNS is within what response time the application needs an answer; 0: it does
	// not say. Late is how many of Due had none by then.
	BoundNS int64  `json:"bound_ns,omitempty"`
	Late    uint64 `json:"late,omitempty"`
}

func callsOf(m *measure.Totals) (all []Calls) {
	due := uint64(0)
	for i := range m.Calls {
		due += m.Calls[i].Due
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		one := Calls{
			Name: c.Name, Operation: c.Kind.String(), Consistency: c.Level.String(), Due: c.Due, Operations: c.Done(),
			BoundNS: c.Bound, Late: c.Missed(),
			Conflicts: c.Outcomes[kv.Conflict], Misses: c.Outcomes[kv.Miss], Errors: c.Failed(),
		}
		if m.Seconds > 0 {
			one.PerSecond = float64(c.Due) / m.Seconds
		}
		if due > 0 {
			one.Share = float64(c.Due) / float64(due)
		}
		one.ResponseTime = Times{measure.Summarize(c.Response, one.Errors)}
		one.ServiceTime = Times{measure.Summarize(c.Service, one.Errors)}
		all = append(all, one)
	}
	return all
}

func (c *Calls) restore() {
	c.Name = printable.Line(c.Name, printable.OfServer)
	c.ResponseTime.restore(c.Errors)
	c.ServiceTime.restore(c.Errors)
}
