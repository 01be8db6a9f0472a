package simulate_test

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/simulate"
)

// sharedAndStopped is a machine on which another program shares the thread's CPU, and on which the
// thread is also stopped during some spans.
type sharedAndStopped struct {
	simulate.Shared
	stops simulate.Interrupted
}

func (m *sharedAndStopped) Run(at, ns int64) int64 { return m.stops.Run(m.Shared.Run(at, ns), 0) }
func (m *sharedAndStopped) Wake(at int64) int64    { return m.stops.Run(m.Shared.Wake(at), 0) }

// In a closed loop, the generator adds time to each cycle. The trial distinguishes two parts of the
// added time: run queue wait, and time during which the thread was stopped or its virtual CPU was
// stolen.
func TestRunQueueWaitIsDistinguished(t *testing.T) {
	settle.SkipUnderRace(t)
	still := simulate.Quiet{Jitter: 5_000, Seed: 3}
	stops := func(steal bool) simulate.Interrupted {
		return simulate.Interrupted{Quiet: still, Spans: simulate.RandomSpans(1e9, 100e6, 5), Steal: steal}
	}
	shared := func(refused float64) simulate.Shared {
		return simulate.Shared{Quiet: still, Slice: 3e6, Other: 3e6, Refused: refused, Busy: func(int64) bool { return true }}
	}
	for name, tt := range map[string]struct {
		machine     func() simulate.Machine
		least, most float64 // limits for the run queue wait, as a share of the added time
	}{
		"quiet":   {func() simulate.Machine { q := still; return &q }, 0, 1},
		"stopped": {func() simulate.Machine { m := stops(false); return &m }, 0, 0.01},
		"stolen":  {func() simulate.Machine { m := stops(true); return &m }, 0, 0.01},
		"shared":  {func() simulate.Machine { m := shared(0.5); return &m }, 0.95, 1},
		// The thread waits at half of its wake-ups, for 1.5 ms on average. It is also stopped for a
		// tenth of the time.
		"shared and stopped": {func() simulate.Machine { return &sharedAndStopped{shared(0.5), stops(false)} }, 0.5, 0.9},
		// While the control group's limits stop the thread, both the run queue wait and a separate
		// counter increase.
		"held back": {func() simulate.Machine {
			return &simulate.Throttled{Quiet: still, Quota: 5e6, Period: 100e6, OtherCPU: 0.9}
		}, 0.85, 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := &simulate.Delaying{Times: simulate.ResponseTimes{Median: 2e6, Spread: 0.1, Seed: 3}}
			m := run(t, closed(4, 8, 5*time.Second), server, func(int) simulate.Machine { return tt.machine() })
			d := &m.Disturbance
			n := float64(d.Sampled.TotalCount())
			added := n * (d.Sampled.Mean() - d.Undisturbed.Mean())
			waited := float64(d.RunWait)
			if name == "quiet" {
				if waited > 0.001*n*2e6 {
					t.Errorf("the run queue wait on a quiet machine is %v ns per operation", waited/n)
				}
				return
			}
			if added < 0.01*n*2e6 {
				t.Fatalf("the machine added only %v ns per operation", added/n)
			}
			if share := waited / added; share < tt.least || share > tt.most {
				t.Errorf("the run queue wait is %.3f of the added %.0f ns per operation, want %v to %v", share, added/n, tt.least, tt.most)
			}
		})
	}
}

// An open loop does not read the counter of run queue wait, because its clients do not wait for
// responses.
func TestOpenLoopDoesNotReadRunDelay(t *testing.T) {
	l := closed(4, 0, 2*time.Second)
	l.Arrival, l.Rate.PerSecond = scenario.Constant, 1000
	m := run(t, l, &simulate.Delaying{Times: simulate.ResponseTimes{Median: 2e6, Seed: 3}}, func(int) simulate.Machine {
		return &simulate.Shared{Slice: 3e6, Other: 3e6, Refused: 0.5, Busy: func(int64) bool { return true }}
	})
	if m.Disturbance.RunWait != 0 || m.Disturbance.OwnDelay.Max() < 100_000 {
		t.Errorf("the recorded run queue wait is %d ns, and the maximum own delay is %d ns", m.Disturbance.RunWait, m.Disturbance.OwnDelay.Max())
	}
}
