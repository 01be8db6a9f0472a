package record

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Latencies are the distributions of the operations' times.
type Latencies struct {
	ResponseTime        Times            `json:"response_time_ns"`
	SuccessResponseTime Times            `json:"success_response_time_ns"`
	ServiceTime         Times            `json:"service_time_ns"`
	ErrorTimes          map[string]Times `json:"error_times_ns"`
	Lateness            *Times           `json:"lateness_ns"` // null in a closed loop
	// Of all operations due, in nanoseconds from when one was due until it ended,
	// failed ones included: the slowest, and the standard deviation; null without
	// any.
	Slowest *float64 `json:"slowest_ns,omitempty"`
	Spread  *float64 `json:"spread_ns,omitempty"`
}

// setTimes sets the distributions from the merged histograms of the window.
func (t *Trial) setTimes(all *sums, m *measure.Totals) {
	t.ResponseTime = Times{measure.Summarize(all.response, t.Errors)}
	t.SuccessResponseTime = Times{measure.Summarize(all.response, 0)}
	t.ServiceTime = Times{measure.Summarize(all.service, t.Errors)}
	for i, h := range all.errors {
		if count(h) > 0 {
			t.ErrorTimes[(kv.NotSent + kv.Outcome(i)).String()] = Times{measure.Summarize(h, 0)}
		}
	}
	every := measure.NewHistogram()
	for _, h := range append(all.errors[:], all.response) {
		measure.Add(every, h)
	}
	if every.TotalCount() > 0 {
		t.Slowest, t.Spread = new(float64(every.Max())), new(every.StdDev())
	}
	if t.Open() {
		t.Lateness = &Times{measure.Summarize(m.Lateness, 0)}
	} else if n := count(all.response); n > 0 && !t.NewConnection { // which ends the session before
		t.ConnectionWaitNS = math.Round(max(all.response.Mean()-all.service.Mean()-float64(m.Disturbed.Idle)/float64(n), 0))
	}
}
