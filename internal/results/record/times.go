package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Times describes a distribution of times. In files each figure is an integer
// number of nanoseconds, or null: a percentile that the sample does not
// support, or a figure that lands on a failed operation. Which of the two it
// is follows from the counts beside it, and Trial's UnmarshalJSON restores it.
type Times struct{ measure.Summary }

// At returns the percentile p of measure.Percentiles.
func (t Times) At(p float64) measure.Figure { return t.Summary.At(p) }

// namedFigure is one of a summary's figures by its name in thresholds and tables.
type namedFigure struct {
	name string
	*measure.Figure
}

// figures are the summary's in their order.
func (t *Times) figures() []namedFigure {
	all := []namedFigure{{"min", &t.Min}, {"mean", &t.Mean}, {"stddev", &t.Stddev}}
	for i, p := range measure.Percentiles {
		all = append(all, namedFigure{fmt.Sprintf("p%g", p), &t.Percentiles[i]})
	}
	return append(all, namedFigure{"max", &t.Max})
}

// field is the figure's name in files.
func (f namedFigure) field() string { return strings.ReplaceAll(f.name, ".", "_") }

// MarshalJSON writes the object.
func (t Times) MarshalJSON() ([]byte, error) {
	o := Object{{"count", t.Count}}
	for _, f := range t.figures() {
		o.Add(f.field(), ns(*f.Figure))
	}
	return o.MarshalJSON()
}

// UnmarshalJSON reads the object. Every null becomes a figure that is not
// known; which of them failed follows only from the counts around it.
func (t *Times) UnmarshalJSON(b []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(b, &object); err != nil {
		return err
	}
	*t = Times{}
	read := func(name string, to any) error {
		if raw, ok := object[name]; ok {
			return json.Unmarshal(raw, to)
		}
		return nil
	}
	err := read("count", &t.Count)
	for _, f := range t.figures() {
		var ns *float64
		if err = cmp.Or(err, read(f.field(), &ns)); ns != nil {
			*f.Figure = measure.Figure{NS: *ns, Known: true}
		}
	}
	return err
}

// restore marks the figures that are missing because an operation failed. Which
// those are depends on the counts alone, so that any times with the same counts
// show it.
func (t *Times) restore(failed uint64) {
	if failed == 0 || failed > t.Count {
		return
	}
	recorded := hdr.New(1, 2, 1)
	if recorded.RecordValues(1, int64(t.Count-failed)) != nil {
		return // a count that no run reaches
	}
	like := Times{measure.Summarize(recorded, failed)}
	for i, f := range like.figures() {
		if of := t.figures()[i]; !of.Known && f.Failed {
			of.Failed = true
		}
	}
}

func ns(f measure.Figure) *float64 {
	if !f.Known {
		return nil
	}
	return new(math.Round(f.NS))
}

// Distribution is one of a trial's distributions of times.
type Distribution struct {
	Prefix  string // before the names of its figures, as in response-p99
	Field   string // in the trial's JSON object; empty for the loop's own time, which is one of two
	Meaning string
	Null    bool // the field is null in trials that do not have it
	// Of is the times and how many of them failed.
	Of func(*Trial) (times Times, failed uint64)
	// Log is where latency.hlog has them.
	Log      func(*Trial) Time
	Sample   Population
	Requires *Requirement
	titles   []string // the figures in tables
	Line     string   // as a figure's
	AtEnd    bool
}

// MostConnectionWait is the share of a closed loop's mean response time that waiting for
// room on a connection may take before the trial's headline is the response time.
const MostConnectionWait = 0.03

// ConnectionWaitShare returns the share of a closed loop's mean response time in which
// operations waited for room on their connection.
func (t *Trial) ConnectionWaitShare() float64 {
	if mean := t.SuccessResponseTime.Mean; mean.Known && mean.NS > 0 {
		return t.ConnectionWaitNS / mean.NS
	}
	return 0
}

// Headline returns the loop's own time, which tables show first, over everything due:
// response time in an open loop, and in a closed one whose clients waited for room on
// their connections; service time in any other.
func (t *Trial) Headline() Times {
	if t.HeadlineTime() == Response {
		return t.ResponseTime
	}
	return t.ServiceTime
}

// HeadlineTime is the time that Headline is of.
func (t *Trial) HeadlineTime() Time {
	if t.Open() || t.ConnectionWaitShare() > MostConnectionWait {
		return Response
	}
	return Service
}

// Words names a time of operations in a sentence.
func (t Time) Words() string {
	if t == Response {
		return "response time"
	}
	return "service time"
}

// Population is what a distribution is made of, for sentences.
type Population struct {
	Many   string // operations
	None   string // why there is no figure at all
	failed string // what counts as slower than the rest
	few    string // what lies beyond where there are too few
}

