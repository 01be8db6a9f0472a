package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// twoClocks simulates our clock and another clock. An exchange between them takes no time.
type twoClocks struct {
	time    time.Time // time on our clock
	ahead   time.Duration
	offsets Offsets
}

func (c *twoClocks) remoteNow() time.Time { return c.time.Add(c.ahead) }

func (c *twoClocks) beat() {
	c.offsets.Add(Exchange{c.time, c.remoteNow(), c.remoteNow(), c.time})
}

func (c *twoClocks) Offset() host.Clock { return c.offsets.Estimate(c.time) }

func (c *twoClocks) now() time.Time { return c.time }

func (c *twoClocks) toLocal(theirs, asked time.Time) time.Time {
	return c.offsets.Convert(theirs, asked, c.time)
}

// counting is a worker whose load has a clock that starts at the preparation. The load's clock
// continues even if the machine's clock is set.
type counting struct {
	load.Worker
	*twoClocks
	prepare func() // called by Prepare
	closed  int
	mark    func(load.PhaseChange)
}

type countingJob struct {
	load.Job
	w      *counting
	base   time.Time // time on the worker's clock
	since  time.Time // the same time on our clock
	begins time.Duration
}

func (w *counting) Clock(context.Context) (time.Time, error) { return w.remoteNow(), nil }

func (w *counting) Prepare(_ context.Context, _ *load.Assignment, to load.Reports) (load.Job, error) {
	w.prepare()
	w.mark = to.OnPhaseChange
	return &countingJob{w: w, base: w.remoteNow(), since: w.time}, nil
}

func (j *countingJob) Close() { j.w.closed++ }

func (j *countingJob) Run(_ context.Context, begin time.Time) (*load.Result, error) {
	j.begins = begin.Sub(j.base)
	opened := j.base.Add(j.begins)
	j.w.time = j.since.Add(j.begins)
	j.w.mark(load.PhaseChange{Phase: measure.Measured, At: opened})
	return &load.Result{Ending: load.Ending{Opened: opened}}, nil
}

// Regardless of when the other clock is set, a load begins on time, and the reported start is on
// our clock. If the load's clock is uncertain, the load is not run.
func TestLoadOnAMachineThatSetsItsClock(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare, later func(c *twoClocks) // `prepare` sets the clock during Prepare; `later` sets the clock between Prepare and Run
		fails          bool
	}{
		"never":              {},
		"before Run":         {later: func(c *twoClocks) { c.ahead += time.Hour }},
		"back before Run":    {later: func(c *twoClocks) { c.ahead -= time.Hour }},
		"once in Prepare":    {prepare: func(c *twoClocks) { c.ahead = time.Hour }},
		"always in Prepare":  {prepare: func(c *twoClocks) { c.ahead += time.Hour }, fails: true},
		"in both":            {prepare: func(c *twoClocks) { c.ahead = -time.Hour }, later: func(c *twoClocks) { c.ahead = time.Hour }},
		"noticed before Run": {later: func(c *twoClocks) { c.ahead = time.Hour; c.beat() }},
	} {
		t.Run(name, func(t *testing.T) {
			c := &twoClocks{time: epoch, ahead: time.Minute}
			c.beat()
			there := &counting{twoClocks: c, prepare: func() {
				if tt.prepare != nil {
					tt.prepare(c)
				}
			}}
			w := clockConverter{there, c}
			var marked time.Time
			job, err := w.Prepare(t.Context(), &load.Assignment{}, load.Reports{OnPhaseChange: func(m load.PhaseChange) { marked = m.At }})
			if tt.fails {
				if err == nil || !strings.Contains(err.Error(), "clock was set while the load was being prepared") || there.closed != maxPrepares {
					t.Errorf("the error is %v, and %d jobs were closed", err, there.closed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c.time = c.time.Add(time.Second)
			if tt.later != nil {
				tt.later(c)
			}
			now, err := w.Clock(t.Context())
			if err != nil || !now.Equal(c.time) {
				t.Fatalf("the worker's time is %v, want %v: %v", now, c.time, err)
			}
			begin := now.Add(50 * time.Millisecond)
			res, err := job.Run(t.Context(), begin)
			if err != nil {
				t.Fatal(err)
			}
			if !c.time.Equal(begin) || !marked.Equal(begin) || !res.Opened.Equal(begin) {
				t.Errorf("the load should begin at %v; it began at %v and reports the start times %v and %v", begin, c.time, marked, res.Opened)
			}
		})
	}
}
