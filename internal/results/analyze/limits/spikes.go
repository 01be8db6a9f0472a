package limits

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Spike is a period of one or more seconds in which a trial was far slower than usual, with the
// events that happened at each member during the period.
type Spike struct {
	From    float64 // in seconds from the start of the window
	Seconds int
	// Percentile is the name of the compared figure: p99, or max if one-second intervals have too
	// few operations for a p99. Usual is the median of this figure over the window's one-second
	// intervals. Worst is the highest value in the spike. Both are response times.
	Percentile   string
	Usual, Worst measure.Figure
	Errors       uint64
	// LowestRate is the throughput of the slowest one-second interval in the spike. It does not
	// include intervals shorter than MinIntervalSeconds, and is infinite if all are shorter.
	// UsualRate is the throughput of the median interval.
	LowestRate, UsualRate float64
	// Coincided contains a sentence for each kind of event at each member. It is empty if no
	// recorded event coincides with the spike. OtherCoincidences is the number of events that are
	// not listed.
	Coincided         []Coincidence
	OtherCoincidences int
}

// Coincidence is a recorded event at a member or a machine during a spike.
type Coincidence struct {
	Member string // empty if the event does not concern a member
	Leader bool   // set if the member was the leader at that time
	Text   string
}

// maxSpikes is the maximum number of spikes per trial that are explained.
const maxSpikes = 5

// stalled is a share of the median interval's throughput. A one-second interval with a lower
// throughput is a spike even if its operations were fast.
const stalled = 0.25

