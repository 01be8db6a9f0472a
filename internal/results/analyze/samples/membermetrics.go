package samples

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// MemberMetrics holds the metrics that a member reported in a trial's window, and how well the
// member could be reached. The source is stores.csv.
type MemberMetrics struct {
	Name, Endpoint string
	// Metrics is the difference between two rows: the row nearest to the start of the window and
	// the row nearest to its end. Seconds is the time between these rows. Metrics is nil if there
	// are no two such rows. If the member reported nothing, UnreadReason is the reason. All figures
	// exclude the time of injected faults.
	Seconds      float64
	Metrics      store.Sample
	UnreadReason string
	HasReports   bool // set if the member responded to at least one request during the trial

	StatusRequests     int // number of status requests in the window
	UnansweredRequests int // number of requests that received no response
	// longest time until a response, or until the load generator stopped waiting for one
	SlowestResponse time.Duration

	ConnectAttempts int           // number of attempted TCP connections
	FailedConnects  int           // number of failed TCP connections
	ConnectTimes    SpreadOfTimes // times of the successful TCP connects
}

// SpreadOfTimes holds the minimum, median and maximum of several times.
type SpreadOfTimes struct{ Min, Median, Max time.Duration }

// AllMemberMetrics returns the metrics of all members. The members in ByMember come first, in that
// order; the others follow, sorted by name. The order of the rows in stores.csv is not used,
// because it depends on when members responded. The caller must have read the trial's files
// (figures.ReadTrialFiles).
func AllMemberMetrics(t *record.Trial) []MemberMetrics {
	var all []MemberMetrics
	for i := range t.Stores {
		r := &t.Stores[i]
		if !slices.ContainsFunc(all, func(m MemberMetrics) bool { return m.Endpoint == r.Endpoint }) {
			all = append(all, memberMetrics(t, r.Name, r.Endpoint))
		}
	}
	place := func(m MemberMetrics) int {
		i := slices.IndexFunc(t.ByMember, func(b record.ByMember) bool { return b.Endpoint == m.Endpoint })
		// the index -1 means that the member is not in ByMember; such members come last
		return (i + len(t.ByMember) + 1) % (len(t.ByMember) + 1)
	}
	slices.SortStableFunc(all, func(a, b MemberMetrics) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func memberMetrics(t *record.Trial, name, endpoint string) MemberMetrics {
	m := MemberMetrics{Name: name, Endpoint: endpoint}
	var answers []*record.StoreRow
	var connects []time.Duration
	everAsked := false
	window := Span{}
	if t.Opened != nil {
		window = WindowOf(t)
	}
	for i := range t.Stores {
		r := &t.Stores[i]
		if r.Endpoint != endpoint {
			continue
		}
		everAsked = everAsked || r.ResponseTime > 0 || r.Failure != ""
		switch {
		case r.Failure != "":
			m.UnreadReason = r.Failure
		case r.Metrics != nil:
			answers, m.UnreadReason = append(answers, r), ""
		}
		asked := Span{From: r.Time.Add(-r.ResponseTime - r.ConnectTime), To: r.Time}
		if t.Opened == nil || !asked.Overlaps(window) || OverlapsFault(t, asked) {
			continue
		}
		if m.count(r); r.ConnectFailure == "" && r.ConnectTime > 0 {
			connects = append(connects, r.ConnectTime)
		}
	}
	if len(connects) > 0 {
		slices.Sort(connects)
		m.ConnectTimes = SpreadOfTimes{connects[0], connects[len(connects)/2], connects[len(connects)-1]}
	}
	if !everAsked && len(answers) == 0 {
		m.UnreadReason = "the store has none"
	}
	if m.HasReports = len(answers) > 0; !m.HasReports || t.Opened == nil {
		return m
	}
	first, last := nearestRow(answers, window.From), nearestRow(answers, window.To)
	near := Span{From: first.Time, To: last.Time}
	if near.From.Before(near.To) && !window.From.After(near.From.Add(windowMargin)) && !near.To.After(window.To.Add(windowMargin)) {
		m.Seconds, m.Metrics = near.To.Sub(near.From).Seconds(), last.Metrics.Since(first.Metrics)
		if HasFault(t) {
			m.Seconds, m.Metrics = outsideFaults(t, answers, near)
		}
	}
	return m
}

// count adds a row of stores.csv to the counts of status requests and TCP connections.
func (m *MemberMetrics) count(r *record.StoreRow) {
	if r.ResponseTime > 0 {
		m.StatusRequests++
		m.SlowestResponse = max(m.SlowestResponse, r.ResponseTime)
		if r.Failure != "" {
			m.UnansweredRequests++
		}
	}
	if r.ConnectFailure != "" {
		m.FailedConnects++
	}
	if r.ConnectFailure != "" || r.ConnectTime > 0 {
		m.ConnectAttempts++
	}
}

// outsideFaults returns a member's metrics for the parts of a span in which no fault was injected,
// and the total length of these parts in seconds.
func outsideFaults(t *record.Trial, responses []*record.StoreRow, span Span) (seconds float64, sum store.Sample) {
	for i, r := range responses[min(1, len(responses)):] {
		before := responses[i]
		between := Span{From: before.Time, To: r.Time}
		if before.Time.Before(span.From) || r.Time.After(span.To) || OverlapsFault(t, between) {
			continue
		}
		if sum == nil {
			sum = store.Sample{}
		}
		seconds += between.To.Sub(between.From).Seconds()
		for metric, reading := range r.Metrics.Since(before.Metrics) {
			if metric == store.PeerRoundTripSeconds && OverlapsFault(t, Span{From: *t.Opened, To: between.To}) {
				continue // the round trip may be a mean over minutes that include the fault
			}
			if !metric.Gauge() {
				reading = sum[metric].Plus(reading)
			}
			sum[metric] = reading
		}
	}
	return seconds, sum
}

// windowMargin is how far a row may be outside the window and still be used for its start or end.
const windowMargin = 5 * time.Second

// nearestRow returns the row whose time is nearest to the time `at`.
func nearestRow(rows []*record.StoreRow, at time.Time) *record.StoreRow {
	best := rows[0]
	for _, r := range rows {
		if r.Time.Sub(at).Abs() < best.Time.Sub(at).Abs() {
			best = r
		}
	}
	return best
}

// MetricIncrease returns the increase of a counter or timer between two rows. The result does not
// contain histogram buckets.
func MetricIncrease(metric store.Metric, current, before *record.StoreRow) store.Reading {
	to, from := current.Metrics[metric], before.Metrics[metric]
	to.Buckets, from.Buckets = nil, nil
	return to.Since(from)
}
