package analyze

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// What limits a trial.
const (
	CauseAlarm    = "alarm"
	CauseElection = "leader change"
	CauseDisk     = "disk"
	CauseCPU      = "cpu of a member"
	CauseTester   = "cpu of the tester"
	CauseOthers   = "other programs"
	CauseNetwork  = "network"
	CauseMember   = "member"
	CauseMemory   = "memory"
)

// The rules' limits. docs/check.md says where each comes from.
const (
	limitFsyncP99   = 10 * time.Millisecond
	limitCommitP99  = 25 * time.Millisecond
	limitLongSync   = mostSlow / 2 // of one sync or commit, where the slowest write is at stake
	limitPeerP99    = 150 * time.Millisecond
	limitRoundTrip  = 100 * time.Millisecond // median of TCP connects
	limitConnect    = time.Second            // the longest: a lost packet is sent again after 1 s
	limitBusy       = 0.85                   // share of the processors
	limitRunDelay   = 0.10                   // share of the window
	limitPause      = 100 * time.Millisecond
	limitSlowAnswer = mostSlow / 2 // of a member's metrics
	limitForeign    = 0.10         // share of the processors that is worth a word
)

// When a trial is slow: at so small a share of its rate, or from such times on. The limits are those of `check perf`.
const (
	leastShare = 0.9
	mostP99    = 100 * time.Millisecond
	mostSlow   = 500 * time.Millisecond // of one operation
)

// Cause is one thing that limits a trial, with the figure that it rests on.
type Cause struct {
	What   string  `json:"what"`             // one of the constants
	Member string  `json:"member,omitempty"` // where it is one's
	Text   string  `json:"text"`             // a sentence
	Figure float64 `json:"figure,omitempty"`
	Unit   string  `json:"unit,omitempty"` // of the figure: s, or empty for a count or a share of 1
	Limit  float64 `json:"limit,omitempty"`
}

// Limits is what limited a trial, by rules of which each rests on one figure, and
// what the rules had to go by. A trial of which nothing can be said has no
// causes.
type Limits struct {
	Trial  *record.Trial
	Causes []Cause
	Looked []string
}

// Slow reports whether to ask what limited a trial: one that kept its rate, if it
// had one, and was quick needs no explanation.
func Slow(t *record.Trial) bool {
	if !Measured(t) || t.State == record.Interrupted {
		return false
	}
	if faulty(t) {
		return slowBesideFaults(t)
	}
	p99 := t.ResponseTime.At(99)
	switch {
	case t.Open() && t.Rate != nil && t.Seconds >= 1 && // in less, a rate is chance
		t.PerSecond <= leastShare**t.Rate:
		return true
	case p99.Failed || p99.Known && p99.NS > float64(mostP99):
		return true
	}
	slowest := t.SuccessResponseTime.Max
	return slowest.Known && slowest.NS > float64(mostSlow) || t.LongestGap > mostSlow.Seconds()
}

// WhatLimited is what limited a trial, whose files have been read
// (record.Run.ReadEvents).
func WhatLimited(t *record.Trial) Limits {
	l := Limits{Trial: t}
	if !Measured(t) {
		return l
	}
	// Members that wait for a processor find all else slow too, so that it comes first.
	full := machine(t)
	if full != nil && full.What != CauseTester {
		l.add(full)
	}
	members := MembersMetrics(t)
	for i := range members {
		m := &members[i]
		l.add(leaders(m))
		l.add(disks(t, m)...)
		l.add(processors(m))
		l.add(roundTrips(t, m))
		l.add(peers(t, m))
		l.add(silence(t, m))
	}
	if rose := t.TermChanges - t.MeantTermChanges; !slices.ContainsFunc(l.Causes, func(c Cause) bool { return c.What == CauseElection }) && rose > 0 {
		l.add(&Cause{What: CauseElection, Figure: float64(rose), Text: fmt.Sprintf("the leader changed: the cluster's term rose by %d", rose)})
	}
	for i := range t.ByMember {
		for _, a := range slices.Sorted(slices.Values(t.ByMember[i].Alarms)) { // the member has them in any order
			name := t.ByMember[i].Name
			l.add(&Cause{What: CauseAlarm, Member: name, Text: fmt.Sprintf("member %s raises the alarm %s", name, a)})
		}
	}
	l.add(folder(t))
	if full != nil && full.What == CauseTester {
		l.add(full)
	}
	l.add(loops(t)...)
	l.add(heldBack(t)...)
	l.add(contention(t))
	l.add(machineSeconds(t)...)
	l.add(machineTotals(t)...)
	l.add(pauses(t)...)
	l.Looked = evidence(t, members)
	return l
}

