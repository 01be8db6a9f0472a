package analyze

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// MemberMetrics holds a member's own metrics in a trial's window, and its reachability, from
// stores.csv.
type MemberMetrics struct {
	Name, Endpoint string
	// Seconds is the time between the two rows from whose difference Metrics is computed: the
	// nearest to the start and the end of the window. Metrics is nil without two such rows; Unread
	// explains why the member reported nothing. Injected faults are excluded from all figures.
	Seconds float64
	Metrics store.Sample
	Unread  string
	Reports bool // it responded to at least one request of the trial

	Asked      int           // requests in the window
	Unanswered int           // requests without a response
	Slowest    time.Duration // of the responses, or of waiting for a missing one

	Connects int           // TCP connections tried
	Refused  int           // connections that failed
	Connect  SpreadOfTimes // times of the successful ones
}

// SpreadOfTimes holds the minimum, median and maximum of some times.
type SpreadOfTimes struct{ Min, Median, Max time.Duration }

// MembersMetrics returns the metrics of all members in the order of ByMember, then other members
// by name, because rows are in the order of the responses. The trial's files have been read
// (record.Run.ReadEvents).
func MembersMetrics(t *record.Trial) []MemberMetrics {
	var all []MemberMetrics
	for i := range t.Stores {
		r := &t.Stores[i]
		if !slices.ContainsFunc(all, func(m MemberMetrics) bool { return m.Endpoint == r.Endpoint }) {
			all = append(all, memberMetrics(t, r.Name, r.Endpoint))
		}
	}
	place := func(m MemberMetrics) int {
		i := slices.IndexFunc(t.ByMember, func(b record.ByMember) bool { return b.Endpoint == m.Endpoint })
		return (i + len(t.ByMember) + 1) % (len(t.ByMember) + 1) // -1 is behind all
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
		everAsked = everAsked || r.Answer > 0 || r.Failure != ""
		switch {
		case r.Failure != "":
			m.Unread = r.Failure
		case r.Metrics != nil:
			answers, m.Unread = append(answers, r), ""
		}
		asked := Span{r.Time.Add(-r.Answer - r.Connect), r.Time}
		if t.Opened == nil || !asked.overlaps(window) || inFault(t, asked) {
			continue
		}
		if m.count(r); r.ConnectFailure == "" && r.Connect > 0 {
			connects = append(connects, r.Connect)
		}
	}
	if len(connects) > 0 {
		slices.Sort(connects)
		m.Connect = SpreadOfTimes{connects[0], connects[len(connects)/2], connects[len(connects)-1]}
	}
	if !everAsked && len(answers) == 0 {
		m.Unread = "the store has none"
	}
	if m.Reports = len(answers) > 0; !m.Reports || t.Opened == nil {
		return m
	}
	first, last := nearestRow(answers, window.From), nearestRow(answers, window.To)
	near := Span{first.Time, last.Time}
	if near.From.Before(near.To) && !window.From.After(near.From.Add(windowMargin)) && !near.To.After(window.To.Add(windowMargin)) {
		m.Seconds, m.Metrics = near.To.Sub(near.From).Seconds(), last.Metrics.Since(first.Metrics)
		if faulty(t) {
			m.Seconds, m.Metrics = outsideFaults(t, answers, near)
		}
	}
	return m
}

// count adds a request to the member in the window.
func (m *MemberMetrics) count(r *record.StoreRow) {
	if r.Answer > 0 {
		m.Asked++
		m.Slowest = max(m.Slowest, r.Answer)
		if r.Failure != "" {
			m.Unanswered++
		}
	}
	if r.ConnectFailure != "" {
		m.Refused++
	}
	if r.ConnectFailure != "" || r.Connect > 0 {
		m.Connects++
	}
}

// outsideFaults returns the metrics of a member in the parts of a span without a fault, and the
// length of these parts in seconds.
func outsideFaults(t *record.Trial, answers []*record.StoreRow, in Span) (seconds float64, sum store.Sample) {
	for i, r := range answers[min(1, len(answers)):] {
		before := answers[i]
		between := Span{before.Time, r.Time}
		if before.Time.Before(in.From) || r.Time.After(in.To) || inFault(t, between) {
			continue
		}
		if sum == nil {
			sum = store.Sample{}
		}
		seconds += between.To.Sub(between.From).Seconds()
		for metric, reading := range r.Metrics.Since(before.Metrics) {
			if metric == store.PeerRoundTripSeconds && inFault(t, Span{*t.Opened, between.To}) {
				continue // it can be a mean over minutes, which includes the fault
			}
			if !metric.Gauge() {
				reading = sum[metric].Plus(reading)
			}
			sum[metric] = reading
		}
	}
	return seconds, sum
}

// windowMargin is the distance from the window at which a row still represents it.
const windowMargin = 5 * time.Second

// nearestRow returns the row nearest to a time.
func nearestRow(rows []*record.StoreRow, at time.Time) *record.StoreRow {
	best := rows[0]
	for _, r := range rows {
		if r.Time.Sub(at).Abs() < best.Time.Sub(at).Abs() {
			best = r
		}
	}
	return best
}
