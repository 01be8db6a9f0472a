package command

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Names of the schemas for the lines that --interval prints.
const (
	intervalSchema = "quorumbench/interval/1"
	endSchema      = "quorumbench/end/1"
)

// intervals prints one JSON line for each interval of a trial. It prints the line when data for the
// next interval arrives, because the earlier interval is complete only then.
type intervals struct {
	every int
	now   func() time.Time

	mu          sync.Mutex
	out         io.Writer       // keeps its first error
	trial       *scenario.Trial // trial that the current line describes
	phase       measure.Phase
	firstSecond int   // first second in the current line
	lastSecond  int   // last second in the current line
	lastLength  int64 // duration of the last one-second interval, in nanoseconds; 0 if not known
	hasData     bool  // set if the current line has data that has not been written yet
	part        *figures.Aggregate
}

func newIntervals(every time.Duration, out io.Writer, now func() time.Time) *intervals {
	return &intervals{every: int(every / time.Second), out: out, now: now, part: figures.NewAggregate()}
}

// second adds the next one-second interval of a trial. If that interval belongs to the next line,
// second writes the current line first.
func (v *intervals) second(t *scenario.Trial, s *measure.Second) {
	v.mu.Lock()
	defer v.mu.Unlock()
	from := s.Index / v.every * v.every
	if v.hasData {
		same := t.Name == v.trial.Name && t.Repeat == v.trial.Repeat && s.Phase == v.phase
		switch {
		case !same && v.phase == measure.Warmup:
			v.write(v.warmUpSeconds() - float64(v.firstSecond))
		case !same:
			v.write(0)
		case from != v.firstSecond:
			v.write(float64(v.lastSecond + 1 - v.firstSecond))
		}
	}
	if !v.hasData {
		v.hasData, v.trial, v.phase, v.firstSecond = true, t, s.Phase, from
		v.part.Begin(t.Load.WatchersPerKey())
	}
	v.lastSecond, v.lastLength = s.Index, s.Length
	v.part.Add(s)
}

// warmUpSeconds returns the duration, in seconds, of a warm-up that has ended.
func (v *intervals) warmUpSeconds() float64 {
	if v.lastLength == 0 {
		return v.trial.Load.Warmup.Seconds()
	}
	return float64(v.lastSecond) + float64(v.lastLength)/1e9
}

// progress writes the last line for a trial when that trial is done.
func (v *intervals) progress(p runner.Progress) {
	if p.Stage != runner.TrialDone || p.Result == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hasData && v.phase == measure.Measured {
		v.write(p.Result.Seconds - float64(v.firstSecond))
	}
}

// write writes the current line. The parameter `seconds` is the duration of the line's interval, or
// 0 if not known. The line's latencies and errors are for operations that were due in the interval.
// The numbers of connections, clients and operations in flight are those at the end of the
// interval.
func (v *intervals) write(seconds float64) {
	v.hasData = false
	var lastLength *float64 // null if the duration is not known
	if seconds > 0 {
		lastLength = &seconds
	}
	var line record.Object
	line.Add("schema", intervalSchema)
	line.Add("time", v.now().UTC())
	line.Add("trial", v.trial.Name)
	line.Add("repeat", v.trial.Repeat)
	line.Add("phase", v.phase.String())
	line.Add("from_second", v.firstSecond)
	line.Add("seconds", lastLength)
	v.part.AddTo(&line, seconds)
	v.json(line)
}

func (v *intervals) json(line any) {
	b, err := json.Marshal(line)
	if err != nil { // cannot happen: every number in the line is finite
		b = fmt.Appendf(nil, "{%q:%q}", "error", err.Error())
	}
	_, _ = v.out.Write(append(b, '\n')) // one call per line; the writer keeps its first error
}

// endLine is the last line of the output.
type endLine struct {
	Schema  string           `json:"schema"`
	Time    time.Time        `json:"time"`
	State   record.State     `json:"state"`
	Failure string           `json:"failure,omitempty"`
	Verdict verdict.State    `json:"verdict"`
	Trials  []record.Object  `json:"trials"`
	Missed  []analyze.Missed `json:"missed_thresholds"`
}

// end writes the current line and then the last line, which contains the verdict. run is nil if
// nothing was recorded.
func (v *intervals) end(run *record.Run, missed []analyze.Missed, err error) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hasData {
		v.write(0)
	}
	l := endLine{Schema: endSchema, Time: v.now().UTC(), State: record.Failed, Verdict: verdict.Invalid, Trials: []record.Object{}, Missed: missed}
	if l.Missed == nil {
		l.Missed = []analyze.Missed{}
	}
	if ExitCode(err) == ExitInterrupted {
		l.State = record.Interrupted
	} else if err != nil {
		l.Failure = printableLine(err.Error())
	}
	if run != nil {
		l.State, l.Verdict = run.State, run.Verdict()
		for i := range run.Trials {
			l.Trials = append(l.Trials, endTrial(&run.Trials[i]))
		}
	}
	v.json(l)
}

// endTrial returns the object for a trial in the last line: its verdict, and the figures that
// figures.AddAtEnd adds.
func endTrial(t *record.Trial) (o record.Object) {
	o.Add("trial", t.Name)
	o.Add("repeat", t.Repeat)
	o.Add("state", t.State)
	o.Add("verdict", t.Verdict.State)
	o.Add("reasons", t.Verdict.Reasons)
	figures.AddAtEnd(&o, t)
	return o
}
