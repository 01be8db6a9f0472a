package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// classicPart is what one classic summary is of: a trial's operations, or its
// reads or writes alone.
type classicPart struct {
	name    string // Read or Write, or the section's
	heading string // of a section
	seconds float64
	times   *measure.Histogram // of successes
	errors  [kv.NumOutcomes]uint64
	texts   [kv.NumOutcomes]string
	lost    uint64 // watch events
	samples []classicSecond
}

// classicSecond is one second of the window.
type classicSecond struct {
	start time.Time
	times *measure.Histogram // of what was due in it and succeeded
	done  uint64             // successes
}

func (p *classicPart) failed() (n uint64) {
	for _, errors := range p.errors {
		n += errors
	}
	return n + p.lost
}

func (p *classicPart) operations() uint64 { return uint64(p.times.TotalCount()) + p.failed() }

// parts are the summary's: the sections, or the operations.
func (c Classic) parts(t *record.Trial, files *record.Files) []classicPart {
	if c.Operations == nil && c.Created == nil && c.Events == nil {
		return classicParts(t, files)
	}
	var all []classicPart
	headed := func(s *Section, p classicPart) {
		p.name, p.heading = s.Label, s.Heading
		all = append(all, p)
	}
	if c.Created != nil && t.Watch != nil {
		p := classicWatch(t, files, record.WatchMade)
		p.seconds = t.Watch.CreationSeconds
		headed(c.Created, p)
	}
	if c.Operations != nil {
		for _, p := range classicParts(t, files) {
			headed(c.Operations, p)
		}
	}
	if c.Events != nil && t.Watch != nil {
		time := record.WatchSent
		if t.Open() {
			time = record.WatchDue
		}
		p := classicWatch(t, files, time)
		p.lost = t.Watch.Lost
		headed(c.Events, p)
	}
	return all
}

// classicWatch is a part of one of the times of watching. Events are of the
// window; a watcher may have been created before it.
func classicWatch(t *record.Trial, files *record.Files, time record.Time) classicPart {
	p := newClassicPart("", t)
	for _, in := range files.Intervals {
		if in.Time == time && (in.Phase == measure.Measured || time == record.WatchMade) {
			p.times = measure.Add(p.times, in.Histogram)
			p.sample(in)
		}
	}
	p.complete(nil, false)
	return p
}

// classicParts divides the measured window: reads come before writes, and one
// part has no name.
func classicParts(t *record.Trial, files *record.Files) []classicPart {
	headline := record.Service
	if t.Open() {
		headline = record.Response
	}
	parts := []classicPart{newClassicPart("Read", t), newClassicPart("Write", t)}
	for _, in := range files.Intervals {
		if in.Phase != measure.Measured {
			continue
		}
		p := &parts[0]
		if in.Kind.Writes() {
			p = &parts[1]
		}
		switch in.Time {
		case headline:
			p.times = measure.Add(p.times, in.Histogram)
			p.sample(in)
		case record.ErrorTime:
			p.errors[in.Error] += uint64(in.Histogram.TotalCount())
		}
	}
	parts = slices.DeleteFunc(parts, func(p classicPart) bool { return p.operations() == 0 })
	for i := range parts {
		parts[i].complete(files.Timeline, len(parts) == 1)
	}
	return parts
}

func newClassicPart(name string, t *record.Trial) classicPart {
	p := classicPart{name: name, seconds: t.Seconds, times: measure.NewHistogram()}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		p.texts[o] = cmp.Or(t.ErrorTexts[o.String()], o.String())
	}
	return p
}

// sample adds an interval to its second.
func (p *classicPart) sample(in record.Interval) {
	i := slices.IndexFunc(p.samples, func(s classicSecond) bool { return s.start.Equal(in.Start) })
	if i < 0 {
		i = len(p.samples)
		p.samples = append(p.samples, classicSecond{start: in.Start, times: measure.NewHistogram()})
	}
	s := &p.samples[i]
	s.times = measure.Add(s.times, in.Histogram)
	s.done += uint64(in.Histogram.TotalCount())
}

// complete puts the seconds in order. When the part is all there is, the
// timeline knows the seconds without a success, too, and in which second
// operations were done rather than due.
func (p *classicPart) complete(timeline []record.Row, alone bool) {
	if alone {
		for _, row := range timeline {
			if row.Phase != measure.Measured.String() {
				continue
			}
			i := slices.IndexFunc(p.samples, func(s classicSecond) bool { return near(s.start, row.Time) })
			if i < 0 {
				i = len(p.samples)
				p.samples = append(p.samples, classicSecond{start: row.Time})
			}
			p.samples[i].done = row.Done
		}
	}
	slices.SortFunc(p.samples, func(a, b classicSecond) int { return a.start.Compare(b.start) })
}

// near tells that two records of a second's beginning, one of them to the
// millisecond, are of the same second.
func near(a, b time.Time) bool {
	d := a.Sub(b)
	return -2*time.Millisecond < d && d < 2*time.Millisecond
}
