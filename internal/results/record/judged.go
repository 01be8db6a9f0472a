package record

import (
	"cmp"
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// figures returns the facts that the verdict's rules need. ranForLoad is the value of
// Observed.RanForLoad.
func (t *Trial) figures(all *sums, m, warmup *measure.Totals, ranForLoad *float64) verdict.Figures {
	f := verdict.Figures{
		OpenLoop: t.Open(), Interrupted: t.State == Interrupted, Seconds: t.Seconds,
		Due: t.Due, Succeeded: t.Operations, Failed: t.Errors, FailedBy: t.ErrorsByKind, Timed: count(all.response) + all.failed(),
		Misses: t.Misses, FoundNothing: foundNothing(m), WrongAnswers: t.WrongAnswers, Unreported: m.Unreported, Done: t.Completed,
		ServiceP50NS: measure.Percentile(all.service, 0, 50).NS,
		Response:     t.SuccessResponseTime.Summary,
		Headline:     t.Headline().Summary,
		Rate:         orZero(t.Rate),
		Load: verdict.Load{
			Clients: t.Clients, MeanInFlight: t.MeanInFlight, MeanResting: t.MeanResting + t.meanOutside(), MaxInFlight: t.MaxInFlight,
			Capped: t.Capped, NoRoom: t.NoRoom, CarriedIn: t.CarriedIn, CarriedInAgeNS: t.CarriedInAgeNS,
			Writes: t.hasKind(kv.Kind.Writes), Deletes: t.hasKind(func(k kv.Kind) bool { return k == kv.Delete }),
			Preloaded: t.Preload, ValueSize: t.ValueSize, Waiting: waited(&m.Disturbed),
			Connections: t.Connections, ConnectionWaitNS: t.ConnectionWaitNS, HeadlineIsResponse: t.HeadlineTime() == Response,
		},
		Generator: verdict.Generator{
			Loops: t.Loops, LoopCPUNS: t.LoopCPUNS, RunDelayNS: t.RunDelayNS, PausedNS: m.Paused, LongestPauseNS: t.LongestPauseNS,
			ThrottledNS: orZero(t.ThrottledNS), MembersShare: orZero(t.Shared), ForeignKnown: t.ForeignShare != nil,
			StolenShare: orZero(t.StolenShare), BusyShare: orZero(t.BusyShare), ForeignShare: orZero(t.ForeignShare),
		},
		Cluster:    verdict.Cluster{LostMembers: t.LostMembers, TermChanges: t.TermChanges - t.TermChangesInFaults},
		Faults:     verdict.Faults{Injected: doneFaults(t.Faults), ErrorsInFaults: t.ErrorsInFaults, FaultFailures: failedFaults(t.Faults)},
		Durability: verdict.Durability{VolatileAllowed: t.AllowVolatile},
	}
	if warmup != nil {
		f.WrongAnswers += warmup.Outcomes[kv.WrongAnswer]
		f.Unreported += warmup.Unreported
	}
	if t.ByWorker != nil {
		f.Workers = t.workers(m, ranForLoad)
	}
	f.Hosts, f.OwnClock = t.hosts(), t.ClockSet.figures()
	f.Added = t.Overhead.figures()
	f.TotalNS, f.LongestNS = totalTimes(all, m, warmup)
	if t.Watch != nil {
		f.Events = t.Watch.figures(t.Load.Watch, &m.Watch)
	}
	if t.Hashes != nil {
		f.Disagreement, f.Incomparable = t.Hashes.disagreement(), t.Hashes.Failure
	}
	if a := t.Answers; a != nil {
		f.BrokenPromises, f.Unverified = a.WrongAnswers(), cmp.Or(a.Failure, a.unread(), a.unjudged())
		f.HistoryShare = orZero(a.DiskShare)
	}
	if m.Disturbed.Own != nil {
		f.OwnLatenessP99NS = measure.Percentile(m.Disturbed.Own, 0, 99).NS
	}
	if t.Machine != nil {
		f.Processors = t.Machine.CPUs
	}
	headline := all.service
	if t.HeadlineTime() == Response {
		headline = all.response
	}
	f.Quantile = func(p float64) float64 { return measure.Percentile(headline, t.Errors, p).NS }
	f.MembersBusy, f.OperationCPUNS = t.membersWork()
	if d := t.Durability; d != nil {
		f.DurabilityKnown, f.FileSystem, f.Volatile, f.Unsynced = true, d.FileSystem, d.Volatile, !d.Synced
	}
	return f
}

// membersWork returns upper bounds for two numbers: the share of the machine's CPU time that the
// members used, and the members' CPU time per operation in nanoseconds. If the members' processes
// are not known, it attributes all CPU time to the members that neither the generator nor other
// programs used. Both results are 0 if they are not known.
func (t *Trial) membersWork() (share, operation float64) {
	if t.Machine == nil || t.Machine.CPUs <= 0 || t.Seconds <= 0 || t.Completed == 0 || t.BusyShare == nil {
		return 0, 0
	}
	whole := float64(t.Machine.CPUs) * t.Seconds
	used := max((*t.BusyShare-orZero(t.ForeignShare))*whole-t.CPUSeconds, 0)
	if t.StoreCPUSeconds != nil {
		used = *t.StoreCPUSeconds
	}
	return min(used/whole, 1), 1e9 * used / float64(t.Completed)
}

// halves summarizes the two halves of the window. It uses only whole seconds. If their number is
// odd, it omits the middle second.
func halves(a *Answered, seconds float64) (all [2]verdict.Half) {
	if a == nil {
		return all
	}
	whole := min(int(seconds), len(a.Done))
	n := whole / 2
	for i, done := range [][]uint64{a.Done[:n], a.Done[whole-n : whole]} {
		h := &all[i]
		h.Seconds = n
		for _, x := range done {
			h.PerSecond += float64(x) / float64(n)
		}
		if n < 2 {
			continue
		}
		squares := 0.0
		for _, x := range done {
			squares += (float64(x) - h.PerSecond) * (float64(x) - h.PerSecond)
		}
		h.Error = math.Sqrt(squares / float64(n-1) / float64(n))
	}
	return all
}

// totalTimes returns the sum of the times of all operations in the window. It also returns the
// longest time of any operation that was in the window or in flight when the window opened. The
// operations that were in flight when the window opened are in the histograms of the warm-up.
// Without these histograms, it assumes that such an operation may have taken as long as the window.
func totalTimes(all *sums, m, warmup *measure.Totals) (sum, longest float64) {
	sum, most := all.total()
	longest = float64(most)
	switch {
	case m.CarriedIn == 0:
	case warmup == nil:
		longest = math.Max(longest, 1e9*m.Seconds)
	default:
		before := &sums{}
		for _, c := range warmup.Cells {
			before.add(c)
		}
		_, most = before.total()
		longest = math.Max(longest, float64(most))
	}
	return sum, longest
}

// foundNothing lists the kinds of operations that read or delete keys, but never found a key. Each
// kind has its number of operations.
func foundNothing(m *measure.Totals) (list []string) {
	var done [kv.NumKinds]uint64
	for _, c := range m.Cells {
		done[c.Kind] += count(c.Response)
	}
	for kind, missed := range m.Missed {
		if missed > 0 && missed == done[kind] {
			list = append(list, fmt.Sprintf("%d %v", missed, kv.Kind(kind)))
		}
	}
	return list
}