// Worst is the cause of each kind that is furthest beyond its limit, where a
// trial is slow or suspect, and how many more of that kind there are. What made a
// trial suspect that was not slow, its verdict says.
func (l *Limits) Worst() (worst []Cause, more []int) {
	slow := Slow(l.Trial)
	if !slow && l.Trial.Verdict.State != verdict.Suspect {
		return nil, nil
	}
	return worstOfKinds(l.Causes, func(c *Cause) bool { return !slow && (c.What == CauseTester || c.What == CauseElection) })
}

// worstOfKinds returns the cause of each kind that is furthest beyond its limit, and how
// many more of that kind there are, without those to skip.
func worstOfKinds(all []Cause, skip func(*Cause) bool) (worst []Cause, more []int) {
	for _, c := range all {
		if skip(&c) {
			continue
		}
		i := slices.IndexFunc(worst, func(w Cause) bool { return w.What == c.What })
		switch {
		case i < 0:
			worst, more = append(worst, c), append(more, 0)
			continue
		case c.excess() > worst[i].excess():
			worst[i] = c
		}
		more[i]++
	}
	return worst, more
}

// excess is how many times its limit the figure is.
func (c *Cause) excess() float64 {
	if c.Limit <= 0 {
		return c.Figure
	}
	return c.Figure / c.Limit
}

// add takes what there is.
func (l *Limits) add(causes ...*Cause) {
	for _, c := range causes {
		if c != nil {
			l.Causes = append(l.Causes, *c)
		}
	}
}

// over is a cause with its figure; nil if that is within its limit.
func over(what, member string, figure, limit float64, text string) *Cause {
	if figure <= limit {
		return nil
	}
	return &Cause{What: what, Member: member, Text: text, Figure: figure, Limit: limit}
}

// overLimit is one whose figure is a time.
func overLimit(what, member string, took, limit time.Duration, text string) *Cause {
	c := over(what, member, took.Seconds(), limit.Seconds(), text)
	if c != nil {
		c.Unit = "s"
	}
	return c
}

func spent(d time.Duration) string { return measure.Duration(float64(d)) }

// DurationOf returns a length of seconds, as long as there is one.
func DurationOf(seconds float64) time.Duration {
	return time.Duration(min(seconds*1e9, float64(1<<62)))
}

func leaders(m *MemberMetrics) *Cause {
	n := m.Metrics[store.LeaderChanges].Value
	return over(CauseElection, m.Name, n, 0, fmt.Sprintf("the leader changed: member %s counted %s in the window", m.Name, text.Plural(uint64(max(n, 0)), "change")))
}

// diskTimers are the timers that a member's disk decides.
var diskTimers = [...]struct {
	metric store.Metric
	name   string
	limit  time.Duration
}{{store.FsyncSeconds, "fsync of its log", limitFsyncP99}, {store.CommitSeconds, "commit of its database", limitCommitP99}}

// disks judges the member's own times of its log's sync and its database's
// commit.
func disks(t *record.Trial, m *MemberMetrics) (out []*Cause) {
	if !writes(t) {
		return nil
	}
	unsure := waitedForProcessors(t)
	for _, timer := range diskTimers {
		r := m.Metrics[timer.metric]
		how, took, _ := slowness(r)
		c := overLimit(CauseDisk, m.Name, took, timer.limit,
			fmt.Sprintf("member %s's %s had %s of %s over %.0f of them (limit %s)", m.Name, timer.name, how, spent(took), r.Count, spent(timer.limit))+unsure)
		if lower, upper, ok := r.Longest(); c == nil && ok && DurationOf(lower) >= limitLongSync {
			c = &Cause{What: CauseDisk, Member: m.Name, Figure: lower, Unit: "s", Limit: limitLongSync.Seconds(),
				Text: fmt.Sprintf("member %s's longest %s took from %s to %s (limit %s)", m.Name, timer.name, spent(DurationOf(lower)), spent(DurationOf(upper)), spent(limitLongSync)) + unsure}
		}
		out = append(out, c)
	}
	return out
}

// waitedForProcessors is what to say of a member's disk timers where processors
// were full: a member that gets none while it waits for its disk takes that for
// the disk's time. What the disk does alone shows whether it can be as slow.
func waitedForProcessors(t *record.Trial) string {
	d, _, when := dataFolder(t)
	what, took, ok := fdatasync(d)
	if !ok || took > limitFsyncP99 || t.Shared == nil || !*t.Shared || machine(t) == nil {
		return ""
	}
	return fmt.Sprintf("; fdatasync alone has %s of %s, %s the load, and the processors were full: the member may have waited for one", what, spent(took), when)
}

