package analyze

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// ClassicSection is a section in the summary that etcd's benchmark prints. Heading is its heading.
// Label is the suffix that perfdash appends to the command's name.
type ClassicSection struct{ Heading, Label string }

// ClassicSections holds the sections for a load with watchers: its operations, the creation of its
// watchers, and its watch events. A nil section is omitted. If all sections are nil, the summary
// shows the operations without a heading.
type ClassicSections struct{ Operations, Created, Events *ClassicSection }

// ClassicPart is one summary. It covers the reads of a trial, the writes of a trial, the creation
// of its watchers, or its watch events. The times are response times in an open loop, and service
// times in a closed loop.
type ClassicPart struct {
	Name       string // "Read", "Write", or the section's label
	Heading    string // the section's heading
	Operations uint64 // number of successes and failures
	// Times describes the times of the successes. It is nil if there were no successes.
	Times *ClassicTimes
	// Percentiles over all operations, except the percentiles for which the sample is too small
	Percentiles []ClassicPercentile
	Errors      []ClassicError // in the order of the error kinds
	Lost        uint64         // number of lost watch events
	Seconds     []ClassicSecond

	length         float64 // length of the window in seconds
	times          *measure.Histogram
	failed         uint64
	eventsPerWrite uint64 // events per write; 0 if the summary is about operations
}

// ClassicTimes describes the times of the successes in seconds.
type ClassicTimes struct {
	Total                             float64 // the length of the window
	Slowest, Fastest, Average, Stddev float64
	PerSecond                         float64
	Bins                              []ClassicBin
}

// ClassicBin is a bar in the histogram. The bin contains the measured times above the previous
// bin's UpperBound and at most UpperBound, in seconds. Count is the number of these times. Bar is
// the length of the bar in characters, at most ClassicBar.
type ClassicBin struct {
	UpperBound float64
	Count      int64
	Bar        int
}

// ClassicBar is the length of the longest bar in characters. classicSteps is the number of bins
// after the first one.
const (
	ClassicBar   = 40
	classicSteps = 10
)

// ClassicPercentile is a percentile in seconds. Failed is set if the operation at the percentile's
// rank failed.
type ClassicPercentile struct {
	Percentile, Seconds float64
	Failed              bool
}

// Milliseconds returns a percentile in milliseconds. It returns nil if the operation at the
// percentile's rank failed, or if the sample is too small for the percentile.
func (p *ClassicPart) Milliseconds(percentile float64) *float64 {
	f := p.percentiles(percentile)[0]
	if !f.Known {
		return nil
	}
	return new(f.NS / 1e6)
}

// percentiles returns percentiles over all successes and failures.
func (p *ClassicPart) percentiles(at ...float64) []measure.Figure {
	count := uint64(p.times.TotalCount()) + p.failed
	return measure.DropUnsupported(measure.PercentilesOf(p.times, p.failed, at...), count, max(p.eventsPerWrite, 1), at...)
}

// ClassicError holds the text of one kind of error and the number of these errors.
type ClassicError struct {
	Count uint64
	Text  string
}

// ClassicSecond is a one-second interval of the window. Known is false if no operation that became
// due in the interval succeeded; then there are no latencies.
type ClassicSecond struct {
	Unix                 int64
	Known                bool
	MinMS, MeanMS, MaxMS float64
	Done                 uint64

	start time.Time
	times *measure.Histogram // the successes that became due in the interval
}

// ClassicParts returns a trial's summaries. If `s` has no sections, ClassicParts summarizes only
// the operations. Otherwise it returns the summaries of each section. The operations have two
// summaries if the load both reads and writes.
func ClassicParts(t *record.Trial, files *record.Files, s ClassicSections) []ClassicPart {
	if s == (ClassicSections{}) {
		return operationParts(t, files)
	}
	var all []ClassicPart
	headed := func(s *ClassicSection, p ClassicPart) {
		p.Name, p.Heading = s.Label, s.Heading
		all = append(all, p)
	}
	if s.Created != nil && t.Watch != nil {
		headed(s.Created, watcherPart(t, files, record.WatchCreation, t.Watch.CreationSeconds, 0))
	}
	if s.Operations != nil {
		for _, p := range operationParts(t, files) {
			headed(s.Operations, p)
		}
	}
	if s.Events != nil && t.Watch != nil {
		time := record.WatchSent
		if t.Open() {
			time = record.WatchDue
		}
		headed(s.Events, watcherPart(t, files, time, t.Seconds, t.Watch.Lost))
	}
	return all
}

// watcherPart returns the summary of the watch events in the window, or the summary of the creation
// of all watchers. The second summary includes the time before the window, because watchers may
// have been created then.
func watcherPart(t *record.Trial, files *record.Files, time record.Time, seconds float64, lost uint64) ClassicPart {
	p := ClassicPart{length: seconds, times: measure.NewHistogram(), Lost: lost, failed: lost}
	if time != record.WatchCreation {
		p.eventsPerWrite = t.EventsPerWrite()
	}
	for _, in := range files.Intervals {
		if in.Time == time && (in.Phase == measure.Measured || time == record.WatchCreation) {
			p.add(in)
		}
	}
	p.describe(t, nil)
	return p
}

