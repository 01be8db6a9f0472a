package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// The schemas of the lines that --interval prints.
const (
	intervalSchema = "quorumbench/interval/1"
	endSchema      = "quorumbench/end/1"
)

// intervalLine is some seconds of a trial's phase as log collectors get them.
// Its latencies and errors are of the operations due in it.
type intervalLine struct {
	Schema  string    `json:"schema"`
	Time    time.Time `json:"time"` // when the line was written
	Trial   string    `json:"trial"`
	Repeat  int       `json:"repeat"`
	Phase   string    `json:"phase"`
	From    int       `json:"from_second"` // of the phase
	Seconds *float64  `json:"seconds"`     // null if it cannot be told how long the last one was

	Due          uint64            `json:"due"`
	Operations   uint64            `json:"operations"` // of those due: completed
	Errors       uint64            `json:"errors"`
	ErrorsByKind map[string]uint64 `json:"errors_by_kind"`
	Completed    uint64            `json:"completed"` // successes done in it, whenever due
	PerSecond    *float64          `json:"operations_per_second"`
	Response     record.Times      `json:"response_time_ns"`
	Service      record.Times      `json:"service_time_ns"`
	BytesIn      uint64            `json:"bytes_in"`
	BytesOut     uint64            `json:"bytes_out"`
	// At the end of it.
	Connections int `json:"connections"`
	Clients     int `json:"clients"`
	InFlight    int `json:"in_flight"`
	// Watch is what watchers got in it; absent where the trial has none.
	Watch *intervalWatch `json:"watch,omitempty"`
}

// intervals prints a line for every so many seconds. A line comes when the
// second behind its last is there: only then it is known to be whole.
type intervals struct {
	every int
	now   func() time.Time

	mu                sync.Mutex
	to                io.Writer // its errors stay in it
	trial             *scenario.Trial
	phase             measure.Phase
	last              int   // the last second in line
	length            int64 // of that, in nanoseconds; 0 if it is not known
	line              *intervalLine
	response, service *measure.Histogram
	arrival           *measure.Histogram // of watch events
}

func newIntervals(every time.Duration, to io.Writer, now func() time.Time) *intervals {
	return &intervals{every: int(every / time.Second), to: to, now: now,
		response: measure.NewHistogram(), service: measure.NewHistogram(), arrival: measure.NewHistogram()}
}

// second takes the next second of a trial.
func (v *intervals) second(t *scenario.Trial, s *measure.Second) {
	v.mu.Lock()
	defer v.mu.Unlock()
	from := s.Index / v.every * v.every
	if l := v.line; l != nil {
		same := t.Name == l.Trial && t.Repeat == l.Repeat && s.Phase == v.phase
		switch {
		case !same && v.phase == measure.Warmup:
			v.write(v.warmed() - float64(l.From))
		case !same:
			v.write(0)
		case from != l.From:
			v.write(float64(v.last + 1 - l.From))
		}
	}
	if v.line == nil {
		v.trial, v.phase = t, s.Phase
		v.line = &intervalLine{Schema: intervalSchema, Trial: t.Name, Repeat: t.Repeat, Phase: s.Phase.String(), From: from, ErrorsByKind: map[string]uint64{}}
		if t.Load.Watch != nil {
			v.line.Watch = &intervalWatch{}
		}
		v.response.Reset()
		v.service.Reset()
		v.arrival.Reset()
	}
	v.last, v.length = s.Index, s.Length
	v.add(s)
}

// warmed is how long the warm-up was, in seconds, which has ended.
func (v *intervals) warmed() float64 {
	if v.length == 0 {
		return v.trial.Load.Warmup.Seconds()
	}
	return float64(v.last) + float64(v.length)/1e9
}

func (v *intervals) add(s *measure.Second) {
	l := v.line
	l.Due += s.Due
	for o := range kv.NumOutcomes {
		switch n := s.Outcomes[o]; {
		case !o.Failed():
			l.Operations += n
		case n > 0:
			l.Errors += n
			l.ErrorsByKind[o.String()] += n
		}
	}
	l.Completed += s.Done
	l.BytesIn += s.BytesIn
	l.BytesOut += s.BytesOut
	l.Connections, l.Clients, l.InFlight = s.Connections, s.Clients, s.InFlight
	if l.Watch != nil {
		l.Watch.add(&s.Watch, v.arrival)
	}
	for _, c := range s.Cells {
		if c.Response != nil {
			v.response.Merge(c.Response)
		}
		if c.Service != nil {
			v.service.Merge(c.Service)
		}
	}
}

// watch ends a trial's last line when the trial has ended.
func (v *intervals) watch(p runner.Progress) {
	if p.Stage != runner.TrialDone || p.Result == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.line != nil && v.phase == measure.Measured {
		v.write(p.Result.Seconds - float64(v.line.From))
	}
}

// write writes the line, whose length in seconds is 0 if that is not known.
func (v *intervals) write(seconds float64) {
	l := v.line
	v.line = nil
	l.Time = v.now().UTC()
	l.Response = record.Times{Summary: measure.Summarize(v.response, l.Errors)}
	l.Service = record.Times{Summary: measure.Summarize(v.service, l.Errors)}
	if seconds > 0 {
		rate := float64(l.Completed) / seconds
		l.Seconds, l.PerSecond = &seconds, &rate
	}
	if l.Watch != nil {
		l.Watch.end(v.arrival, seconds)
	}
	v.json(l)
}

func (v *intervals) json(line any) {
	b, err := json.Marshal(line)
	if err != nil { // cannot be: every number in it is finite
		b = fmt.Appendf(nil, "{%q:%q}", "error", err.Error())
	}
	_, _ = v.to.Write(append(b, '\n')) // one call a line; the writer keeps its error
}

// endLine is the last line.
type endLine struct {
	Schema  string           `json:"schema"`
	Time    time.Time        `json:"time"`
	State   record.State     `json:"state"`
	Failure string           `json:"failure,omitempty"`
	Verdict verdict.State    `json:"verdict"`
	Trials  []endTrial       `json:"trials"`
	Missed  []analyze.Missed `json:"missed_thresholds"`
}

type endTrial struct {
	Trial   string           `json:"trial"`
	Repeat  int              `json:"repeat"`
	State   record.State     `json:"state"`
	Verdict verdict.State    `json:"verdict"`
	Reasons []verdict.Reason `json:"reasons"`
	// Watch is absent where the trial has no watchers, or no result.
	Watch *endWatch `json:"watch,omitempty"`
}

// end prints what is left and the verdict. run is nil if nothing was recorded.
func (v *intervals) end(run *record.Run, missed []analyze.Missed, err error) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.line != nil {
		v.write(0)
	}
	l := endLine{Schema: endSchema, Time: v.now().UTC(), State: record.Failed, Verdict: verdict.Invalid, Trials: []endTrial{}, Missed: missed}
	if l.Missed == nil {
		l.Missed = []analyze.Missed{}
	}
	if exitCode(err) == ExitInterrupted {
		l.State = record.Interrupted
	} else if err != nil {
		l.Failure = sentence(err.Error())
	}
	if run != nil {
		l.State, l.Verdict = run.State, run.Verdict()
		for i := range run.Trials {
			t := &run.Trials[i]
			l.Trials = append(l.Trials, endTrial{t.Name, t.Repeat, t.State, t.Verdict.State, t.Verdict.Reasons, endWatchOf(t)})
		}
	}
	v.json(l)
}
