package limits

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

func leaders(m *samples.MemberMetrics) *Cause {
	n := m.Metrics[store.LeaderChanges].Value
	return causeIfExceeded(CauseElection, m.Name, n, 0, fmt.Sprintf("the leader changed: member %s counted %s in the window", m.Name, text.Plural(uint64(max(n, 0)), "change")))
}

// diskTimers lists the timers whose values depend on a member's disk.
var diskTimers = [...]struct {
	metric store.Metric
	name   string
	limit  time.Duration
}{{store.FsyncSeconds, "log fsync", limitFsyncP99}, {store.CommitSeconds, "database commit", limitCommitP99}}

// disks checks the times that a member reports for syncing its log and for committing its database.
func disks(t *record.Trial, m *samples.MemberMetrics) (out []*Cause) {
	if !t.HasKind(kv.Kind.Writes) {
		return nil
	}
	unsure := cpuWaitCaveat(t)
	for _, timer := range diskTimers {
		r := m.Metrics[timer.metric]
		how, took, _ := slowness(r)
		c := causeIfTooLong(CauseDisk, m.Name, took, timer.limit,
			fmt.Sprintf("member %s: %s %s %s over %.0f calls (limit %s)", m.Name, timer.name, how, durationText(took), r.Count, durationText(timer.limit))+unsure)
		if lower, upper, ok := r.Longest(); c == nil && ok && measure.ToDuration(lower) >= limitLongSync {
			c = &Cause{Kind: CauseDisk, Member: m.Name, Figure: lower, Unit: "s", Limit: limitLongSync.Seconds(),
				Text: fmt.Sprintf("member %s: longest %s %s to %s (limit %s)", m.Name, timer.name, durationText(measure.ToDuration(lower)), durationText(measure.ToDuration(upper)), durationText(limitLongSync)) + unsure}
		}
		out = append(out, c)
	}
	return out
}

// cpuWaitCaveat returns a caveat about a member's disk timers for a load during which all CPUs were
// busy. If a member waits for a CPU during a sync, its timer counts this wait as disk time. The
// disk probe shows whether the disk itself is slow.
func cpuWaitCaveat(t *record.Trial) string {
	d, _, when := dataFolder(t)
	what, took, ok := fdatasync(d)
	if !ok || took > limitFsyncP99 || t.SharesMachine == nil || !*t.SharesMachine || machine(t) == nil {
		return ""
	}
	return fmt.Sprintf("; fdatasync alone had a %s of %s %s the load, and all CPUs were busy, so the member may have waited for a CPU", what, durationText(took), when)
}

// slowness returns a timer's p99. If the timer has too few values for a p99, slowness returns the
// p90. If there are too few values even for a p90, it returns the median. If the timer has no
// buckets, or too few values even for a median, it returns the mean.
func slowness(r store.Reading) (name string, took time.Duration, ok bool) {
	for _, of := range []struct {
		p    float64
		name string
	}{{99, "p99"}, {90, "p90"}, {50, "median"}} {
		if at, ok := TimerPercentile(r, of.p); ok {
			return of.name, measure.ToDuration(at), true
		}
	}
	mean, ok := r.Mean()
	return "mean", measure.ToDuration(mean), ok
}

// TimerPercentile returns a timer's percentile in seconds. It returns false if the timer has too
// few values for this percentile.
func TimerPercentile(r store.Reading, p float64) (seconds float64, ok bool) {
	if !measure.Supports(p, uint64(max(r.Count, 0))) {
		return 0, false
	}
	return r.Quantile(p / 100)
}

// minCPUSeconds is the shortest time, in seconds, over which CPU use is checked. A member that
// restarted may have reported its CPU use for a shorter time.
const minCPUSeconds = 1

// processors checks the CPU time that a member reports for itself, if the member also reports how
// many CPUs it may use.
func processors(m *samples.MemberMetrics) *Cause {
	used, cores := m.Metrics[store.CPUSeconds].Value, m.Metrics[store.Processors].Value
	if cores <= 0 || m.Seconds < minCPUSeconds {
		return nil
	}
	share := used / (m.Seconds * cores)
	return causeIfExceeded(CauseCPU, m.Name, share, limitBusy, fmt.Sprintf("member %s used %s of its %.0f CPUs (%s in %s; limit %s)",
		m.Name, text.Share(min(share, 1)), cores, text.FixedSeconds(used, 1), text.FixedSeconds(m.Seconds, 1), text.Share(limitBusy)))
}

