package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Distribution is a distribution of times of a trial.
type Distribution struct {
	Prefix  string // prefix of the names of its figures, such as response in response-p99
	Field   string // name in the trial's JSON object; empty for the headline time, which is the response time or the service time
	Meaning string
	Null    bool // the field is null in trials that do not have the distribution
	// Of returns the times and the number of failures.
	Of func(*Trial) (times Times, failed uint64)
	// Log returns the name under which latency.hlog has the times.
	Log      func(*Trial) Time
	Sample   Population
	Requires *Requirement
	titles   []string // names of the figures that have a column in tables
	Line     string   // see Figure.Line
	AtEnd    bool
}

// Population holds the words that messages use for the samples of a distribution.
type Population struct {
	Many   string // such as "operations"
	None   string // why there is no figure if there are no samples
	failed string // which sample counts as slower than all others; empty if none can fail
	few    string // format of the phrase for too few samples beyond a percentile; "" for the default
}

// Unknown returns why a figure from count samples is not known.
func (p Population) Unknown(v Value, count uint64) string {
	switch {
	case count == 0:
		return p.None
	case v.Failed:
		return "the figure falls on " + p.failed
	}
	return fmt.Sprintf("%d %s are too few for this percentile: %s beyond it", count, p.Many, fmt.Sprintf(cmp.Or(p.few, "fewer than %d lie"), measure.MinBeyond))
}

var (
	ofOperations = Population{Many: "operations", None: "no operation was due", failed: "a failed operation, which counts as slower than every success"}
	ofEvents     = Population{Many: "events", None: "no event arrived", failed: "a lost event, which counts as slower than every event that arrived", few: "the events of fewer than %d writes lie"}
	ofWatchers   = Population{Many: "watchers", None: "no watcher was created"}
)

// points returns the figures in the distribution's summary, in order.
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

// DistributionFigures returns the figures of the distribution that has the prefix.
func DistributionFigures(prefix string) []Figure {
	all := distributions()
	return all[slices.IndexFunc(all, func(d *Distribution) bool { return d.Prefix == prefix })].points()
}

// percentile returns the figure for any percentile, including percentiles that the result does not
// contain.
func (d *Distribution) percentile(name string, p float64) Figure {
	return Figure{Name: name, Unit: measure.Nanoseconds, Better: Less, Times: d, Percentile: p, Requires: d.Requires}
}

// distributions returns all distributions of a trial.
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
		{Prefix: "response", Field: "response_time_ns", Line: "response_time_ns", Meaning: "time from due to done, of every operation due",
			Of: failed(func(t *Trial) Times { return t.ResponseTime }), Log: always(Response), Sample: ofOperations},
		{Prefix: "success", Field: "success_response_time_ns", Meaning: "time from due to done, of the completed operations",
			Of: func(t *Trial) (Times, uint64) { return t.SuccessResponseTime, 0 }, Log: always(Response), Sample: ofOperations},
		{Prefix: "service", Field: "service_time_ns", Line: "service_time_ns", Meaning: "time from sent to done, of every operation due",
			Of: failed(func(t *Trial) Times { return t.ServiceTime }), Log: always(Service), Sample: ofOperations},
		{Prefix: "lateness", Field: "lateness_ns", Meaning: "time from due to sent, of every operation sent; `null` in a closed loop", Null: true,
			Of: func(t *Trial) (Times, uint64) {
				if t.Lateness == nil {
					return Times{}, 0
				}
				return *t.Lateness, 0
			}, Log: always(Lateness), Sample: ofOperations, Requires: openLoop},
		{Prefix: "watch", Field: "watch.from_due_ns", Line: "watch.from_due_ns", AtEnd: true,
			Meaning: "time from when the write was due until its event arrived, for writes due in the window. A lost event counts as slower than every event that arrived. Empty (`count` is 0) with `key`",
			Of:      watched(func(w *Watched) Times { return w.FromDue }, true), Log: always(WatchDue), Sample: ofEvents, Requires: timedEvents, titles: titles},
		{Prefix: "watch-sent", Field: "watch.from_sent_ns", Meaning: "time from when the write was sent until its event arrived, for the same events",
			Of: watched(func(w *Watched) Times { return w.FromSent }, true), Log: always(WatchSent), Sample: ofEvents, Requires: timedEvents},
		{Prefix: "watch-creation", Field: "watch.creation_ns", Meaning: "time to create a watcher; re-creations after a lost connection do not count",
			Of: watched(func(w *Watched) Times { return w.Creation }, false), Log: always(WatchMade), Sample: ofWatchers, Requires: watchers},
	}
}
