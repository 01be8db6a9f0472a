package command

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

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

// intervals prints a line for every so many seconds. A line comes when the
// second behind its last is there: only then it is known to be whole.
type intervals struct {
	every int
	now   func() time.Time

	mu     sync.Mutex
	to     io.Writer       // its errors stay in it
	trial  *scenario.Trial // that the line is of
	phase  measure.Phase
	from   int   // the line's first second
	last   int   // the last second in line
	length int64 // of that, in nanoseconds; 0 if it is not known
	open   bool  // there is a line to be written
	part   *record.Aggregate
}

func newIntervals(every time.Duration, to io.Writer, now func() time.Time) *intervals {
	return &intervals{every: int(every / time.Second), to: to, now: now, part: record.NewAggregate()}
}

// second takes the next second of a trial.
func (v *intervals) second(t *scenario.Trial, s *measure.Second) {
	v.mu.Lock()
	defer v.mu.Unlock()
	from := s.Index / v.every * v.every
	if v.open {
		same := t.Name == v.trial.Name && t.Repeat == v.trial.Repeat && s.Phase == v.phase
		switch {
		case !same && v.phase == measure.Warmup:
			v.write(v.warmed() - float64(v.from))
		case !same:
			v.write(0)
		case from != v.from:
			v.write(float64(v.last + 1 - v.from))
		}
	}
	if !v.open {
		v.open, v.trial, v.phase, v.from = true, t, s.Phase, from
		v.part.Begin(t.Load.WatchersOfKey())
	}
	v.last, v.length = s.Index, s.Length
	v.part.Add(s)
}

// warmed is how long the warm-up was, in seconds, which has ended.
func (v *intervals) warmed() float64 {
	if v.length == 0 {
		return v.trial.Load.Warmup.Seconds()
	}
	return float64(v.last) + float64(v.length)/1e9
}

// progress ends a trial's last line when the trial has ended.
func (v *intervals) progress(p runner.Progress) {
	if p.Stage != runner.TrialDone || p.Result == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open && v.phase == measure.Measured {
		v.write(p.Result.Seconds - float64(v.from))
	}
}

// write writes the line, whose length in seconds is 0 if that is not known. Its
// latencies and errors are of the operations due in it, its connections, clients
// and operations in flight those at its end.
func (v *intervals) write(seconds float64) {
	v.open = false
	var length *float64 // null if it is not known how long the last one was
	if seconds > 0 {
		length = &seconds
	}
	var line record.Object
	line.Add("schema", intervalSchema)
	line.Add("time", v.now().UTC())
	line.Add("trial", v.trial.Name)
	line.Add("repeat", v.trial.Repeat)
	line.Add("phase", v.phase.String())
	line.Add("from_second", v.from)
	line.Add("seconds", length)
	v.part.AddTo(&line, seconds)
	v.json(line)
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
	Trials  []record.Object  `json:"trials"`
	Missed  []analyze.Missed `json:"missed_thresholds"`
}

// end prints what is left and the verdict. run is nil if nothing was recorded.
func (v *intervals) end(run *record.Run, missed []analyze.Missed, err error) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open {
		v.write(0)
	}
	l := endLine{Schema: endSchema, Time: v.now().UTC(), State: record.Failed, Verdict: verdict.Invalid, Trials: []record.Object{}, Missed: missed}
	if l.Missed == nil {
		l.Missed = []analyze.Missed{}
	}
	if ExitCode(err) == ExitInterrupted {
		l.State = record.Interrupted
	} else if err != nil {
		l.Failure = shown(err.Error())
	}
	if run != nil {
		l.State, l.Verdict = run.State, run.Verdict()
		for i := range run.Trials {
			l.Trials = append(l.Trials, endTrial(&run.Trials[i]))
		}
	}
	v.json(l)
}

// endTrial is what the last line has of a trial: its verdict, and the figures of
// its result that the registry names for it.
func endTrial(t *record.Trial) (o record.Object) {
	o.Add("trial", t.Name)
	o.Add("repeat", t.Repeat)
	o.Add("state", t.State)
	o.Add("verdict", t.Verdict.State)
	o.Add("reasons", t.Verdict.Reasons)
	o.AddAtEnd(t)
	return o
}
