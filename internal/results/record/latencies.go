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
	// SlowestNS is the maximum, and Spread is the standard deviation, of the time from when an
	// operation was due until it ended, in nanoseconds. Both include failed operations. They are
	// null if no operation was due.
	SlowestNS *float64 `json:"slowest_ns,omitempty"`
	StddevNS  *float64 `json:"spread_ns,omitempty"`
}

// setTimes computes the distributions from the merged histograms of the window.
func (t *Trial) setTimes(all *measure.Cell, m *measure.Totals) {
	t.ResponseTime = Times{measure.Summarize(all.Response, t.Errors)}
	t.SuccessResponseTime = Times{measure.Summarize(all.Response, 0)}
	t.ServiceTime = Times{measure.Summarize(all.Service, t.Errors)}
	for i, h := range all.Failed {
		if measure.Count(h) > 0 {
			t.ErrorTimes[(kv.NotSent + kv.Outcome(i)).String()] = Times{measure.Summarize(h, 0)}
		}
	}
	every := measure.NewHistogram()
	for _, h := range append(all.Failed[:], all.Response) {
		measure.Add(every, h)
	}
	if every.TotalCount() > 0 {
		t.SlowestNS, t.StddevNS = new(float64(every.Max())), new(every.StdDev())
	}
	if t.Open() {
		t.Lateness = &Times{measure.Summarize(m.Lateness, 0)}
	} else if n := measure.Count(all.Response); n > 0 && !t.NewConnection { // with NewConnection, the time before sent is spent on closing the previous session
		t.ConnectionWaitNS = math.Round(max(all.Response.Mean()-all.Service.Mean()-float64(m.Disturbance.Idle)/float64(n), 0))
	}
}

// MaxConnectionWaitShare is a share of a closed loop's mean response time. If operations wait for
// their connections for more than this share, the response time is used as the trial's headline
// time.
const MaxConnectionWaitShare = 0.03

// ConnectionWaitShare returns the time for which operations of a closed loop waited for their
// connections, as a share of the mean response time.
func (t *Trial) ConnectionWaitShare() float64 {
	if mean := t.SuccessResponseTime.Mean; mean.Known && mean.NS > 0 {
		return t.ConnectionWaitNS / mean.NS
	}
	return 0
}

// Headline returns the distribution, over all operations due, of the headline time. This is the
// time that tables show first. It is the response time in an open loop, and in a closed loop whose
// clients waited for their connections. In all other closed loops, it is the service time.
func (t *Trial) Headline() Times {
	if t.HeadlineTime() == Response {
		return t.ResponseTime
	}
	return t.ServiceTime
}

// HeadlineTime returns Response or Service: the kind of time that is the trial's headline time.
func (t *Trial) HeadlineTime() Time {
	if t.Open() || t.ConnectionWaitShare() > MaxConnectionWaitShare {
		return Response
	}
	return Service
}

// Phrase returns the name of the kind of time for use in sentences.
func (t Time) Phrase() string {
	if t == Response {
		return "response time"
	}
	return "service time"
}