// roundTrips checks the network between the load generator and a member. It uses the times of TCP
// connects, because the member's operating system accepts a TCP connection without involving the
// member's process.
func roundTrips(t *record.Trial, m *samples.MemberMetrics) *Cause {
	if m.ConnectAttempts == m.FailedConnects && !slices.ContainsFunc(t.ByMember, func(b record.ByMember) bool { return b.Endpoint == m.Endpoint }) {
		return nil // the endpoint comes from the cluster, and this machine cannot reach it
	}
	var budget time.Duration // the time per operation at which all allowed clients are busy
	if t.Rate != nil && *t.Rate > 0 {
		budget = measure.ToDuration(float64(t.MaxInFlight) / *t.Rate)
	}
	between := fmt.Sprintf("the round trip to member %s ", m.Name)
	switch c := m.ConnectTimes; {
	case m.FailedConnects == 0 && generatorPaused(t, max(c.Median, c.Max)):
		return nil
	case m.FailedConnects > 0:
		return &Cause{Kind: CauseNetwork, Member: m.Name, Figure: float64(m.FailedConnects),
			Text: fmt.Sprintf("%d of %d TCP connections to member %s failed", m.FailedConnects, m.ConnectAttempts, m.Name)}
	case c.Median > limitRoundTrip:
		return causeIfTooLong(CauseNetwork, m.Name, c.Median, limitRoundTrip,
			between+fmt.Sprintf("has a median of %s over %d TCP connections (limit %s)", durationText(c.Median), m.ConnectAttempts, durationText(limitRoundTrip)))
	case budget > 0 && c.Min > budget/2:
		return causeIfTooLong(CauseNetwork, m.Name, c.Min, budget/2,
			between+fmt.Sprintf("takes at least %s, but with %d clients and %.0f operations per second, each operation may take only %s", durationText(c.Min), t.MaxInFlight, *t.Rate, durationText(budget)))
	case c.Max >= limitConnect:
		return &Cause{Kind: CauseNetwork, Member: m.Name, Figure: c.Max.Seconds(), Unit: "s", Limit: limitConnect.Seconds(),
			Text: fmt.Sprintf("packets to member %s were lost: one of %d TCP connects took %s (median %s)", m.Name, m.ConnectAttempts, durationText(c.Max), durationText(c.Median))}
	}
	return nil
}

func peers(t *record.Trial, m *samples.MemberMetrics) *Cause {
	how, took, _ := slowness(m.Metrics[store.PeerRoundTripSeconds])
	if !needsAgreement(t) {
		return nil
	}
	return causeIfTooLong(CauseNetwork, m.Name, took, limitPeerP99,
		fmt.Sprintf("the round trip between member %s and the other members: %s %s (limit %s)", m.Name, how, durationText(took), durationText(limitPeerP99)))
}

// silence checks whether a member responded late or not at all. The cause also contains the time of
// TCP connects to the member's machine, which shows whether the network was slow.
func silence(t *record.Trial, m *samples.MemberMetrics) *Cause {
	network := ""
	switch {
	case m.ConnectAttempts > m.FailedConnects:
		network = fmt.Sprintf("; TCP connects took %s (median)", durationText(m.ConnectTimes.Median))
		if m.ConnectTimes.Median <= limitRoundTrip {
			network += ": the process was slow, not the network"
		}
	case m.ConnectAttempts > 0:
		network = "; TCP connections to its machine failed"
	}
	if !m.HasReports {
		return nil
	}
	if m.UnansweredRequests > 0 {
		return &Cause{Kind: CauseMember, Member: m.Name, Figure: float64(m.UnansweredRequests),
			Text: fmt.Sprintf("member %s did not respond to %d of %d status requests%s", m.Name, m.UnansweredRequests, m.StatusRequests, network)}
	}
	if generatorPaused(t, m.SlowestResponse) {
		return nil
	}
	return causeIfTooLong(CauseMember, m.Name, m.SlowestResponse, limitSlowResponse,
		fmt.Sprintf("member %s: a status request took %s (limit %s)%s", m.Name, durationText(m.SlowestResponse), durationText(limitSlowResponse), network))
}

// folder checks the disk probe of the members' data folders, or of the folder that was probed after
// the load.
func folder(t *record.Trial) *Cause {
	d, where, when := dataFolder(t)
	what, took, ok := fdatasync(d)
	if !ok || !t.HasKind(kv.Kind.Writes) {
		return nil
	}
	return causeIfTooLong(CauseDisk, "", took, limitFsyncP99,
		fmt.Sprintf("fdatasync in %s (%s): %s %s over %d calls %s the load (limit %s)",
			where, d.FileSystem, what, durationText(took), d.Fdatasyncs, when, durationText(limitFsyncP99)))
}

// dataFolder returns the probe of the data folder's disk that ran after the load. If there is none,
// it returns the probe that ran before the load, provided that writes wait for that disk.
// Otherwise, it returns nil.
func dataFolder(t *record.Trial) (d *measure.Durability, location, timing string) {
	switch {
	case t.DataDir != nil:
		return &t.DataDir.Durability, t.DataDir.Path, "after"
	case t.Durability != nil && t.Durability.Synced:
		return t.Durability, "the members' data folder", "before"
	}
	return nil, "", ""
}

// fdatasync returns the p99 of a disk probe. If there were too few syncs for a p99, it returns the
// median, which is never above the p99.
func fdatasync(d *measure.Durability) (figureName string, took time.Duration, ok bool) {
	if d == nil {
		return "", 0, false
	}
	if p99 := d.P99(); p99.Known {
		return "p99", time.Duration(p99.NS), true
	}
	p50 := d.P50()
	return "median", time.Duration(p50.NS), p50.Known
}

// needsAgreement reports whether the load has operations on which the members must agree.
func needsAgreement(t *record.Trial) bool {
	return slices.ContainsFunc(t.Mix, func(o scenario.Operation) bool { return o.Kind.Writes() || o.Consistency == kv.Linearizable })
}