// Unknown says why a figure of so many is not known.
func (p Population) Unknown(v Value, count uint64) string {
	switch {
	case count == 0:
		return p.None
	case v.Failed:
		return "it lands on " + p.failed
	}
	return fmt.Sprintf("%d %s do not support it: %s beyond it", count, p.Many, fmt.Sprintf(cmp.Or(p.few, "fewer than %d lie"), measure.MinBeyond))
}

var (
	ofOperations = Population{Many: "operations", None: "no operation was due", failed: "a failed operation, which is slower than any success"}
	ofEvents     = Population{Many: "events", None: "no event came", failed: "a lost event, which counts as slower than any that came", few: "those of fewer than %d writes lie"}
	ofWatchers   = Population{Many: "watchers", None: "no watcher was created"}
)

// points are the figures that a distribution's summary has, in their order.
func (d *Distribution) points() []Figure {
	var all []Figure
	for i, named := range (&Times{}).figures() {
		f := Figure{Name: named.name, Unit: measure.Nanoseconds, Better: Less, Times: d, Requires: d.Requires,
			point: func(t Times) measure.Figure { return *t.figures()[i].Figure }}
		if d.Prefix != "" {
			f.Name = d.Prefix + "-" + named.name
		}
		if d.Field != "" {
			f.Column = strings.ReplaceAll(strings.TrimSuffix(d.Field, "_ns"), ".", "_") + "_" + named.field() + "_ns"
		}
		if slices.Contains(d.titles, named.name) {
			f.Title = named.name
		}
		all = append(all, f)
	}
	return all
}

// Points are the figures of the distribution whose names begin with a prefix.
func Points(prefix string) []Figure {
	all := distributions()
	return all[slices.IndexFunc(all, func(d *Distribution) bool { return d.Prefix == prefix })].points()
}

// percentile is the figure of any percentile, which the result may not have.
func (d *Distribution) percentile(name string, p float64) Figure {
	return Figure{Name: name, Unit: measure.Nanoseconds, Better: Less, Times: d, Percentile: p, Requires: d.Requires}
}

// distributions are all of a trial's.
func distributions() []*Distribution {
	always := func(time Time) func(*Trial) Time { return func(*Trial) Time { return time } }
	failed := func(of func(*Trial) Times) func(*Trial) (Times, uint64) {
		return func(t *Trial) (Times, uint64) { return of(t), t.Errors }
	}
	watched := func(of func(*Watched) Times, lost bool) func(*Trial) (Times, uint64) {
		return func(t *Trial) (Times, uint64) {
			switch {
			case t.Watch == nil:
				return Times{}, 0
			case lost:
				return of(t.Watch), t.Watch.Lost
			}
			return of(t.Watch), 0
		}
	}
	titles := []string{"p50", "p90", "p99", "p99.9", "max"}
	return []*Distribution{
		{Prefix: "", Of: failed((*Trial).Headline), Log: (*Trial).HeadlineTime, Sample: ofOperations, titles: append([]string{"mean"}, titles...)},
		{Prefix: "response", Field: "response_time_ns", Line: "response_time_ns", Meaning: "done − due, over everything due",
			Of: failed(func(t *Trial) Times { return t.ResponseTime }), Log: always(Response), Sample: ofOperations},
		{Prefix: "success", Field: "success_response_time_ns", Meaning: "done − due, of the completed alone",
			Of: func(t *Trial) (Times, uint64) { return t.SuccessResponseTime, 0 }, Log: always(Response), Sample: ofOperations},
		{Prefix: "service", Field: "service_time_ns", Line: "service_time_ns", Meaning: "done − sent, over everything due",
			Of: failed(func(t *Trial) Times { return t.ServiceTime }), Log: always(Service), Sample: ofOperations},
		{Prefix: "lateness", Field: "lateness_ns", Meaning: "sent − due, of everything sent; `null` in a closed loop", Null: true,
			Of: func(t *Trial) (Times, uint64) {
				if t.Lateness == nil {
					return Times{}, 0
				}
				return *t.Lateness, 0
			}, Log: always(Lateness), Sample: ofOperations, Requires: openLoop},
		{Prefix: "watch", Field: "watch.from_due_ns", Line: "watch.from_due_ns", AtEnd: true,
			Meaning: "arrival − due of the write, of the window's events and the lost ones: those count as slower than any that came. Empty (a count of 0) with `key`",
			Of:      watched(func(w *Watched) Times { return w.FromDue }, true), Log: always(WatchDue), Sample: ofEvents, Requires: timedEvents, titles: titles},
		{Prefix: "watch-sent", Field: "watch.from_sent_ns", Meaning: "arrival − sent of the write, likewise",
			Of: watched(func(w *Watched) Times { return w.FromSent }, true), Log: always(WatchSent), Sample: ofEvents, Requires: timedEvents},
		{Prefix: "watch-creation", Field: "watch.creation_ns", Meaning: "how long it took to create each watcher, the first time",
			Of: watched(func(w *Watched) Times { return w.Creation }, false), Log: always(WatchMade), Sample: ofWatchers, Requires: watchers},
	}
}
