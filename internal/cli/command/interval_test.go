package command

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// intervalLine is one printed line, parsed as a log collector would parse it.
type intervalLine struct {
	Schema, Trial, Phase, State, Verdict string
	From                                 int `json:"from_second"`
	Seconds                              *float64
	Due, Operations, Errors, Completed   uint64
	ErrorsByKind                         map[string]uint64 `json:"errors_by_kind"`
	PerSecond                            *float64          `json:"operations_per_second"`
	Response                             record.Times      `json:"response_time_ns"`
	InFlight                             int               `json:"in_flight"`
}

func readLines(t *testing.T, text string) []intervalLine {
	t.Helper()
	var all []intervalLine
	for line := range strings.Lines(text) {
		var l intervalLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, l)
	}
	return all
}

// For every interval length, each one-second interval is in exactly one line, and the line's
// percentiles are computed from all its one-second intervals together.
func TestIntervalsHoldEverySecond(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, every := range []int{1, 3, 10, 60} {
		var b bytes.Buffer
		v := newIntervals(time.Duration(every)*time.Second, &b, func() time.Time { return time.Unix(0, 0) })
		var due, errors, done [2]uint64
		for number, name := range []string{"a", "b"} {
			spec := &scenario.Trial{Name: name, Number: number + 1, Repeat: 1, Load: scenario.Load{Warmup: 2500 * time.Millisecond}}
			for phase, seconds := range []int{3, 14} {
				for i := range seconds {
					s := &measure.Second{Phase: measure.Phase(phase), Index: i, InFlight: i}
					cell := &measure.Cell{Response: measure.NewHistogram(), Service: measure.NewHistogram()}
					s.Cells = []*measure.Cell{cell}
					for range rng.IntN(200) {
						s.Due++
						if rng.IntN(10) == 0 {
							s.Outcomes[kv.TimedOut]++
							continue
						}
						s.Outcomes[kv.OK]++
						s.Done++
						measure.Record(cell.Response, rng.Int64N(1e9))
						measure.Record(cell.Service, rng.Int64N(1e9))
					}
					due[phase], errors[phase], done[phase] = due[phase]+s.Due, errors[phase]+s.Outcomes[kv.TimedOut], done[phase]+s.Done
					v.second(spec, s)
				}
			}
			v.progress(runner.Progress{Stage: runner.TrialDone, Result: &record.Trial{Seconds: 13.25}})
		}
		v.end(judged("valid"), nil, nil)
		lines := readLines(t, b.String())
		if last := lines[len(lines)-1]; last.Schema != endSchema || last.Verdict != "valid" || last.State != "complete" {
			t.Errorf("the last line is %+v", last)
		}
		length := 0.0
		for _, l := range lines[:len(lines)-1] {
			phase := measure.Warmup
			if l.Phase == "measured" {
				phase = measure.Measured
			}
			due[phase], errors[phase], done[phase] = due[phase]-l.Due, errors[phase]-l.Errors, done[phase]-l.Completed
			if l.Seconds == nil || l.PerSecond == nil || *l.Seconds > float64(every) || *l.PerSecond != float64(l.Completed)/(*l.Seconds) {
				t.Errorf("every %d: %+v", every, l)
				continue
			}
			if l.Due != l.Operations+l.Errors || l.ErrorsByKind["timeout"] != l.Errors || l.Response.Count != l.Due {
				t.Errorf("every %d: the counts of %+v do not add up", every, l)
			}
			length += *l.Seconds
		}
		if due != [2]uint64{} || errors != [2]uint64{} || done != [2]uint64{} || length != 2*(2.5+13.25) {
			t.Errorf("every %d: the lines lack %v due operations, %v errors and %v completions; together they cover %v s", every, due, errors, done, length)
		}
	}
}

// The interval line for a failed trial shows the operations of the trial. The length of the
// interval is null, because it is unknown.
func TestIntervalOfFailedTrial(t *testing.T) {
	var b bytes.Buffer
	v := newIntervals(10*time.Second, &b, time.Now)
	s := &measure.Second{Phase: measure.Measured, Tally: measure.Tally{Due: 1, Done: 1}}
	s.Outcomes[kv.OK] = 1
	v.second(&scenario.Trial{Name: "a"}, s)
	v.end(nil, nil, Usage("it broke"))
	lines := readLines(t, b.String())
	if len(lines) != 2 || lines[0].Due != 1 || lines[0].Seconds != nil || lines[0].PerSecond != nil || lines[1].State != "failed" || lines[1].Verdict != "invalid" {
		t.Errorf("%+v", lines)
	}
}
