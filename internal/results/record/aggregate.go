package record

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Aggregate is what came out of some seconds of a trial's phase. It is used again
// and again, because its histograms are large.
type Aggregate struct {
	sum                        Trial
	response, service, arrival *measure.Histogram
	last                       measure.Second // its state at the end
}

// NewAggregate returns an empty one.
func NewAggregate() *Aggregate {
	a := &Aggregate{response: measure.NewHistogram(), service: measure.NewHistogram(), arrival: measure.NewHistogram()}
	a.Begin(false)
	return a
}

// Begin empties it.
func (a *Aggregate) Begin(watches bool) {
	a.sum = Trial{ErrorsByKind: map[string]uint64{}}
	if watches {
		a.sum.Watch = &Watched{}
	}
	a.response.Reset()
	a.service.Reset()
	a.arrival.Reset()
}

// Add takes a second, of which it keeps nothing.
func (a *Aggregate) Add(s *measure.Second) {
	t := &a.sum
	t.Due += s.Due
	for o := range kv.NumOutcomes {
		switch n := s.Outcomes[o]; {
		case !o.Failed():
			t.Operations += n
		case n > 0:
			t.Errors += n
			t.ErrorsByKind[o.String()] += n
		}
	}
	t.Completed += s.Done
	t.AddCounts(&s.Counts)
	a.last.Connections, a.last.Clients, a.last.InFlight = s.Connections, s.Clients, s.InFlight
	for _, c := range s.Cells {
		measure.Add(a.response, c.Response)
		measure.Add(a.service, c.Service)
	}
	if w := t.Watch; w != nil {
		w.InWindow += s.Watch.Delivered
		w.Duplicated += s.Watch.Duplicated
		w.Reordered += s.Watch.Reordered
		measure.Add(a.arrival, s.Watch.FromDue)
	}
}

// AddTo adds the figures that lines of --interval have to an object. seconds is
// the length of what was added; 0 if that is not known. Which watch events are
// lost is known when the trial has ended.
func (a *Aggregate) AddTo(o *Object, seconds float64) {
	t := &a.sum
	if seconds > 0 {
		t.PerSecond = float64(t.Completed) / seconds
	}
	t.ResponseTime = Times{measure.Summarize(a.response, t.Errors)}
	t.ServiceTime = Times{measure.Summarize(a.service, t.Errors)}
	if w := t.Watch; w != nil {
		w.FromDue = Times{measure.Summarize(a.arrival, 0)}
		if seconds > 0 {
			w.PerSecond = float64(w.InWindow) / seconds
		}
	}
	o.addFigures(t, seconds > 0, func(_, line string, _ bool) string { return line })
	o.Add("errors_by_kind", t.ErrorsByKind)
	o.Add("connections", a.last.Connections)
	o.Add("clients", a.last.Clients)
	o.Add("in_flight", a.last.InFlight)
}
