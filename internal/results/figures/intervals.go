package figures

import (
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Aggregate adds up several seconds of a phase of a trial. Reuse an Aggregate, because its
// histograms are large.
type Aggregate struct {
	sum                        record.Trial
	response, service, arrival *measure.Histogram
	last                       measure.Second // the last second, from which the state at the end is taken
	watchers                   uint64
}

// NewAggregate returns an empty aggregate.
func NewAggregate() *Aggregate {
	a := &Aggregate{response: measure.NewHistogram(), service: measure.NewHistogram(), arrival: measure.NewHistogram()}
	a.Begin(0)
	return a
}

// Begin removes all seconds from the aggregate. watchers is the number of watchers of each watched
// key.
func (a *Aggregate) Begin(watchers uint64) {
	a.sum = record.Trial{Counts: record.Counts{ErrorsByKind: map[string]uint64{}}}
	if a.watchers = watchers; watchers > 0 {
		a.sum.Watch = &record.Watched{}
	}
	a.response.Reset()
	a.service.Reset()
	a.arrival.Reset()
}

// Add adds a second. It does not keep a reference to s.
func (a *Aggregate) Add(s *measure.Second) {
	t := &a.sum
	t.Due += s.Due
	t.AddOutcomes(&s.Outcomes)
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

// AddTo adds the figures for a line of --interval to an object. seconds is the total length of the
// seconds in the aggregate, or 0 if it is not known. AddTo does not add lost watch events, because
// they are known only at the end of the trial.
func (a *Aggregate) AddTo(o *record.Object, seconds float64) {
	t := &a.sum
	if seconds > 0 {
		t.PerSecond = float64(t.Completed) / seconds
	}
	t.ResponseTime = record.Times{Summary: measure.Summarize(a.response, t.Errors)}
	t.ServiceTime = record.Times{Summary: measure.Summarize(a.service, t.Errors)}
	if w := t.Watch; w != nil {
		w.FromDue = record.Times{Summary: measure.Summarize(a.arrival, 0).DropUnsupported(a.watchers)}
		if seconds > 0 {
			w.PerSecond = float64(w.InWindow) / seconds
		}
	}
	addFigures(o, t, seconds > 0, func(_, line string, _ bool) string { return line })
	o.Add("errors_by_kind", t.ErrorsByKind)
	o.Add("connections", a.last.Connections)
	o.Add("clients", a.last.Clients)
	o.Add("in_flight", a.last.InFlight)
}

// addNested adds a member to an object. If the name has the form "A.B", it adds the member B to the
// nested object A, and creates A if necessary. If the name is empty, it adds nothing.
func addNested(o *record.Object, name string, value any) {
	of, inner, nested := strings.Cut(name, ".")
	switch {
	case name == "":
	case !nested:
		o.Add(name, value)
	default:
		i := slices.IndexFunc(*o, func(m record.ObjectMember) bool { return m.Name == of })
		if i < 0 {
			i = len(*o)
			o.Add(of, &record.Object{})
		}
		(*o)[i].Value.(*record.Object).Add(inner, value)
	}
}

// AddAtEnd adds the figures of a trial that belong in the last line of --interval to an object.
func AddAtEnd(o *record.Object, t *record.Trial) {
	addFigures(o, t, true, func(field, _ string, atEnd bool) string {
		if !atEnd {
			return ""
		}
		return field
	})
}

// addFigures adds the figures in the registry to an object, followed by the distributions. For each
// of them, it calls the function `name` with the key in the trial's JSON object and the key in the
// lines of --interval. The function returns the key to use, or "" to omit the figure. A figure that
// is not known is null. If `rates` is false, rates are also null.
func addFigures(o *record.Object, t *record.Trial, rates bool, name func(field, line string, atEnd bool) string) {
	var times []*Distribution
	for _, f := range All() {
		switch d := f.Times; {
		case f.DescribesWatchEvents() && t.Watch == nil:
		case d == nil:
			var value any
			if v := f.Value(t); v.Known && (rates || f.Unit != measure.Rate) {
				value = v.Number
			}
			addNested(o, name(f.Field, f.IntervalKey, f.AtEnd), value)
		case !slices.Contains(times, d):
			times = append(times, d)
		}
	}
	for _, d := range times {
		of, _ := d.Extract(t)
		addNested(o, name(d.Field, d.IntervalKey, d.AtEnd), of)
	}
}
