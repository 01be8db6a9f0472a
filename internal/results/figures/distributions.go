package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Distribution describes one of the distributions of times in a trial.
type Distribution struct {
	Prefix  string // prefix in the names of the distribution's figures, such as "response" in response-p99
	Field   string // key in the trial's JSON object; empty for the headline time, which is either the response time or the service time
	Meaning string
	// Extract returns the distribution in a trial, and the number of failures.
	Extract func(*record.Trial) (times record.Times, failed uint64)
	// Log returns the name of the distribution's times in latency.hlog.
	Log         func(*record.Trial) record.Time
	Samples     SampleWords
	Requires    *Requirement
	titles      []string // names of the figures that tables show in a column
	IntervalKey string   // see Figure.IntervalKey
	AtEnd       bool
}

// SampleWords holds the words that messages use for the samples of a distribution.
type SampleWords struct {
	Plural       string // such as "operations"
	noneReason   string // reason for a missing figure if there are no samples
	failedText   string // description of the failed sample that counts as slower than all others; empty if samples cannot fail
	tooFewFormat string // format of the phrase which states that too few samples are beyond a percentile; "" for the default
}

// UnknownReason returns the reason why the figure v is not known. The parameter `count` is the
// number of samples.
func (w SampleWords) UnknownReason(v Value, count uint64) string {
	switch {
	case count == 0:
		return w.noneReason
	case v.Failed:
		return "the figure depends on " + w.failedText
	}
	return fmt.Sprintf("%d %s are too few for this percentile: %s beyond it", count, w.Plural, fmt.Sprintf(cmp.Or(w.tooFewFormat, "fewer than %d are"), measure.MinBeyond))
}

var (
	operationSamples = SampleWords{Plural: "operations", noneReason: "no operation was due", failedText: "a failed operation, which counts as slower than every success"}
	eventSamples     = SampleWords{Plural: "events", noneReason: "no event arrived", failedText: "a lost event, which counts as slower than every event that arrived", tooFewFormat: "the events of fewer than %d writes are"}
	watcherSamples   = SampleWords{Plural: "watchers", noneReason: "no watcher was created"}
)

// points returns one figure for each statistic in the distribution's summary, in the order of the
// summary.
func (d *Distribution) points() []Figure {
	var all []Figure
	for i, named := range (&record.Times{}).Statistics() {
		f := Figure{Name: named.Name, Unit: measure.Nanoseconds, Direction: LowerIsBetter, Times: d, Requires: d.Requires,
			point: func(t record.Times) measure.Figure { return *t.Statistics()[i].Figure }}
		if d.Prefix != "" {
			f.Name = d.Prefix + "-" + named.Name
		}
		if d.Field != "" {
			f.Column = strings.ReplaceAll(strings.TrimSuffix(d.Field, "_ns"), ".", "_") + "_" + named.Key() + "_ns"
		}
		if slices.Contains(d.titles, named.Name) {
			f.Title = named.Name
		}
		all = append(all, f)
	}
	return all
}

// DistributionFigures returns the figures of the distribution with the given prefix.
func DistributionFigures(prefix string) []Figure {
	all := distributions()
	return all[slices.IndexFunc(all, func(d *Distribution) bool { return d.Prefix == prefix })].points()
}

// percentile returns the figure for the percentile p, which need not be in the trial's result.
func (d *Distribution) percentile(name string, p float64) Figure {
	return Figure{Name: name, Unit: measure.Nanoseconds, Direction: LowerIsBetter, Times: d, Percentile: p, Requires: d.Requires}
}

// distributions returns all distributions of a trial.
func distributions() []*Distribution {
	always := func(time record.Time) func(*record.Trial) record.Time {
		return func(*record.Trial) record.Time { return time }
	}
	failed := func(times func(*record.Trial) record.Times) func(*record.Trial) (record.Times, uint64) {
		return func(t *record.Trial) (record.Times, uint64) { return times(t), t.Errors }
	}
	watched := func(times func(*record.Watched) record.Times, lost bool) func(*record.Trial) (record.Times, uint64) {
		return func(t *record.Trial) (record.Times, uint64) {
			switch {
			case t.Watch == nil:
				return record.Times{}, 0
			case lost:
				return times(t.Watch), t.Watch.Lost
			}
			return times(t.Watch), 0
		}
	}
	titles := []string{"p50", "p90", "p99", "p99.9", "max"}
	return []*Distribution{
		{Prefix: "", Extract: failed((*record.Trial).Headline), Log: (*record.Trial).HeadlineTime, Samples: operationSamples, titles: append([]string{"mean"}, titles...)},
		{Prefix: "response", Field: "response_time_ns", IntervalKey: "response_time_ns", Meaning: "time from when an operation was due until it was done, over all operations due",
			Extract: failed(func(t *record.Trial) record.Times { return t.ResponseTime }), Log: always(record.Response), Samples: operationSamples},
		{Prefix: "success", Field: "success_response_time_ns", Meaning: "time from when an operation was due until it was done, over the completed operations",
			Extract: func(t *record.Trial) (record.Times, uint64) { return t.SuccessResponseTime, 0 }, Log: always(record.Response), Samples: operationSamples},
		{Prefix: "service", Field: "service_time_ns", IntervalKey: "service_time_ns", Meaning: "time from when an operation was sent until it was done, over all operations due",
			Extract: failed(func(t *record.Trial) record.Times { return t.ServiceTime }), Log: always(record.Service), Samples: operationSamples},
		{Prefix: "lateness", Field: "lateness_ns", Meaning: "time from when an operation was due until it was sent, over all operations sent; `null` in a closed loop",
			Extract: func(t *record.Trial) (record.Times, uint64) {
				if t.Lateness == nil {
					return record.Times{}, 0
				}
				return *t.Lateness, 0
			}, Log: always(record.Lateness), Samples: operationSamples, Requires: openLoop},
		{Prefix: "watch", Field: "watch.from_due_ns", IntervalKey: "watch.from_due_ns", AtEnd: true,
			Meaning: "time from when a write was due until its event arrived, for writes due in the window. A lost event counts as slower than every event that arrived. If the watch parameter `key` is set, the distribution is empty (`count` is 0)",
			Extract: watched(func(w *record.Watched) record.Times { return w.FromDue }, true), Log: always(record.WatchDue), Samples: eventSamples, Requires: timedEvents, titles: titles},
		{Prefix: "watch-sent", Field: "watch.from_sent_ns", Meaning: "time from when a write was sent until its event arrived, for the same events as `watch.from_due_ns`",
			Extract: watched(func(w *record.Watched) record.Times { return w.FromSent }, true), Log: always(record.WatchSent), Samples: eventSamples, Requires: timedEvents},
		{Prefix: "watch-creation", Field: "watch.creation_ns", Meaning: "time to create a watcher; re-creations after a lost connection do not count",
			Extract: watched(func(w *record.Watched) record.Times { return w.Creation }, false), Log: always(record.WatchCreation), Samples: watcherSamples, Requires: watchers},
	}
}
