package command

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// For every interval length, each watch event is in exactly one line, and the line's times are
// computed from all its one-second intervals together.
func TestIntervalsHoldEveryWatchEvent(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, every := range []int{1, 4, 60} {
		var b bytes.Buffer
		v := newIntervals(time.Duration(every)*time.Second, &b, func() time.Time { return time.Unix(0, 0) })
		spec := &scenario.Trial{Name: "a", Repeat: 1, Load: scenario.Load{Watch: &scenario.Watch{Watchers: 1}}}
		var want measure.Watch
		whole := measure.NewHistogram()
		for i := range 13 {
			s := &measure.Second{Phase: measure.Measured, Index: i}
			s.Watch = measure.Watch{Delivered: uint64(rng.IntN(300)), Duplicated: uint64(rng.IntN(3)), Reordered: uint64(rng.IntN(3))}
			for range s.Watch.Delivered {
				if s.Watch.FromDue == nil {
					s.Watch.FromDue = measure.NewHistogram()
				}
				ns := 1 + rng.Int64N(1e9)
				measure.Record(s.Watch.FromDue, ns)
				measure.Record(whole, ns)
			}
			want.Delivered += s.Watch.Delivered
			want.Duplicated += s.Watch.Duplicated
			want.Reordered += s.Watch.Reordered
			v.second(spec, s)
		}
		v.progress(runner.Progress{Stage: runner.TrialDone, Result: &record.Trial{Seconds: 12.5}})
		v.second(&scenario.Trial{Name: "b"}, &measure.Second{Phase: measure.Measured})
		run := judged("valid")
		run.Trials[0].Watch = &record.Watched{WatchCounts: measure.WatchCounts{Expected: 9, Delivered: 8, Lost: 1}, PerSecond: 4}
		v.end(run, nil, nil)
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		var got measure.Watch
		for _, line := range lines[:len(lines)-2] {
			var l struct {
				Seconds float64
				Watch   *struct {
					Events     uint64
					PerSecond  *float64     `json:"events_per_second"`
					Duplicated uint64       `json:"duplicated_events"`
					Reordered  uint64       `json:"reordered_events"`
					FromDue    record.Times `json:"from_due_ns"`
				}
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.Watch == nil {
				t.Fatalf("%v in %s", err, line)
			}
			w := l.Watch
			got.Delivered, got.Duplicated, got.Reordered = got.Delivered+w.Events, got.Duplicated+w.Duplicated, got.Reordered+w.Reordered
			if w.FromDue.Count != w.Events || w.PerSecond == nil || *w.PerSecond != float64(w.Events)/l.Seconds {
				t.Errorf("every %d: %s", every, line)
			}
			if all := (record.Times{Summary: measure.Summarize(whole, 0)}); every == 60 && (w.FromDue.Percentile(99).NS != all.Percentile(99).NS || w.FromDue.Max.NS != all.Max.NS) {
				t.Errorf("the line of the whole window has the times %v, want %v", w.FromDue, all)
			}
		}
		if got != (measure.Watch{Delivered: want.Delivered, Duplicated: want.Duplicated, Reordered: want.Reordered}) {
			t.Errorf("every %d: the lines have the totals %+v, want %+v", every, got, want)
		}
		if plain := lines[len(lines)-2]; strings.Contains(plain, "watch") {
			t.Errorf("the line of a trial without watchers has watch figures: %s", plain)
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, `"watch":{"events_per_second":4,"expected_events":9,"delivered_events":8,"lost_events":1,`) {
			t.Errorf("the last line is %s", last)
		}
	}
}
