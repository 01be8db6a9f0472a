package record

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Latencies holds the distributions of the operations' times.
type Latencies struct {
	ResponseTime        Times            `json:"response_time_ns"`
	SuccessResponseTime Times            `json:"success_response_time_ns"`
	ServiceTime         Times            `json:"service_time_ns"`
	ErrorTimes          map[string]Times `json:"error_times_ns"`
	Lateness            *Times           `json:"lateness_ns"` // null in a closed loop
	// Slowest and Spread are the maximum and the standard deviation, in nanoseconds, of the time
	// from when an operation was due until it ended. They include failed operations, and are null
	// if no operation was due.
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
	} else if n := count(all.response); n > 0 && !t.NewConnection { // if each operation opens a new connection, the session has ended before
		t.ConnectionWaitNS = math.Round(max(all.response.Mean()-all.service.Mean()-float64(m.Disturbed.Idle)/float64(n), 0))
	}
}

// MostConnectionWait is a share of a closed loop's mean response time. If waiting for room on a
// connection takes a larger share, the response time becomes the trial's headline time.
const MostConnectionWait = 0.03

// ConnectionWaitShare returns the share of a closed loop's mean response time for which operations
// waited for room on their connection.
func (t *Trial) ConnectionWaitShare() float64 {
	if mean := t.SuccessResponseTime.Mean; mean.Known && mean.NS > 0 {
		return t.ConnectionWaitNS / mean.NS
	}
	return 0
}

// Headline returns the distribution of the headline time, the time that tables show first, over all
// operations due. It is the response time in an open loop, and in a closed loop whose clients
// waited for room on their connections. In any other closed loop, it is the service time.
func (t *Trial) Headline() Times {
	if t.HeadlineTime() == Response {
		return t.ResponseTime
	}
	return t.ServiceTime
}

// HeadlineTime returns whether the headline time is the response time or the service time.
func (t *Trial) HeadlineTime() Time {
	if t.Open() || t.ConnectionWaitShare() > MostConnectionWait {
		return Response
	}
	return Service
}

// Phrase returns the name of the time for use in sentences.
func (t Time) Phrase() string {
	if t == Response {
		return "response time"
	}
	return "service time"
}
