package record

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// sampledLoop returns the record of 1,000 operations. Each operation took 10 ms, of which the
// generator added 2 ms. The parameter `waited` is the share of the added time that was run queue
// wait.
func sampledLoop(waited float64) (*measure.Disturbance, *measure.Histogram) {
	d := &measure.Disturbance{Sampled: measure.NewHistogram(), Undisturbed: measure.NewHistogram(), RunWait: int64(waited * 1000 * 2e6)}
	response := measure.NewHistogram()
	for range 1000 {
		measure.Record(d.Sampled, 10e6)
		measure.Record(d.Undisturbed, 8e6)
		measure.Record(response, 10e6)
	}
	return d, response
}

// In a closed loop, time that the generator added is conserved only if the generator waited for a
// CPU and the members are known to have used the CPUs.
func TestConserved(t *testing.T) {
	const window, loops = 10.0, 2
	none, all := 0.0, 1.0
	most := 0.6
	for _, tt := range []struct {
		what             string
		waited           float64 // share of the added time
		ran              *float64
		throttled, delay time.Duration // in 10 s, summed over two event loops
		throughput       float64       // share by which throughput may be too low; 0.2 if no added time is conserved
	}{
		{"stopped, on a machine that members keep full", 0, &all, 0, 0, 0.2},
		{"stopped, next to other programs", 0, &none, 0, 4 * time.Second, 0.2},
		{"waited for members", 1, &all, 0, 4 * time.Second, 0},
		{"waited for other programs", 1, &none, 0, 4 * time.Second, 0.2},
		{"waited for unknown programs", 1, nil, 0, 4 * time.Second, 0.2},
		{"waited for members and others", 1, &most, 0, 4 * time.Second, 0.08},
		{"stopped for half of it, and waited for members", 0.5, &all, 0, 2 * time.Second, 0.1},
		{"stopped for half of it, and waited for both", 0.5, &most, 0, 2 * time.Second, 0.14},
		{"held back by its control group", 1, &all, 4 * time.Second, 4 * time.Second, 0.2},
		{"held back for half of that, next to members", 1, &all, 2 * time.Second, 4 * time.Second, 0.1},
		{"held back while it had nothing to do", 0.5, &all, 4 * time.Second, 0, 0.1},
		{"held back all the time", 1, &all, 40 * time.Second, 40 * time.Second, 0.2},
	} {
		d, response := sampledLoop(tt.waited)
		a := overheadOf(d, response, 0, newQueueWaits(tt.ran, int64(tt.throttled), int64(tt.delay), loops, window))
		f := a.figures()
		e := f.Effect(false)
		if math.Abs(e.Throughput-tt.throughput) > 0.002 {
			t.Errorf("%s: throughput may be %.3f too low, want %.3f", tt.what, e.Throughput, tt.throughput)
		}
		// The undisturbed times do not contain the time that is not conserved. Therefore, the
		// measured 10 ms are longer than the undisturbed time by the share `want`.
		if want := 10/(8+2*(1-tt.throughput/0.2)) - 1; math.Abs(e.ForFigure("p50")-want) > 0.005 {
			t.Errorf("%s: p50 may be %.3f too high, want %.3f", tt.what, e.ForFigure("p50"), want)
		}
		if open := f.Effect(true); open.Throughput != 0 || math.Abs(open.ForFigure("p50")-0.25) > 0.005 {
			t.Errorf("%s: in an open loop, the effect is %+v", tt.what, open)
		}
	}
}

// The conserved time is never longer than the run queue wait, or than the time that the members
// used. The longer the time for which CPU limits stopped the generator, the shorter the conserved
// time.
func TestConservedIsBounded(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		ran := 1.4*r.Float64() - 0.2
		waited := 1.2*r.Float64() - 0.1
		d, response := sampledLoop(waited)
		d.Idle = r.Int64N(4e9) // up to 4 ms per operation
		delay := r.Int64N(20e9)
		throttled := r.Int64N(20e9)
		a := overheadOf(d, response, 0, newQueueWaits(&ran, throttled, delay, 2, 10))
		c := a.ConservedShare
		if c < 0 || c > 1 || c > max(ran, 0) || c*a.MeanNS > max(waited, 0)*2e6*1.01 {
			t.Fatalf("the conserved share is %v, although members ran for the share %v of %v ns and the response waited for the share %v of 2 ms", c, ran, a.MeanNS, waited)
		}
		more := overheadOf(d, response, 0, newQueueWaits(&ran, throttled+r.Int64N(5e9), delay, 2, 10))
		longer := overheadOf(d, response, 0, newQueueWaits(&ran, throttled, delay, 1, 10))
		if more.ConservedShare > c || longer.ConservedShare > c {
			t.Fatalf("the conserved share is %v, and with longer waits it is %v and %v, want no more", c, more.ConservedShare, longer.ConservedShare)
		}
	}
}
