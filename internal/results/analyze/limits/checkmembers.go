package limits

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// MembersCheck compares the members of a cluster to find slow members.
type MembersCheck struct {
	Trial   *record.Trial
	Members []CheckedMember
	Pass    bool
}

// CheckedMember holds the results for one member. Times are in nanoseconds.
type CheckedMember struct {
	Name, Endpoint, Role string
	Operations, Errors   uint64
	Reads, Writes        record.Times // measured from when an operation became due
	// RoundTrip is the shortest time in which the member's machine accepted a TCP connection. Fsync
	// and Commit are the p99s of the timers that the member reports. Each is unknown if there are
	// no values.
	RoundTrip, Fsync, Commit measure.Figure
	// SlowReasons contains a phrase for each figure that shows that the member is slow, and a
	// phrase about the member's errors.
	SlowReasons []string
}

// A member is slow if one of its figures is more than slowRatio times the members' median and also
// at least minSlowDifference above the median. For round trips, slowRoundTrip is used instead of
// minSlowDifference. The absolute limits are needed because the members of a healthy cluster differ
// by small amounts.
const (
	slowRatio         = 2
	minSlowDifference = 5 * time.Millisecond
	slowRoundTrip     = 2 * time.Millisecond
)

// CheckMembers compares the members in a trial whose load went to each member in turn.
func CheckMembers(t *record.Trial) MembersCheck {
	c := MembersCheck{Trial: t, Pass: len(t.Absent) == 0}
	metrics := samples.AllMemberMetrics(t)
	for i := range t.ByMember {
		b := &t.ByMember[i]
		if b.Name == "" || b.Operations+b.Errors == 0 && b.Connections == nil {
			continue
		}
		m := CheckedMember{Name: b.Name, Endpoint: b.Endpoint, Role: roleOf(t, b.ID), Operations: b.Operations, Errors: b.Errors}
		for _, s := range b.ByOperation {
			if s.Operation == kv.Put.String() {
				m.Writes = s.ResponseTime
			} else {
				m.Reads = s.ResponseTime
			}
		}
		if at := slices.IndexFunc(metrics, func(o samples.MemberMetrics) bool { return o.Endpoint == b.Endpoint }); at >= 0 {
			m.addMetrics(&metrics[at])
		}
		if b.Errors > 0 {
			m.SlowReasons = append(m.SlowReasons, fmt.Sprintf("%s of its %s failed", text.Count(b.Errors), text.Plural(b.Operations+b.Errors, "operation")))
		}
		c.Members = append(c.Members, m)
	}
	for _, f := range memberFigures(c.Members) {
		markSlow(c.Members, f)
	}
	for i := range c.Members {
		c.Pass = c.Pass && len(c.Members[i].SlowReasons) == 0
	}
	return c
}

// roleOf returns the last known role of a member, or an empty string if no role is known.
func roleOf(t *record.Trial, id record.ID) (role string) {
	term := uint64(0)
	for _, r := range t.Roles {
		if r.Member == id && r.Term >= term {
			role, term = r.Role, r.Term
		}
	}
	return role
}

// addMetrics adds figures that the member itself reported, and the round trip.
func (m *CheckedMember) addMetrics(metrics *samples.MemberMetrics) {
	if metrics.ConnectTimes.Min > 0 {
		m.RoundTrip = measure.Figure{NS: float64(metrics.ConnectTimes.Min), Known: true}
	}
	m.Fsync, m.Commit = timerP99(metrics.Metrics[store.FsyncSeconds]), timerP99(metrics.Metrics[store.CommitSeconds])
}

func timerP99(r store.Reading) measure.Figure {
	seconds, ok := TimerPercentile(r, 99)
	return measure.Figure{NS: seconds * float64(time.Second), Known: ok}
}

// memberFigure is a figure by which members are compared. A member is slow only if its figure is at
// least `minDifference` above the median.
type memberFigure struct {
	name          string
	value         func(*CheckedMember) measure.Figure
	minDifference time.Duration
}

// memberFigures returns the figures by which members are compared. For response times, these are
// the p50 and the p99. If there are too few operations for a p99, the p90 replaces it.
func memberFigures(members []CheckedMember) []memberFigure {
	all := []memberFigure{
		{"round trip", func(m *CheckedMember) measure.Figure { return m.RoundTrip }, slowRoundTrip},
		{"fsync p99", func(m *CheckedMember) measure.Figure { return m.Fsync }, minSlowDifference},
		{"commit p99", func(m *CheckedMember) measure.Figure { return m.Commit }, minSlowDifference},
	}
	for _, kind := range []struct {
		name string
		of   func(*CheckedMember) record.Times
	}{{"writes", func(m *CheckedMember) record.Times { return m.Writes }}, {"reads", func(m *CheckedMember) record.Times { return m.Reads }}} {
		p := 99.0
		if slices.ContainsFunc(members, func(m CheckedMember) bool { f := kind.of(&m).Percentile(p); return !f.Known && !f.Failed }) {
			p = 90
		}
		for _, p := range []float64{p, 50} {
			all = slices.Insert(all, 0, memberFigure{fmt.Sprintf("%s p%g", kind.name, p), func(m *CheckedMember) measure.Figure { return kind.of(m).Percentile(p) }, minSlowDifference})
		}
	}
	return all
}

// markSlow adds a phrase to each member whose figure is much higher than the median.
func markSlow(members []CheckedMember, f memberFigure) {
	var known []float64
	for i := range members {
		if at := f.value(&members[i]); at.Known {
			known = append(known, at.NS)
		}
	}
	if len(known) < 2 {
		return
	}
	slices.Sort(known)
	median := known[(len(known)-1)/2]
	for i := range members {
		at := f.value(&members[i])
		if at.Known && at.NS > slowRatio*median && at.NS-median >= float64(f.minDifference) {
			members[i].SlowReasons = append(members[i].SlowReasons, fmt.Sprintf("%s %s (median of the members: %s)", f.name, at.Text(), text.Duration(median)))
		}
	}
}
