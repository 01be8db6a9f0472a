package record

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Calls reports on the calls of one kind that an application made. It covers the calls that were
// due in the window.
type Calls struct {
	Name        string `json:"name"`        // such as "create pod"
	Operation   string `json:"operation"`   // the operation that the call uses
	Consistency string `json:"consistency"` // consistency of a read; empty for other calls
	Due         uint64 `json:"due"`
	Operations  uint64 `json:"operations"` // number of due calls that completed
	Conflicts   uint64 `json:"conflicts"`  // number of completed calls whose guard did not hold
	Misses      uint64 `json:"misses"`     // number of completed calls whose object did not exist
	Errors      uint64 `json:"errors"`     // number of due calls that failed or were never started
	// PerSecond is the number of calls of this kind that became due per second. Share is the share
	// of this kind in all calls that became due.
	PerSecond    float64 `json:"due_per_second"`
	Share        float64 `json:"share"`
	ResponseTime Times   `json:"response_time_ns"`
	ServiceTime  Times   `json:"service_time_ns"`
	// BoundNS is the application's time limit for a response, or 0 if there is no limit. Late is
	// the number of due calls that had no response within this limit.
	BoundNS int64  `json:"bound_ns,omitempty"`
	Late    uint64 `json:"late,omitempty"`
	// Span is set if the entry describes a span of time that consists of several calls, such as the
	// time without a leader. Such an entry has no Operation and no Share.
	Span bool `json:"span,omitempty"`
	// Spanned is the number of Operations that belong to such spans.
	Spanned uint64 `json:"spanned,omitempty"`
	// SpannedByFailovers is the number of Operations that belong to spans which began with the
	// failure of a leader.
	SpannedByFailovers uint64 `json:"spanned_by_failovers,omitempty"`
}

func callsOf(m *measure.Totals) (all []Calls) {
	due := uint64(0)
	for i := range m.Calls {
		if !m.Calls[i].IsSpan {
			due += m.Calls[i].Due
		}
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		one := Calls{
			Name: c.Name, Operation: c.Kind.String(), Consistency: c.Level.String(), Due: c.Due, Operations: c.Done(),
			BoundNS: c.Limit, Late: c.LateOrFailed(), Spanned: c.HandoverCalls, SpannedByFailovers: c.FailoverCalls,
			Conflicts: c.Outcomes[kv.Conflict], Misses: c.Outcomes[kv.Miss], Errors: c.Failed(),
		}
		if m.Seconds > 0 {
			one.PerSecond = float64(c.Due) / m.Seconds
		}
		switch {
		case c.IsSpan:
			one.Span, one.Operation, one.Consistency = true, "", ""
		case due > 0:
			one.Share = float64(c.Due) / float64(due)
		}
		one.ResponseTime = Times{measure.Summarize(c.Response, one.Errors)}
		one.ServiceTime = Times{measure.Summarize(c.Service, one.Errors)}
		all = append(all, one)
	}
	return all
}

func (c *Calls) restore() {
	c.Name = text.Line(c.Name, text.MaxServerText)
	c.ResponseTime.restore(c.Errors)
	c.ServiceTime.restore(c.Errors)
}