// operationParts returns one summary for the reads in the measurement window and one for the
// writes. A summary without operations is omitted.
func operationParts(t *record.Trial, files *record.Files) []ClassicPart {
	parts := []ClassicPart{{Name: "Read"}, {Name: "Write"}}
	errors := make([][kv.NumOutcomes]uint64, len(parts))
	for i := range parts {
		parts[i].length, parts[i].times = t.Seconds, measure.NewHistogram()
	}
	for _, in := range files.Intervals {
		if in.Phase != measure.Measured {
			continue
		}
		which := 0
		if in.Kind.Writes() {
			which = 1
		}
		switch in.Time {
		case t.HeadlineTime():
			parts[which].add(in)
		case record.ErrorTime:
			errors[which][in.Error] += uint64(in.Total())
		}
	}
	for i := range parts {
		for o := kv.NotSent; o < kv.NumOutcomes; o++ {
			if n := errors[i][o]; n > 0 {
				parts[i].failed += n
				parts[i].Errors = append(parts[i].Errors, ClassicError{n, cmp.Or(t.ErrorTexts[o.String()], o.String())})
			}
		}
	}
	parts = slices.DeleteFunc(parts, func(p ClassicPart) bool { return p.times.TotalCount() == 0 && p.failed == 0 })
	for i := range parts {
		if len(parts) == 1 {
			parts[i].describe(t, files.Timeline)
		} else {
			parts[i].describe(t, nil)
		}
	}
	return parts
}

// add adds the histogram of an interval to the summary and to the matching entry in Seconds.
func (p *ClassicPart) add(interval record.Interval) {
	p.times = interval.AddTo(p.times)
	s := p.findSecond(interval.Start, func(s ClassicSecond) bool { return s.start.Equal(interval.Start) })
	if s.times == nil {
		s.times = measure.NewHistogram()
	}
	s.times = interval.AddTo(s.times)
	s.Done += uint64(interval.Total())
}

// findSecond returns the first entry in Seconds that meets a condition. If there is none, it adds a
// new entry.
func (p *ClassicPart) findSecond(start time.Time, matches func(ClassicSecond) bool) *ClassicSecond {
	i := slices.IndexFunc(p.Seconds, matches)
	if i < 0 {
		i = len(p.Seconds)
		p.Seconds = append(p.Seconds, ClassicSecond{start: start})
	}
	return &p.Seconds[i]
}

// describe computes the figures from the added histograms. If the trial has only one summary, the
// caller also passes the timeline. The timeline contains the seconds without a success, and the
// number of operations that were done in each second.
func (p *ClassicPart) describe(t *record.Trial, timeline []record.Row) {
	h := p.times
	p.Operations = uint64(h.TotalCount()) + p.failed
	if h.TotalCount() > 0 && p.length > 0 {
		p.Times = &ClassicTimes{
			Total: p.length, Slowest: float64(h.Max()) / 1e9, Fastest: float64(h.Min()) / 1e9, Average: h.Mean() / 1e9, Stddev: h.StdDev() / 1e9,
			PerSecond: float64(h.TotalCount()) / p.length, Bins: classicBins(h),
		}
	}
	for i, f := range p.percentiles(measure.Percentiles...) {
		if f.Known || f.Failed {
			p.Percentiles = append(p.Percentiles, ClassicPercentile{measure.Percentiles[i], f.NS / 1e9, f.Failed})
		}
	}
	for _, row := range timeline {
		if row.Phase == measure.Measured.String() {
			p.findSecond(row.Time, func(s ClassicSecond) bool { return inSameSecond(s.start, row.Time) }).Done = row.Done
		}
	}
	slices.SortFunc(p.Seconds, func(a, b ClassicSecond) int { return a.start.Compare(b.start) })
	for i := range p.Seconds {
		s := &p.Seconds[i]
		s.Unix = s.start.Unix()
		if measure.Count(s.times) > 0 {
			s.Known, s.MinMS, s.MeanMS, s.MaxMS = true, float64(s.times.Min())/1e6, s.times.Mean()/1e6, float64(s.times.Max())/1e6
		}
		s.times = nil
	}
}

// inSameSecond reports whether two start times belong to the same one-second interval. One of them
// may be rounded to milliseconds.
func inSameSecond(a, b time.Time) bool { return a.Sub(b).Abs() < 2*time.Millisecond }

// classicBins divides the measured times into bins. The upper bound of the first bin is the fastest
// time, and the upper bound of the last bin is the slowest time.
func classicBins(h *measure.Histogram) []ClassicBin {
	fastest, slowest := float64(h.Min()), float64(h.Max())
	bins := make([]ClassicBin, classicSteps+1)
	bounds := make([]float64, len(bins))
	for i := range bins {
		bounds[i] = fastest + (slowest-fastest)*float64(i)/classicSteps
	}
	bounds[classicSteps] = slowest
	at, most := 0, int64(1)
	for _, bar := range h.Distribution() { // in ascending order of time
		for at < classicSteps && float64(bar.From) > bounds[at] {
			at++
		}
		bins[at].Count += bar.Count
		most = max(most, bins[at].Count)
	}
	for i := range bins {
		bins[i].UpperBound, bins[i].Bar = bounds[i]/1e9, int(bins[i].Count*ClassicBar/most)
	}
	return bins
}