// slowness returns a timer's p99, or the highest of its p90 and median that its times
// support, or its mean where there are no buckets or fewer times.
func slowness(r store.Reading) (how string, took time.Duration, ok bool) {
	for _, of := range []struct {
		p    float64
		name string
	}{{99, "a p99"}, {90, "a p90"}, {50, "a median"}} {
		if at, ok := TimerPercentile(r, of.p); ok {
			return of.name, DurationOf(at), true
		}
	}
	mean, ok := r.Mean()
	return "a mean", DurationOf(mean), ok
}

// TimerPercentile returns a timer's percentile in seconds; false where its times do not support
// it.
func TimerPercentile(r store.Reading, p float64) (seconds float64, ok bool) {
	if !measure.Supports(p, uint64(max(r.Count, 0))) {
		return 0, false
	}
	return r.Quantile(p / 100)
}

// processors judges a member's own processor time, where it reports how many
// processors it may use.
func processors(m *MemberMetrics) *Cause {
	used, cores := m.Metrics[store.CPUSeconds].Value, m.Metrics[store.Processors].Value
	if cores <= 0 || m.Seconds <= 0 {
		return nil
	}
	share := used / (m.Seconds * cores)
	return over(CauseCPU, m.Name, share, limitBusy, fmt.Sprintf("member %s used %s of its %.0f processors (%.1f s in %.1f s; limit %s)",
		m.Name, measure.Percent(min(share, 1)), cores, used, m.Seconds, measure.Percent(limitBusy)))
}

// roundTrips judges the network between us and a member: a TCP connection is
// accepted by its system, in which its program has no part.
func roundTrips(t *record.Trial, m *MemberMetrics) *Cause {
	if m.Connects == m.Refused && !slices.ContainsFunc(t.ByMember, func(b record.ByMember) bool { return b.Endpoint == m.Endpoint }) {
		return nil // the cluster names it so, and from here it is not to be reached there
	}
	var budget time.Duration // for each operation, where no more clients can wait
	if t.Rate != nil && *t.Rate > 0 {
		budget = DurationOf(float64(t.MaxInFlight) / *t.Rate)
	}
	between := fmt.Sprintf("the round trip between this program and member %s ", m.Name)
	switch c := m.Connect; {
	case m.Refused == 0 && stoodStill(t, max(c.Median, c.Max)):
		return nil
	case m.Refused > 0:
		return &Cause{What: CauseNetwork, Member: m.Name, Figure: float64(m.Refused),
			Text: fmt.Sprintf("%d of %d TCP connections to member %s did not come to be", m.Refused, m.Connects, m.Name)}
	case c.Median > limitRoundTrip:
		return overLimit(CauseNetwork, m.Name, c.Median, limitRoundTrip,
			between+fmt.Sprintf("has a median of %s over %d TCP connections (limit %s)", spent(c.Median), m.Connects, spent(limitRoundTrip)))
	case budget > 0 && c.Min > budget/2:
		return overLimit(CauseNetwork, m.Name, c.Min, budget/2,
			between+fmt.Sprintf("takes at least %s, and %d clients that are to do %.0f operations a second have %s for each", spent(c.Min), t.MaxInFlight, *t.Rate, spent(budget)))
	case c.Max >= limitConnect:
		return &Cause{What: CauseNetwork, Member: m.Name, Figure: c.Max.Seconds(), Unit: "s", Limit: limitConnect.Seconds(),
			Text: fmt.Sprintf("packets between this program and member %s are lost: one of %d TCP connections took %s, and their median is %s", m.Name, m.Connects, spent(c.Max), spent(c.Median))}
	}
	return nil
}

func peers(t *record.Trial, m *MemberMetrics) *Cause {
	how, took, _ := slowness(m.Metrics[store.PeerRoundTripSeconds])
	if !agrees(t) {
		return nil
	}
	return overLimit(CauseNetwork, m.Name, took, limitPeerP99,
		fmt.Sprintf("the round trip between member %s and the other members had %s of %s (limit %s)", m.Name, how, spent(took), spent(limitPeerP99)))
}

