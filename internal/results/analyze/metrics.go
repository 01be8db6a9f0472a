package analyze

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// unit is how a metric's figure and limit are written.
type unit uint8

const (
	asTime unit = iota // nanoseconds
	asCount
	asRate
	asShare
	asBytes
	asSeconds
)

func (u unit) text(x float64) string {
	switch u {
	case asTime:
		return measure.Duration(x)
	case asRate:
		return strconv.FormatFloat(x, 'f', 1, 64) + "/s"
	case asShare:
		return measure.Percent(x)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// metric is a figure of a trial.
type metric struct {
	unit unit
	// of is the figure; its second result is why there is none.
	of func(*record.Trial) (float64, string)
	// share is the same as a share of the operations due, where there is one.
	share func(*record.Trial) (float64, string)
	// times and figure are of a distribution.
	times  func(*record.Trial) (record.Times, uint64) // and how many failed
	figure func(record.Times) measure.Figure
	hlog   func(*record.Trial) record.Time // where the distribution is recorded
	sample population
	needs  *need // what a trial must have for it; nil for nothing
}

// distributions are the times by the prefix of their percentiles' names.
func distributions() map[string]metric {
	failed := func(of func(*record.Trial) record.Times) func(*record.Trial) (record.Times, uint64) {
		return func(t *record.Trial) (record.Times, uint64) { return of(t), t.Errors }
	}
	always := func(time record.Time) func(*record.Trial) record.Time {
		return func(*record.Trial) record.Time { return time }
	}
	all := map[string]metric{
		"":         {times: failed(Headline), hlog: TimeOf},
		"response": {times: failed(func(t *record.Trial) record.Times { return t.ResponseTime }), hlog: always(record.Response)},
		"service":  {times: failed(func(t *record.Trial) record.Times { return t.ServiceTime }), hlog: always(record.Service)},
		"success": {times: func(t *record.Trial) (record.Times, uint64) { return t.SuccessResponseTime, 0 },
			hlog: always(record.Response)},
		"lateness": {needs: openLoop(), hlog: always(record.Lateness), times: func(t *record.Trial) (record.Times, uint64) {
			if t.Lateness == nil {
				return record.Times{}, 0
			}
			return *t.Lateness, 0
		}},
	}
	for prefix, m := range all {
		m.sample = ofOperations()
		all[prefix] = m
	}
	maps.Copy(all, watchDistributions())
	return all
}

// metrics are the figures of a trial by name, but for the percentiles.
func metrics() map[string]metric {
	all := map[string]metric{
		"ops":        {unit: asRate, of: func(t *record.Trial) (float64, string) { return t.PerSecond, "" }},
		"gap":        {unit: asTime, of: func(t *record.Trial) (float64, string) { return 1e9 * t.LongestGap, "" }},
		"seconds":    {unit: asSeconds, of: func(t *record.Trial) (float64, string) { return t.Seconds, "" }},
		"rss":        {unit: asBytes, of: func(t *record.Trial) (float64, string) { return float64(t.MaxRSSBytes), "" }},
		"in-flight":  {unit: asCount, of: func(t *record.Trial) (float64, string) { return t.MeanInFlight, "" }},
		"cpu-per-op": {unit: asTime, of: cpuPerOp},

		"store-cpu-per-op": {unit: asTime, of: storeCPUPerOp},
		"store-rss":        {unit: asBytes, of: storeRSS},
		"retries":          {unit: asCount, needs: transactions(), of: retries},
	}
	maps.Copy(all, watchMetrics())
	for name, of := range map[string]func(*record.Trial) uint64{
		"due":            func(t *record.Trial) uint64 { return t.Due },
		"errors":         func(t *record.Trial) uint64 { return t.Errors },
		"misses":         func(t *record.Trial) uint64 { return t.Misses },
		"stale":          func(t *record.Trial) uint64 { return t.Stale },
		"unverifiable":   func(t *record.Trial) uint64 { return t.Unverifiable },
		"conflicts":      func(t *record.Trial) uint64 { return t.Conflicts },
		"wrong-answers":  func(t *record.Trial) uint64 { return t.WrongAnswers },
		"reconnects":     func(t *record.Trial) uint64 { return t.Reconnects },
		"carried-in":     func(t *record.Trial) uint64 { return t.CarriedIn },
		"extra-requests": func(t *record.Trial) uint64 { return t.Extra },
		"term-changes":   func(t *record.Trial) uint64 { return uint64(max(t.TermChanges, 0)) },
		"lost-members":   func(t *record.Trial) uint64 { return uint64(len(t.LostMembers)) },
	} {
		all[name] = counted(of)
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		kind := o.String()
		all["errors-"+strings.ReplaceAll(kind, "_", "-")] = counted(func(t *record.Trial) uint64 { return t.ErrorsByKind[kind] })
	}
	share := all["errors"].share
	all["error-share"] = metric{unit: asShare, of: share, share: share}
	for prefix, d := range distributions() {
		for name, figure := range map[string]func(record.Times) measure.Figure{
			"min":    func(t record.Times) measure.Figure { return t.Min },
			"mean":   func(t record.Times) measure.Figure { return t.Mean },
			"stddev": func(t record.Times) measure.Figure { return t.Stddev },
			"max":    func(t record.Times) measure.Figure { return t.Max },
		} {
			if prefix != "" {
				name = prefix + "-" + name
			}
			m := d
			m.figure = figure
			all[name] = m
		}
	}
	lateness := distributions()["lateness"]
	lateness.figure = func(t record.Times) measure.Figure { return t.At(99) }
	all["lateness"] = lateness
	return all
}

func counted(of func(*record.Trial) uint64) metric {
	return metric{unit: asCount,
		of: func(t *record.Trial) (float64, string) { return float64(of(t)), "" },
		share: func(t *record.Trial) (float64, string) {
			if t.Due == 0 {
				return 0, "no operation was due"
			}
			return float64(of(t)) / float64(t.Due), ""
		},
	}
}

func retries(t *record.Trial) (float64, string) {
	if t.Retries == nil {
		return 0, "nothing is recorded of its transactions"
	}
	return float64(*t.Retries), ""
}

func cpuPerOp(t *record.Trial) (float64, string) {
	if t.CPUPerOp == nil {
		return 0, "no operation completed"
	}
	return *t.CPUPerOp, ""
}

// notWatched says why nothing is known of what the store used.
const notWatched = "what the members' processes used is not known"

func storeCPUPerOp(t *record.Trial) (float64, string) {
	if t.StoreCPUPerOp == nil {
		return 0, notWatched
	}
	return *t.StoreCPUPerOp, ""
}

func storeRSS(t *record.Trial) (float64, string) {
	if t.StoreMaxRSSBytes == nil {
		return 0, notWatched
	}
	return float64(*t.StoreMaxRSSBytes), ""
}

// check holds one trial to the threshold.
func (t *Threshold) check(trial *record.Trial, dir string) (m Missed, ok bool, err error) {
	if !Measured(trial) {
		m.Why = "the trial has no result"
		if trial.Failure != "" {
			m.Why += ": " + trial.Failure
		}
		return m, false, nil
	}
	x, why, unit, err := t.value(trial, dir)
	if err != nil || why != "" {
		m.Why = why
		return m, false, err
	}
	m.Figure = unit.text(x)
	if trial.Verdict.State == verdict.Invalid {
		m.Why = "the result is invalid"
		if len(trial.Verdict.Reasons) > 0 {
			m.Why += ": " + trial.Verdict.Reasons[0].Text
		}
		return m, false, nil
	}
	return m, t.holds(x), nil
}

// value is the trial's figure, or why there is none.
func (t *Threshold) value(trial *record.Trial, dir string) (x float64, why string, u unit, err error) {
	switch {
	case t.metric.times == nil && t.Share && t.metric.share != nil:
		x, why = t.metric.share(trial)
		return x, why, asShare, nil
	case t.metric.times == nil:
		x, why = t.metric.of(trial)
		return x, why, t.metric.unit, nil
	}
	times, failed := t.metric.times(trial)
	f, count := measure.Figure{}, times.Count
	switch {
	case t.metric.figure != nil:
		f = t.metric.figure(times)
	default:
		f, count, err = t.percentile(trial, dir, times, failed)
	}
	switch {
	case err != nil:
		return 0, "", asTime, err
	case count == 0:
		return 0, t.metric.sample.none, asTime, nil
	case !f.Known:
		return 0, t.metric.sample.unknown(f, count), asTime, nil
	}
	return f.NS, "", asTime, nil
}

// percentile takes those that the trial's result lacks from its histograms.
func (t *Threshold) percentile(trial *record.Trial, dir string, times record.Times, failed uint64) (measure.Figure, uint64, error) {
	for _, p := range measure.Percentiles {
		if p == t.p {
			return times.At(p), times.Count, nil
		}
	}
	whole := measure.NewHistogram()
	of := t.metric.hlog(trial)
	keep := func(tag record.Tag) bool { return counts(tag, of) }
	err := record.EachInterval(dir, trial.Folder, keep, func(i record.Interval) error {
		whole = measure.Add(whole, i.Histogram)
		return nil
	})
	if err != nil {
		return measure.Figure{}, 0, err
	}
	if got := uint64(whole.TotalCount()) + failed; got != times.Count {
		return measure.Figure{}, 0, fmt.Errorf("the histograms of %s hold %d %s and its result %d, so %s cannot be told", trial.Folder, got, t.metric.sample.many, times.Count, t.Metric)
	}
	return measure.Percentile(whole, failed, t.p), times.Count, nil
}
