package overtime

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// TraceEvent is an event in the Trace Event Format
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). Perfetto and
// Chrome's tracing page read this format.
type TraceEvent struct {
	Name string `json:"name"`
	// X: event with a duration; i: instant; C: counters; M: metadata
	Phase    string  `json:"ph"`
	Time     float64 `json:"ts"` // microseconds since the run started
	Duration float64 `json:"dur,omitempty"`
	// only for an instant: t means that it belongs to one track
	Scope string         `json:"s,omitempty"`
	PID   int            `json:"pid"` // identifies the trial
	TID   int            `json:"tid"` // identifies the track
	Args  map[string]any `json:"args,omitempty"`
}

// trace collects the events of a run.
type trace struct {
	start       time.Time
	pid         int
	tracks      []string // names of the trial's tracks; the number of a track is its index plus 1
	traceEvents []TraceEvent
}

// Trace returns the trace events for a run. The caller must have read the run's events
// (figures.ReadTrialFiles). In the trace, each trial is a process. The process has tracks for
// phases, faults, outages, spikes and the events of each member. It has counters for the
// throughput, the errors, the operations in flight and the p99 in each second.
func Trace(run *record.Run) []TraceEvent {
	c := &trace{start: run.Started}
	for i, t := range analyze.TrialsInOrder(run) {
		c.pid, c.tracks = i+1, nil
		c.metadata("process_name", 0, shownInTrace(analyze.Label(t)))
		c.trial(t)
	}
	return c.traceEvents
}

func shownInTrace(words string) string { return text.Line(words, text.MaxField) }

func (c *trace) metadata(kind string, tid int, name string) {
	c.traceEvents = append(c.traceEvents, TraceEvent{Name: kind, Phase: "M", PID: c.pid, TID: tid, Args: map[string]any{"name": name}})
}

// track returns the number of a track. When it is called with a name for the first time, it adds
// the track to the trace.
func (c *trace) track(name string) int {
	if i := slices.Index(c.tracks, name); i >= 0 {
		return i + 1
	}
	c.tracks = append(c.tracks, name)
	c.metadata("thread_name", len(c.tracks), shownInTrace(name))
	return len(c.tracks)
}

// span adds an event with a duration. If the duration is 0, it adds an instant.
func (c *trace) span(track, name string, from time.Time, took time.Duration, args map[string]any) {
	e := TraceEvent{Name: shownInTrace(name), Phase: "X", Time: c.microseconds(from), Duration: float64(took) / 1e3, PID: c.pid, TID: c.track(track), Args: args}
	if took <= 0 {
		e.Phase, e.Scope, e.Duration = "i", "t", 0
	}
	c.traceEvents = append(c.traceEvents, e)
}

// microseconds returns the time from the start of the run to t.
func (c *trace) microseconds(t time.Time) float64 { return float64(t.Sub(c.start)) / 1e3 }

func (c *trace) trial(t *record.Trial) {
	c.seconds(t)
	if t.Opened == nil {
		c.events(t)
		return
	}
	opened := *t.Opened
	inWindow := func(seconds float64) time.Time { return samples.TimeInWindow(t, seconds) }
	c.span("phases", "measurement window", opened, measure.ToDuration(t.Seconds), map[string]any{"verdict": string(t.Verdict.State)})
	for i := range t.Faults {
		f := &t.Faults[i]
		if !f.Injected() {
			continue
		}
		until := *f.BeganAt
		for _, end := range []*float64{f.EndedAt, f.HealedAt} {
			if end != nil {
				until = math.Max(until, *end)
			}
		}
		c.span("faults", f.Description, inWindow(*f.BeganAt), measure.ToDuration(until-*f.BeganAt), map[string]any{"member": shownInTrace(f.Member), "role": shownInTrace(f.Role)})
		if f.Outage != nil && f.OutageStart != nil {
			c.span("outages", fmt.Sprintf("outage after fault %d", f.Number), inWindow(*f.OutageStart), measure.ToDuration(*f.Outage), nil)
		}
	}
	for _, s := range limits.Spikes(t) {
		c.span("spikes", fmt.Sprintf("%s %s instead of %s", s.Percentile, s.Worst.Text(), s.Usual.Text()), inWindow(s.From), measure.ToDuration(float64(s.Seconds)), nil)
	}
	c.events(t)
}

// events adds the recorded events. Each member has its own track.
func (c *trace) events(t *record.Trial) {
	for i := range t.Events {
		e := &t.Events[i]
		args := map[string]any{"text": shownInTrace(e.Text)}
		if e.Line != "" {
			args["log"] = shownInTrace(e.Line)
		}
		if e.Count > 0 {
			args["count"] = e.Count
		}
		track := "events"
		if e.Member != "" {
			track = "events of " + e.Member
		}
		c.span(track, e.Kind, e.Began(), e.Time.Sub(e.Began()), args)
	}
}

// seconds adds the counters for each second.
func (c *trace) seconds(t *record.Trial) {
	for i := range t.Timeline {
		r := &t.Timeline[i]
		counter := func(name string, v float64) {
			c.traceEvents = append(c.traceEvents, TraceEvent{Name: name, Phase: "C", Time: c.microseconds(r.Time), PID: c.pid, Args: map[string]any{"value": v}})
		}
		counter("operations per second", float64(r.Done))
		counter("errors per second", float64(r.Errors))
		counter("in flight", float64(r.InFlight))
		if known := func(f measure.Figure) bool { return f.Known && !f.Failed }; known(r.P99) {
			counter("p99 in milliseconds", r.P99.NS/1e6)
		}
	}
}