// silence finds a member that stood still: it did not answer for long, while a
// new TCP connection to its machine was quick.
func silence(t *record.Trial, m *MemberMetrics) *Cause {
	network := ""
	switch {
	case m.Connects > m.Refused:
		network = fmt.Sprintf("; its machine accepts TCP connections in %s (median)", spent(m.Connect.Median))
	case m.Connects > 0:
		network = "; its machine accepted no TCP connection meanwhile"
	}
	if !m.Reports {
		return nil
	}
	if m.Unanswered > 0 {
		return &Cause{What: CauseMember, Member: m.Name, Figure: float64(m.Unanswered),
			Text: fmt.Sprintf("member %s did not answer %d of %d questions about itself%s", m.Name, m.Unanswered, m.Asked, network)}
	}
	if stoodStill(t, m.Slowest) {
		return nil
	}
	return overLimit(CauseMember, m.Name, m.Slowest, limitSlowAnswer,
		fmt.Sprintf("member %s took %s to answer a question about itself (limit %s)%s", m.Name, spent(m.Slowest), spent(limitSlowAnswer), network))
}

// stoodStill reports whether this program itself did not run for so long that a time which
// it measured by its own clock is no member's and no network's: half of it at least.
func stoodStill(t *record.Trial, took time.Duration) bool {
	pause := time.Duration(t.LongestPauseNS)
	return pause > limitPause && pause >= took/2
}

// folder judges the measurement in the members' data folders, or in the one that
// was looked at after the load.
func folder(t *record.Trial) *Cause {
	d, where, when := dataFolder(t)
	what, took, ok := fdatasync(d)
	if !ok || !writes(t) {
		return nil
	}
	return overLimit(CauseDisk, "", took, limitFsyncP99,
		fmt.Sprintf("fdatasync in %s (%s) has %s of %s over %d of them, %s the load (limit %s)",
			where, d.FileSystem, what, spent(took), d.Fdatasyncs, when, spent(limitFsyncP99)))
}

// dataFolder is the measurement that is nearest to the load, where writes wait
// for it; nil without any.
func dataFolder(t *record.Trial) (d *record.Durability, where, when string) {
	switch {
	case t.DataDir != nil:
		return &t.DataDir.Durability, t.DataDir.Path, "after"
	case t.Durability != nil && t.Durability.Synced:
		return t.Durability, "the members' data folder", "before"
	}
	return nil, "", ""
}

// fdatasync is the p99 of a measurement, or the median where so few were made
// that the p99 is not known: it is at least as slow.
func fdatasync(d *record.Durability) (what string, took time.Duration, ok bool) {
	if d == nil {
		return "", 0, false
	}
	if p99 := d.P99(); p99.Known {
		return "a p99", time.Duration(p99.NS), true
	}
	p50 := d.P50()
	return "a median", time.Duration(p50.NS), p50.Known
}

// machine judges the processors of this program's machine, which members may
// share, and others.
func machine(t *record.Trial) *Cause {
	if t.BusyShare == nil || *t.BusyShare <= limitBusy || t.Machine == nil {
		return nil
	}
	c := &Cause{What: CauseTester, Figure: *t.BusyShare, Limit: limitBusy}
	c.Text = fmt.Sprintf("the %d processors of this machine were in use %s of the time (limit %s)", t.Machine.CPUs, measure.Percent(*t.BusyShare), measure.Percent(limitBusy))
	if t.Shared != nil && *t.Shared {
		c.What = CauseCPU
		c.Text += ", which this program shares with the members"
	}
	if t.ForeignShare != nil && *t.ForeignShare > limitForeign {
		c.Text += fmt.Sprintf("; other programs used %s", measure.Percent(*t.ForeignShare))
		if names := programsUsed(t); names != "" {
			c.Text += " (" + names + ")"
		}
		if *t.BusyShare-*t.ForeignShare <= limitBusy { // without them it would not have been full
			c.What = CauseOthers
		}
	}
	return c
}

// loops judges this program.
func loops(t *record.Trial) []*Cause {
	window := t.Seconds * float64(t.Loops) * 1e9
	if window <= 0 {
		return nil
	}
	share := func(ns int64, limit float64, text string) *Cause {
		figure := float64(ns) / window
		return over(CauseTester, "", figure, limit, fmt.Sprintf(text, measure.Percent(min(figure, 1)), measure.Percent(limit)))
	}
	pause := time.Duration(t.LongestPauseNS)
	out := []*Cause{
		share(t.LoopCPUNS, limitBusy, "this program's event loops were busy %s of the time (limit %s): give it more of them with --threads"),
		share(t.RunDelayNS, limitRunDelay, "this program waited for a processor %s of the time (limit %s)"),
		overLimit(CauseTester, "", pause, limitPause, fmt.Sprintf("this program stood still for %s (limit %s)", spent(pause), spent(limitPause))),
	}
	if t.ThrottledNS != nil {
		held := time.Duration(*t.ThrottledNS)
		out = append(out, overLimit(CauseTester, "", held, limitPause, "a CPU limit on this program held it back for "+spent(held)))
	}
	return out
}
