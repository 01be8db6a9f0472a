package record

import (
	"reflect"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Part is what came out of some seconds of a trial's phase. It is used again and
// again, because its histograms are large.
type Part struct {
	sum                        Trial
	response, service, arrival *measure.Histogram
	last                       measure.Second // its state at the end
}

// NewPart returns an empty part.
func NewPart() *Part {
	p := &Part{response: measure.NewHistogram(), service: measure.NewHistogram(), arrival: measure.NewHistogram()}
	p.Begin(false)
	return p
}

// Begin empties the part.
func (p *Part) Begin(watches bool) {
	p.sum = Trial{ErrorsByKind: map[string]uint64{}}
	if watches {
		p.sum.Watch = &Watched{}
	}
	p.response.Reset()
	p.service.Reset()
	p.arrival.Reset()
}

// Add takes a second, of which it keeps nothing.
func (p *Part) Add(s *measure.Second) {
	t := &p.sum
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
	p.last.Connections, p.last.Clients, p.last.InFlight = s.Connections, s.Clients, s.InFlight
	for _, c := range s.Cells {
		measure.Add(p.response, c.Response)
		measure.Add(p.service, c.Service)
	}
	if w := t.Watch; w != nil {
		w.InWindow += s.Watch.Delivered
		w.Duplicated += s.Watch.Duplicated
		w.Reordered += s.Watch.Reordered
		measure.Add(p.arrival, s.Watch.FromDue)
	}
}

// AddTo adds the part's figures to an object, under their names in the trial's.
// seconds is its length; 0 if that is not known. Which watch events are lost is
// known when the trial has ended.
func (p *Part) AddTo(o *Object, seconds float64) {
	t := &p.sum
	rate := func(n uint64) *float64 {
		if seconds <= 0 {
			return nil
		}
		perSecond := float64(n) / seconds
		return &perSecond
	}
	t.ResponseTime = Times{measure.Summarize(p.response, t.Errors)}
	t.ServiceTime = Times{measure.Summarize(p.service, t.Errors)}
	o.Select(t, "due", "operations", "errors", "errors_by_kind")
	o.Add("completed", t.Completed)
	o.Add("operations_per_second", rate(t.Completed))
	o.Select(t, "response_time_ns", "service_time_ns", "bytes_in", "bytes_out")
	o.Add("connections", p.last.Connections)
	o.Add("clients", p.last.Clients)
	o.Add("in_flight", p.last.InFlight)
	if w := t.Watch; w != nil {
		w.FromDue = Times{measure.Summarize(p.arrival, 0)}
		var got Object
		got.Add("events", w.InWindow)
		got.Add("events_per_second", rate(w.InWindow))
		got.Select(w, "duplicated_events", "reordered_events", "from_due_ns")
		o.Add("watch", got)
	}
}

// Select adds the fields of a struct that have these names in its JSON object.
func (o *Object) Select(from any, names ...string) {
	v := reflect.Indirect(reflect.ValueOf(from))
	for _, name := range names {
		for _, field := range reflect.VisibleFields(v.Type()) {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
				o.Add(name, v.FieldByIndex(field.Index).Interface())
			}
		}
	}
}