// Spikes returns the worst periods in a trial's window, in order of time. Adjacent seconds are
// combined into one spike. The caller must have read the trial's files (figures.ReadTrialFiles).
func Spikes(t *record.Trial) []Spike {
	if !CanFindSpikes(t) {
		return nil
	}
	rows := samples.MeasuredRows(t)
	j := newSpikeJudge(t, rows)
	var found []Spike
	for i := 0; i < len(rows); i++ {
		if !j.bad(rows[i]) {
			continue
		}
		first := i
		for i+1 < len(rows) && j.bad(rows[i+1]) && rows[i+1].Second == rows[i].Second+1 {
			i++
		}
		found = append(found, j.spike(rows[first:i+1]))
	}
	slices.SortStableFunc(found, func(a, b Spike) int {
		known := func(s Spike) int {
			if s.Worst.Known {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(known(a), known(b)), cmp.Compare(b.Worst.NS, a.Worst.NS), cmp.Compare(b.Errors, a.Errors))
	})
	found = found[:min(len(found), maxSpikes)]
	slices.SortFunc(found, func(a, b Spike) int { return cmp.Compare(a.From, b.From) })
	events, members := analyze.DropPolledElections(analyze.CombineSnapshotEvents(t.Events)), reportsOf(t)
	for i := range found {
		found[i].findCoincidences(t, events, members)
	}
	return found
}

// CanFindSpikes reports whether a trial is long enough (three seconds) to find spikes.
func CanFindSpikes(t *record.Trial) bool { return len(samples.MeasuredRows(t)) >= 3 && t.Opened != nil }

// spikeJudge holds the usual time and throughput of a trial, and decides which one-second intervals
// are spikes.
type spikeJudge struct {
	t          *record.Trial
	percentile string
	usual      float64
	rate       float64
}

func newSpikeJudge(t *record.Trial, rows []*record.Row) *spikeJudge {
	j := &spikeJudge{t: t, percentile: "p99"}
	known := 0
	for _, r := range rows {
		if r.P99.Known {
			known++
		}
	}
	if 2*known < len(rows) {
		j.percentile = "max"
	}
	var times, rates []float64
	for _, r := range rows {
		if f := j.figure(r); f.Known {
			times = append(times, f.NS)
		}
		rates = append(rates, float64(r.Done))
	}
	j.usual, j.rate = stat.UpperMedian(times), stat.UpperMedian(rates)
	return j
}

// figure returns the time that is compared for a one-second interval: its p99 or its maximum.
func (j *spikeJudge) figure(r *record.Row) measure.Figure {
	if j.percentile == "max" {
		return r.Max
	}
	return r.P99
}

// bad reports whether a one-second interval is part of a spike.
func (j *spikeJudge) bad(r *record.Row) bool {
	f := j.figure(r)
	cutShort := float64(r.Second+1) > j.t.Seconds // the window ended within this second
	return f.Known && j.usual > 0 && f.NS >= analyze.SpikeFactor*j.usual || !f.Known && r.Errors > 0 ||
		!cutShort && float64(r.Done) < stalled*j.rate
}

func (j *spikeJudge) spike(rows []*record.Row) Spike {
	s := Spike{From: rows[0].Time.Sub(*j.t.Opened).Seconds(), Seconds: len(rows), Percentile: j.percentile,
		Usual: measure.Figure{NS: j.usual, Known: j.usual > 0}, UsualRate: j.rate, LowestRate: math.Inf(1)}
	for i, r := range rows {
		f := j.figure(r)
		if !f.Known && r.Errors > 0 {
			f.Failed = true
		}
		if i == 0 || f.Failed || !s.Worst.Failed && f.NS > s.Worst.NS {
			s.Worst = f
		}
		s.Errors += r.Errors
		if length := min(1, j.t.Seconds-float64(r.Second)); length >= samples.MinIntervalSeconds {
			s.LowestRate = min(s.LowestRate, float64(r.Done)/length)
		}
	}
	return s
}

// lookBackTime is the length of the time before a spike in which events are also taken into
// account. A pause that ended before the spike may have left a backlog.
const lookBackTime = time.Second

// findCoincidences finds the events that coincide with the spike. Operations that became due in the
// spike may have waited beyond its end, so the searched span includes the longest wait.
func (s *Spike) findCoincidences(t *record.Trial, events []record.Event, members []reports) {
	from := samples.TimeInWindow(t, s.From)
	wait := time.Duration(s.Worst.NS)
	if !s.Worst.Known {
		wait = time.Second
	}
	in := samples.Span{From: from.Add(-lookBackTime), To: from.Add(time.Duration(s.Seconds)*time.Second + min(wait, time.Minute))}
	leader := leaderAt(t, in.To)
	add := func(member, text string) {
		s.Coincided = append(s.Coincided, Coincidence{member, member != "" && member == leader, text})
	}
	if found := analyze.StretchWithEvents(t, events, in, analyze.Stretch{}); found != nil {
		for i := range found.Events {
			e := &found.Events[i]
			add(e.Longest.Member, eventWithTime(e, *t.Opened))
		}
		s.OtherCoincidences = found.OmittedEvents
	}
	in.From = from
	least := minUnusual
	if s.Worst.Known { // a cause must explain at least a quarter of the additional time
		least = max(least, time.Duration((s.Worst.NS-s.Usual.NS)/4))
	}
	memberSigns(members, in, least, add)
	machineSigns(t, in, add)
}

// eventWithTime describes an event, with its time since the start of the window.
func eventWithTime(e *analyze.Events, opened time.Time) string {
	words := analyze.BriefText(e.Longest)
	if e.Longest.Line != "" {
		words = e.Kind.Predicate()
		if e.Occurrences > 1 {
			words += " " + text.Plural(e.Occurrences, "time")
		}
		if e.Longest.Duration > 0 {
			words += " (" + durationText(e.Longest.Duration) + ")"
		}
	}
	return words + " at " + text.FixedSeconds(e.Longest.Time.Sub(opened).Seconds(), 1)
}

// leaderAt returns the name of the member that had most recently become leader at the given time,
// as far as known.
func leaderAt(t *record.Trial, at time.Time) (name string) {
	var since time.Time
	for _, r := range t.Roles {
		if r.Role == kv.Leader.String() && !r.Since.After(at) && !r.Since.Before(since) {
			name, since = r.Name, r.Since
		}
	}
	return name
}

// reports holds the data that one member reported. The field `rows` contains the member's rows in
// stores.csv, and `withResponse` contains those rows that have metrics. The field `usual` contains,
// for each timer, the median of the timer's means between consecutive rows in `withResponse`.
type reports struct {
	name               string
	rows, withResponse []*record.StoreRow
	usual              map[store.Metric]float64
}

// reportsOf returns the reports of each member in a trial.
func reportsOf(t *record.Trial) (all []reports) {
	for _, name := range storeNames(t) {
		m := reports{name: name, usual: map[store.Metric]float64{}}
		means := map[store.Metric][]float64{}
		for i := range t.Stores {
			r := &t.Stores[i]
			if r.Name != name {
				continue
			}
			m.rows = append(m.rows, r)
			if r.Metrics == nil || r.Failure != "" {
				continue
			}
			if n := len(m.withResponse); n > 0 {
				for _, timer := range diskTimers {
					if mean, ok := samples.MetricIncrease(timer.metric, r, m.withResponse[n-1]).Mean(); ok {
						means[timer.metric] = append(means[timer.metric], mean)
					}
				}
			}
			m.withResponse = append(m.withResponse, r)
		}
		for metric, list := range means {
			m.usual[metric] = stat.UpperMedian(list)
		}
		all = append(all, m)
	}
	return all
}

// memberSigns adds the unusual values that members reported in a span of time. Timer values below
// `minTime` are ignored.
func memberSigns(members []reports, span samples.Span, minTime time.Duration, add func(member, words string)) {
	for i := range members {
		m := &members[i]
		unanswered, slowest := 0, time.Duration(0)
		for _, r := range m.rows {
			if !(samples.Span{From: r.Time.Add(-r.ResponseTime), To: r.Time}).Overlaps(span) {
				continue
			}
			if slowest = max(slowest, r.ResponseTime); r.Failure != "" {
				unanswered++
			}
		}
		switch {
		case unanswered > 0:
			add(m.name, fmt.Sprintf("did not respond to %s", text.Plural(uint64(unanswered), "status request")))
		case slowest >= limitSlowResponse:
			add(m.name, "took "+durationText(slowest)+" for a status request")
		}
		var inside []store.Sample
		for i := 1; i < len(m.withResponse); i++ {
			if last, r := m.withResponse[i-1], m.withResponse[i]; (samples.Span{From: last.Time, To: r.Time}).Overlaps(span) {
				inside = append(inside, r.Metrics.Since(last.Metrics))
			}
		}
		var slow []string
		for _, timer := range diskTimers {
			if words := timerSign(timer.name, m.usual[timer.metric], minTime, timer.metric, inside); words != "" {
				slow = append(slow, words)
			}
		}
		if len(slow) > 0 {
			add(m.name, "reported "+strings.Join(slow, " and "))
		}
	}
}

// timerSign describes the longest time or the mean of a member's timer, if it was unusual.
// Otherwise it returns an empty string.
func timerSign(name string, usual float64, minTime time.Duration, metric store.Metric, increases []store.Sample) string {
	mean, lower, upper := 0.0, 0.0, 0.0
	for _, sample := range increases {
		if m, ok := sample[metric].Mean(); ok {
			mean = max(mean, m)
		}
		if low, up, ok := sample[metric].Longest(); ok && low > lower {
			lower, upper = low, up
		}
	}
	switch {
	case measure.ToDuration(lower) >= minTime && lower >= unusualFactor*unusualFactor*usual:
		return fmt.Sprintf("one %s of %s to %s (usually %s)", name, durationText(measure.ToDuration(lower)), durationText(measure.ToDuration(upper)), durationText(measure.ToDuration(usual)))
	case measure.ToDuration(mean) >= minTime && mean >= unusualFactor*usual:
		return fmt.Sprintf("a mean %s of %s (usually %s)", name, durationText(measure.ToDuration(mean)), durationText(measure.ToDuration(usual)))
	}
	return ""
}

// storeNames returns the sorted names of the members in stores.csv.
func storeNames(t *record.Trial) (names []string) {
	for i := range t.Stores {
		if n := t.Stores[i].Name; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}
